internal import Glibc
package import KernelModel
internal import LinuxIO
internal import NetworkTypes
import RoamwardCore
package import SystemdIO
internal import Wire
internal import WireGuardControl

/// WireGuard links by our own engine, for kernels without WireGuard.
///
/// Each link has its process, which has no privileges and outlives the agent. The process lives exactly as long as the link and its socket:
/// it ends when either is removed, so a new agent can end it by the link's name. If it dies, the link is removed with it, and the agent
/// sees that. Only a change of port or mark needs the agent that started it. In a container whose process 1 does not reap orphans, its
/// entry in the process table may stay; run such a container with an init.
package final class UserspaceWireGuard {
  private let loop: EventLoop
  private let program: String
  private let socketDirectory: String
  private var starts: [String: EngineStart] = [:]
  private var stops: [String: EngineStop] = [:]
  /// Engines that this agent has started, by link. An older one of the same link that has not quite ended is not included.
  private var running: [String: Running] = [:]
  /// Connections on which states have been read, by link: an engine wakes up once for a request on one of them, and thrice for a new one.
  private var reads: [String: FileDescriptor] = [:]
  /// Until when engines that have not answered are not asked for their states, by link: each question takes a second, which is all others'.
  private var hung: [String: Moment] = [:]
  private static let pauseOfHung = Duration.seconds(5)
  /// A process that waits for the next link.
  private var standby: StandbyProcess?
  /// Whether a waiting process ended by itself: the program does not work here, so no other one is started.
  private var hasStandbyFailed = false
  private var hasWarmedUp = false
  /// Sources that wait for the end of our processes, to reap them.
  private var endings: [Int32: EventSource] = [:]

  /// The agent's side of an engine: it provides sockets.
  private struct Running {
    let interface: InterfaceProcess
    /// Whether it has not been configured yet.
    var isNew: Bool
    /// The connection on which the answer to its first configuration will arrive.
    var answer: FileDescriptor?
    var serving: EventSource?
  }

  /// `socketDirectory` is the folder of wg(8); another one is for tests.
  package init(on loop: EventLoop, program: String = InterfaceProcess.path, socketDirectory: String = "/var/run/wireguard") {
    self.loop = loop
    self.program = program
    self.socketDirectory = socketDirectory
  }

  /// The path of a link's engine socket, in the usual folder.
  package static func socketPath(of link: String) -> String { "/var/run/wireguard/\(link).sock" }

  package static var isInstalled: Bool { isOnPath(InterfaceProcess.path) }

  /// Creates the link, down and without a configuration. Calls back, never during this call, once the engine has answered a first request.
  /// After half a minute at most it calls back with an error: then `stop` has to remove any remains of the link. A stop of the same link in
  /// progress is awaited.
  package func start(link: String, then: @escaping (Result<Void, ProviderError>) -> Void) {
    if let stop = stops[link] {
      stop.afterwards.append { [weak self] in self?.start(link: link, then: then) }
      return
    }
    starts[link]?.abandon()
    starts[link] = EngineStart(program, link: link, in: socketDirectory, on: loop) { [weak self] result in
      self?.starts[link] = nil
      if case .success(let interface) = result { self?.serve(interface, link: link, isNew: false) }
      then(result.map { _ in })
    }
  }

  /// Keeps one process ready that waits for a link (`startAtOnce`), or ends it.
  package func keepReady(_ isWanted: Bool) {
    // It ends when its channel is closed. Its source stays, to reap it.
    guard isWanted else { return standby = nil }
    guard standby == nil, !hasStandbyFailed else { return }
    guard let new = try? StandbyProcess(program: program) else { return hasStandbyFailed = true }
    standby = new
    watchEnd(of: new.process)
    warmUp()
  }

  /// Creates what the agent's side of a start uses, and throws it away: the first use of a type takes up to a tenth of a millisecond.
  private func warmUp() {
    if hasWarmedUp { return }
    hasWarmedUp = true
    _ = try? TunnelSockets.make(port: 0, mark: 0)
    let peer = "public_key=" + String(repeating: "1", count: 64) + "\nendpoint=127.0.0.1:1\nallowed_ip=0.0.0.0/0\n"
    _ = try? UAPIReply(Array((peer + "errno=0\n\n").utf8)).state()
  }

  /// The same as `start`, by the waiting process: it answers so soon that the first request may wait for it. Returns false, without
  /// effect, if there is none, or if this is not possible now.
  package func startAtOnce(link: String) -> Bool {
    guard let standby, starts[link] == nil, stops[link] == nil, UAPISocket(link: link, in: socketDirectory) != nil,
      let interface = try? InterfaceProcess(link, by: standby, socketDirectory: socketDirectory)
    else { return false }
    self.standby = nil
    serve(interface, link: link, isNew: true)
    return true
  }

  /// Opens the sockets that the engine of a link asks for once it is configured and up, while it is still starting.
  package func prepareSockets(of link: String, for device: WireGuardDevice) {
    running[link]?.interface.prepareSockets(port: device.listenPort ?? 0, mark: device.firewallMark)
  }

  /// Answers the request for sockets that an engine sends as soon as its link is up, instead of at the next turn of the loop: its first
  /// handshake waits for them. Blocks for a millisecond if it asks for none, and not at all if it has some.
  package func serveSockets(of link: String) {
    guard let interface = running[link]?.interface, !interface.hasSockets else { return }
    var watched = pollfd(fd: interface.socketsDescriptor, events: Int16(POLLIN), revents: 0)
    if poll(&watched, 1, 1) > 0 { _ = interface.serveSockets() }
  }

  private func serve(_ interface: InterfaceProcess, link: String, isNew: Bool) {
    let process = interface.process
    running[link] = Running(
      interface: interface, isNew: isNew,
      serving: try? loop.whenReadable(interface.socketsDescriptor) { [weak self] in
        if !interface.serveSockets(), self?.running[link]?.interface.process == process { self?.running[link]?.serving = nil }
      })
    watchEnd(of: process)
  }

  /// Reaps the process at its end.
  private func watchEnd(of process: Int32) {
    if endings[process] == nil { endings[process] = try? loop.onExit(of: process) { [weak self] _ in self?.ended(process) } }
  }

  private func ended(_ process: Int32) {
    endings[process] = nil
    for (link, engine) in running where engine.interface.process == process { running[link] = nil }
    guard standby?.process == process else { return }
    standby = nil
    hasStandbyFailed = true
  }

  /// Ends the engine, and with it the link, by removing the socket, whether this agent or an earlier one started it. Missing parts count as
  /// removed. Calls back, never during this call, when both are gone; with an error after three seconds at most.
  package func stop(link: String, then: @escaping (Result<Void, ProviderError>) -> Void = { _ in }) {
    (reads[link], hung[link]) = (nil, nil)
    if let abandoned = starts.removeValue(forKey: link) { abandoned.abandon() }
    if let stop = stops[link] { return stop.observers.append(then) }
    // Until its end has been seen, the number is that of no other process.
    let kill = running[link].map(\.interface.process).map { process in
      { [weak self] in if self?.running[link]?.interface.process == process { Privileges.signal(process, SIGKILL) } }
    }
    stops[link] = EngineStop(link: link, UAPISocket(link: link, in: socketDirectory), kill: kill, on: loop) { [weak self] result in
      guard let stop = self?.stops.removeValue(forKey: link) else { return }
      for observer in [then] + stop.observers { observer(result) }
      for next in stop.afterwards { next() }
    }
  }

  /// Whether an engine is being started for this link, and does not answer yet.
  package func isStarting(_ link: String) -> Bool { starts[link] != nil || stops[link] != nil }

  /// Whether the engine of this link has just been started, and has no configuration that would have to be read first.
  package func isNew(_ link: String) -> Bool { running[link]?.isNew ?? false }

  /// Whether this agent has started the engine of the link, and it answers.
  package func serves(_ link: String) -> Bool { running[link] != nil && !isStarting(link) }

  /// Whether an engine listens for this link.
  package func isRunning(_ link: String) -> Bool {
    ((try? UAPISocket(link: link, in: socketDirectory)?.connect()) ?? nil) != nil
  }

  /// The engine's state of its device; `nil` if none runs, or one is only being started. Blocks until the answer, a second at most, as do
  /// the following functions; an engine that has not answered is asked again five seconds later.
  ///
  /// `peers`: of our own engine, these alone, as far as there are such; otherwise all.
  package func read(_ link: String, peers: [WireGuardKey] = []) throws(ProviderError) -> WireGuardState? {
    if starts[link] != nil { return nil }
    let request = peers.isEmpty ? UAPIRequest.get : UAPIRequest.get(peers)
    guard let socket = UAPISocket(link: link, in: socketDirectory), let reply = try ask(request, of: link, socket) else {
      return nil
    }
    do throws(UAPIReply.Failure) {
      return try reply.state()
    } catch {
      throw ProviderError("the engine of \(link): \(error)")
    }
  }

  /// Asks for the state by the connection of the last time, or by a new one where that engine has ended.
  private func ask(_ request: String, of link: String, _ socket: UAPISocket) throws(ProviderError) -> UAPIReply? {
    if let end = hung[link], .now < end { throw ProviderError("the engine at \(socket.path) has not answered") }
    let last = reads.removeValue(forKey: link).flatMap { $0.isReadable ? nil : $0 }
    guard let connection = try socket.send(request, on: last) else { return nil }
    do throws(ProviderError) {
      let reply = try socket.answer(on: connection, serving: interface(of: link))
      (reads[link], hung[link]) = (connection, nil)
      return reply
    } catch {
      // It may have ended just now.
      if last != nil, connection.isReadable { return try socket.ask(request, serving: interface(of: link)) }
      hung[link] = .now + Self.pauseOfHung
      throw error
    }
  }

  /// Configures the device. Sessions of peers that stay as `observed` continue; without `observed`, every session begins again.
  package func configure(
    _ link: String, _ device: WireGuardDevice, observed: WireGuardState?, settingEndpoints: Bool = false
  ) throws(ProviderError) {
    guard let request = UAPIRequest.configure(device, observed: observed, settingEndpoints: settingEndpoints) else { return }
    try set(link, request)
  }

  /// Gives an engine its configuration without waiting until it has taken it: the link is set up meanwhile. `finishConfiguring` waits.
  package func beginConfiguring(_ link: String, _ device: WireGuardDevice, settingEndpoints: Bool = false) throws(ProviderError) {
    running[link]?.isNew = false
    guard let request = UAPIRequest.configure(device, observed: nil, settingEndpoints: settingEndpoints) else { return }
    guard let connection = try UAPISocket(link: link, in: socketDirectory)?.send(request) else { throw noEngine(link) }
    running[link]?.answer = connection
  }

  /// Waits until the engine has taken the configuration.
  package func finishConfiguring(_ link: String) throws(ProviderError) {
    guard let connection = running[link]?.answer else { return }
    running[link]?.answer = nil
    guard let socket = UAPISocket(link: link, in: socketDirectory) else { throw noEngine(link) }
    try check(socket.answer(on: connection, serving: interface(of: link)), of: link)
  }

  /// Sets the keepalive of each of these peers, and its endpoint if one is given.
  package func setEndpointsAndKeepalives(_ link: String, _ peers: [WireGuardPeer]) throws(ProviderError) {
    if !peers.isEmpty { try set(link, UAPIRequest.refresh(peers)) }
  }

  private func interface(of link: String) -> InterfaceProcess? { running[link]?.interface }

  private func set(_ link: String, _ request: String) throws(ProviderError) {
    running[link]?.isNew = false
    guard let reply = try UAPISocket(link: link, in: socketDirectory)?.ask(request, serving: interface(of: link)) else {
      throw noEngine(link)
    }
    try check(reply, of: link)
  }

  private func noEngine(_ link: String) -> ProviderError { ProviderError("no engine runs for \(link)") }

  private func check(_ reply: UAPIReply, of link: String) throws(ProviderError) {
    do throws(UAPIReply.Failure) { try reply.check() } catch { throw ProviderError("the engine of \(link): \(error)") }
  }
}
