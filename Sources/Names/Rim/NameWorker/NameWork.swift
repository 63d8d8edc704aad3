internal import CTextPages
internal import Glibc
package import LinuxIO
internal import NameProtocol
internal import NameServer
internal import NetworkTypes
internal import ProcessConfinement

/// The work of `roamward-names`: a name server on sockets that the agent passes in, without privileges.
package final class NameWork {
  /// A million domains need 40 MB, and while they grow twice that.
  private static let worker = ConfinedWorker(
    user: "roamward-names", descriptors: 2048, memory: 256 << 20, filter: NameFilter.filter)
  /// Orders come in groups, at most so long ones.
  private static let orderTime = Duration.seconds(1)

  let loop: DescriptorLoop
  let channel: MessageChannel
  var machine: NameServerMachine
  var out = Outbox()
  var listeners: [UInt16: Listener] = [:]
  var upstreams: UpstreamSockets
  var pools: [UInt16: SocketPool] = [:]
  var clients = ClientStreams()
  var servers = ServerStreams()
  var draft: Draft?
  /// Withheld answers that were not reported yet.
  private var withheld: (count: Int, name: String, address: IPAddress)?
  private var batch = DatagramBatch()
  private var sender = DatagramSender()
  private var order = SocketOrder()
  /// Reports that the agent has not taken yet.
  private var reports: [[UInt8]] = []
  private var timers = Timers()
  private var warmUp = WarmUp()
  private var paused: Set<UInt32> = []
  private var reading: DescriptorLoop.Source?
  private var answering: DescriptorLoop.Source?

  private struct Timers {
    /// For the machine's next deadline.
    var alarm: (at: Moment, source: DescriptorLoop.Source)?
    /// For connections without progress.
    var sweep: DescriptorLoop.Source?
    /// For reports that the channel had no room for.
    var resend: DescriptorLoop.Source?
    /// For withheld answers, once the last report of them is old enough.
    var withheld: DescriptorLoop.Source?
    /// For pages of code that orders have run.
    var codeRelease: DescriptorLoop.Source?
    /// For questions on connections that waited for answers to others.
    var resume: DescriptorLoop.Source?
  }

  /// A configuration of which parts are still to come.
  struct Draft {
    let rules: NameRules
    var domains: DomainMap
    var rebindAllowed = DomainMap()
    var routed = DomainMap()
  }

  struct Listener {
    let file: FileDescriptor
    let address: IPAddress
    let isStream: Bool
    let askers: NameAskers
    let source: DescriptorLoop.Source
  }

  private init(_ channel: MessageChannel) throws(SystemError) {
    self.channel = channel
    loop = try DescriptorLoop()
    upstreams = try UpstreamSockets()
    let random = RandomSource()
    machine = NameServerMachine { random.next() }
    // jansson reads a seed from a file with the first object.
    _ = try? NameOrder(NameOrder.apply.bytes)
  }

  /// Takes the agent's channel, confines itself, and works until the channel closes. Errors are reported to the agent too.
  package static func run() throws(SystemError) {
    try ConfinedWorker.onChannel(hello: { NameReport.hello(trouble: $0).bytes }) { channel throws(SystemError) in
      let work = try NameWork(channel)
      try worker.confine(withParent: true)
      try work.serve()
    }
  }

  /// Confines itself as for the agent, and ends: tests whether that is possible here.
  package static func check() throws(SystemError) { try worker.confine(withParent: false) }

  private func serve() throws(SystemError) {
    reading = try loop.whenReadable(channel.descriptor.number) { [weak self] in self?.receiveOrders() }
    answering = try loop.whenReadable(upstreams.poller.number) { [weak self] in self?.receiveAnswers() }
    try channel.send(NameReport.hello(trouble: nil).bytes)
    warmUp.run()
    releaseCodeLater()
    _ = try loop.run()
  }

  /// At most so many at once: clients wait meanwhile.
  private func receiveOrders() {
    for _ in 0..<64 {
      do {
        switch try channel.receive(takesDescriptors: true) {
        case .nothing: return
        case .ended: return loop.stop()
        case .message(let bytes, let passed): take(try NameOrder(bytes), passed)
        }
      } catch {
        // An agent of another version: the hello has reported it.
        return loop.stop()
      }
    }
  }

  func report(_ report: NameReport) {
    guard reports.count < 1024 else { return }
    let bytes = report.bytes
    // The channel takes no longer one; an answer that waits for it fails in time.
    guard bytes.count <= MessageChannel.limit else { return }
    reports.append(bytes)
    sendReports()
  }

  /// Code that only the start and orders run does not stay in memory. What a look-up runs is mapped again at once.
  func releaseCodeLater() {
    guard timers.codeRelease == nil else { return }
    timers.codeRelease = try? loop.at(.now + Self.orderTime) { [weak self] in
      self?.timers.codeRelease = nil
      ctextpages_release()
      self?.warmUp.run()
    }
  }

  private func sendReports() {
    timers.resend = nil
    while let first = reports.first {
      do throws(SystemError) { try channel.send(first) } catch {
        guard error.code == EAGAIN else { return loop.stop() }
        timers.resend = try? loop.at(.now + .milliseconds(20)) { [weak self] in self?.sendReports() }
        return
      }
      reports.removeFirst()
    }
  }
}

// Datagrams.
extension NameWork {
  func receiveQuestions(at number: UInt16) {
    guard let listener = listeners[number] else { return }
    batch.receive(from: listener.file.number)
    let now = Moment.now
    Self.take(batch, at: number, listener, at: now, &machine, &out)
    flush(at: now)
  }

  /// Takes answers of all sockets that have some, so that the replies to clients go together.
  func receiveAnswers() {
    let now = Moment.now
    upstreams.findReady()
    for i in 0..<upstreams.readyCount {
      let (number, descriptor) = upstreams.ready(i)
      batch.receive(from: descriptor, atMost: 8)
      Self.take(batch, at: number, at: now, &machine, &out)
    }
    flush(at: now)
  }

  // Apart, so that the machine is accessed once for a batch.

  private static func take(
    _ questions: borrowing DatagramBatch, at number: UInt16, _ listener: Listener, at now: Moment, _ machine: inout NameServerMachine,
    _ out: inout Outbox
  ) {
    questions.forEach { message, address, port in
      machine.receive(message, from: client(address, port, at: number, listener, .datagram), at: now, &out)
    }
  }

  private static func take(
    _ answers: borrowing DatagramBatch, at number: UInt16, at now: Moment, _ machine: inout NameServerMachine, _ out: inout Outbox
  ) {
    answers.forEach { message, address, port in machine.receive(message, at: number, from: address, port: port, at: now, &out) }
  }

  static func client(_ address: IPAddress, _ port: UInt16, at number: UInt16, _ listener: Listener, _ transport: Client.Transport) -> Client
  {
    // The kernel takes a packet from one of its own addresses only from this host.
    Client(
      listener: number, address: address, port: port, transport: transport,
      isLocal: address.isLoopback || listener.address.isLoopback || address == listener.address,
      asked: Client.Asked(listener.askers))
  }

  /// Carries out the effects of an input, and sets the alarm.
  func flush(at now: Moment) {
    for _ in 0..<8 {
      guard !out.isEmpty else { break }
      sendReplies()
      let isComplete = sendQuestions(at: now)
      let requests = out.requests
      out.removeAll()
      for request in requests { carryOut(request, at: now) }
      if !isComplete { machine.expire(at: now, &out) }
    }
    setAlarm()
  }

  private func sendReplies() {
    var listener: UInt16?
    for reply in out.replies {
      if case .stream(let number) = reply.client.transport {
        if clients.send(out.bytes[reply.range], on: number) { paused.insert(number) }
        continue
      }
      if listener != reply.client.listener || sender.isFull {
        if let listener, let file = listeners[listener]?.file { sender.send(out.bytes, by: file) }
        listener = reply.client.listener
      }
      sender.add(reply.range, to: reply.client.address, reply.client.port)
    }
    if let listener, let file = listeners[listener]?.file { sender.send(out.bytes, by: file) }
    sender.forget()
    guard !paused.isEmpty, timers.resume == nil else { return }
    timers.resume = try? loop.at(.now) { [weak self] in self?.goOn() }
  }

  /// Takes questions that waited for answers to others on their connections.
  private func goOn() {
    timers.resume = nil
    let numbers = paused
    paused = []
    for number in numbers { exchange(withClient: number) }
  }

  /// Returns whether the kernel took all.
  private func sendQuestions(at now: Moment) -> Bool {
    var isComplete = true
    order.sort(out.datagrams)
    var start = 0
    while start < order.count {
      let socket = order.socket(start)
      var end = start
      while end < order.count, order.socket(end) == socket, !sender.isFull {
        let datagram = out.datagrams[order.index(end)]
        sender.add(datagram.range, to: datagram.address, datagram.port)
        end += 1
      }
      if let file = upstreams[socket] {
        sender.send(out.bytes, by: file) { failed in
          machine.undelivered(out.datagrams[order.index(start + failed)], at: now)
          isComplete = false
        }
      }
      sender.forget()
      start = end
    }
    return isComplete
  }

  private func carryOut(_ request: Outbox.Request, at now: Moment) {
    switch request {
    case .start(let trigger, let name, let type, let client):
      report(
        .start(
          trigger: trigger, name: name, type: type, listener: client.listener, address: AddressText(client.address), port: client.port,
          isStream: client.transport != .datagram))
    case .openStream(let number, let pool, let address, let port, let message):
      servers.expect(number, message)
      report(.stream(number: number, pool: pool, address: AddressText(address), port: port))
    case .closeStream(let number): servers.close(number)
    case .withheld(let name, let address):
      withheld = ((withheld?.count ?? 0) + 1, name, address)
      if timers.withheld == nil { reportWithheld() }
    case .route(let number, let name, let addresses, let ttl):
      report(.answered(number: number, name: name, addresses: addresses.map { AddressText($0) }, ttl: ttl))
    case .shared(let address, let name, let other): report(.shared(address: AddressText(address), name: name, other: other))
    case .origin(let number, let client):
      report(
        .origin(
          number: number, listener: client.listener, address: AddressText(client.address), port: client.port,
          isStream: client.transport != .datagram))
    }
  }

  private func reportWithheld() {
    timers.withheld = nil
    guard let (count, name, address) = withheld else { return }
    withheld = nil
    report(.withheld(count: count, name: name, address: AddressText(address)))
    timers.withheld = try? loop.at(.now + NameLimits.withheldInterval) { [weak self] in self?.reportWithheld() }
  }

  func setAlarm() {
    guard let next = machine.nextDeadline, timers.alarm.map({ next < $0.at }) ?? true else { return }
    timers.alarm = (try? loop.at(next) { [weak self] in self?.ring() }).map { (next, $0) }
  }

  private func ring() {
    timers.alarm = nil
    let now = Moment.now
    machine.expire(at: now, &out)
    flush(at: now)
    setAlarm()
  }
}

// Connections.
extension NameWork {
  func acceptClients(at number: UInt16) {
    guard let listener = listeners[number] else { return }
    for _ in 0..<16 {
      guard let file = try? listener.file.accept() else { return }
      guard let (address, port) = remoteAddress(of: file) else { continue }
      let client = Self.client(address, port, at: number, listener, .datagram)
      clients.add(file, client, on: loop) { [weak self] in self?.exchange(withClient: $0) }
      setSweep()
    }
  }

  func exchange(withClient number: UInt32) {
    let now = Moment.now
    var messages: [[UInt8]] = []
    let client = clients.exchange(number) { messages.append($0) }
    if let client { for message in messages { machine.receive(message.span, from: client, at: now, &out) } }
    flush(at: now)
  }

  func exchange(withServer number: UInt32) {
    let now = Moment.now
    switch servers.exchange(number) {
    case .nothing: return
    case .message(let message): machine.receive(message.span, onStream: number, at: now, &out)
    case .failed: machine.streamFailed(number, at: now, &out)
    }
    flush(at: now)
  }

  /// Looks for connections without progress once a second, while there is any.
  func setSweep() {
    guard timers.sweep == nil, !clients.isEmpty else { return }
    timers.sweep = try? loop.at(.now + .seconds(1)) { [weak self] in
      self?.timers.sweep = nil
      self?.clients.removeStuck(at: .now)
      self?.setSweep()
    }
  }
}
