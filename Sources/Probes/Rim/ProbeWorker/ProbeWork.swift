internal import ClientLibraries
internal import Glibc
package import LinuxIO
internal import NetworkTypes
internal import ProbeProtocol
internal import ProcessConfinement

/// The work of `roamward-probe`: resolves names by c-ares and sends requests by libcurl, for the agent, without privileges.
package final class ProbeWork {
  /// Eight transfers and eight look-ups need a tenth of these descriptors.
  private static let worker = ConfinedWorker(
    user: "roamward-probe", descriptors: 256, memory: 256 << 20, filter: ProbeFilter.filter)

  private let channel: MessageChannel
  private let loop: DescriptorLoop
  private let broker: SocketBroker
  private let authorities: Authorities
  /// Free channels, by the number of servers that they query.
  private var free: [Int: [LookUpChannel]] = [:]
  private var jobs: [UInt32: Job] = [:]
  private var reading: DescriptorLoop.Source?
  private var later: DescriptorLoop.Source?

  private enum Job {
    case lookUp(LookUpChannel, servers: Int)
    case transfer(CurlTransfer)
  }

  /// Reads every file that will be needed.
  private init(_ channel: MessageChannel) throws(SystemError) {
    self.channel = channel
    loop = try DescriptorLoop()
    broker = SocketBroker(channel)
    authorities = try Authorities.ofSystem()
    for servers in 1...ProbeLimits.servers {
      var channels: [LookUpChannel] = []
      for _ in 0..<ProbeLimits.lookUps { channels.append(try LookUpChannel(servers: servers, broker, on: loop)) }
      free[servers] = channels
    }
    // jansson reads a seed from a file with the first object.
    _ = HelperMessage.hello(trouble: nil).bytes
  }

  /// Takes the agent's channel, confines itself, and works until the channel closes. Errors are reported to the agent too.
  package static func run() throws(SystemError) {
    try ConfinedWorker.onChannel(hello: { HelperMessage.hello(trouble: $0).bytes }) { channel throws(SystemError) in
      let work = try ProbeWork(channel)
      try worker.confine(withParent: true)
      try work.serve()
    }
  }

  /// Confines itself as for the agent, and ends: tests whether that is possible here.
  package static func check() throws(SystemError) {
    _ = try Authorities.ofSystem()
    try worker.confine(withParent: false)
  }

  private func serve() throws(SystemError) {
    broker.onKept = { [weak self] in self?.receiveSoon() }
    reading = try loop.whenReadable(channel.descriptor.number) { [weak self] in self?.receive() }
    try channel.send(HelperMessage.hello(trouble: nil).bytes)
    _ = try loop.run()
    jobs = [:]
  }

  private func receive() {
    do throws(SocketBroker.Trouble) {
      while let message = try broker.next() { take(message) }
    } catch {
      loop.stop()
    }
  }

  private func take(_ message: AgentMessage) {
    switch message {
    case .errand(let id, .lookUp(let order)): lookUp(order, id)
    case .errand(let id, .transfer(let order)): transfer(order, id)
    case .cancel(let id): if end(id) { send(.cancelled, of: id) }
    // The answer to an abandoned request: the socket closes.
    case .socket: break
    }
  }

  /// Handles messages that arrived during the wait for a socket, once libcurl and c-ares have returned.
  private func receiveSoon() {
    guard later == nil else { return }
    later = try? loop.at(.now) { [weak self] in
      self?.later = nil
      self?.receive()
    }
  }

  private func lookUp(_ order: LookUp, _ id: UInt32) {
    guard jobs[id] == nil, let channel = free[order.servers.count]?.popLast() else {
      return send(.failed(reason: "too many look-ups are under way"), of: id)
    }
    jobs[id] = .lookUp(channel, servers: order.servers.count)
    channel.ask(order, for: id) { [weak self] answer in self?.finish(id, answer) }
  }

  private func transfer(_ order: Transfer, _ id: UInt32) {
    guard jobs[id] == nil,
      let transfer = CurlTransfer(
        order, trusting: authorities, for: id, broker, on: loop, then: { [weak self] answer in self?.finish(id, answer) })
    else { return send(.unsent(reason: "libcurl takes no request"), of: id) }
    jobs[id] = .transfer(transfer)
  }

  private func finish(_ id: UInt32, _ answer: ErrandAnswer) {
    if end(id) { send(answer, of: id) }
  }

  /// Returns whether there was such a task.
  private func end(_ id: UInt32) -> Bool {
    guard let job = jobs.removeValue(forKey: id) else { return false }
    if case .lookUp(let channel, let servers) = job {
      channel.cancel()
      free[servers]?.append(channel)
    }
    return true
  }

  private func send(_ answer: ErrandAnswer, of id: UInt32) {
    do throws(SystemError) { try channel.send(HelperMessage.answer(id, answer).bytes) } catch { loop.stop() }
  }
}
