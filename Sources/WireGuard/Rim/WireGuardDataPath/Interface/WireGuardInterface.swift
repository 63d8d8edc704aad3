internal import CWireGuardIO
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import WireGuardControl
internal import WireGuardEngine

/// A running WireGuard interface: the engine, its data path and their control, on an event loop of its own.
///
/// All descriptors are opened for it in advance: it needs no privilege.
final class WireGuardInterface {
  private let loop: DescriptorLoop
  private let engine: Engine
  private let replyRoute: ReplyRoute
  private let path: DataPath
  private let sockets: SocketSource
  private let ciphers: CipherSelection
  private var server: UAPIServer?
  private var link: LinkWatch?
  private var sources: [DescriptorLoop.Source] = []
  private var timer: DescriptorLoop.Source?
  private var armed: Moment?
  /// The queue holds one millisecond of a flood of 200,000 messages per second.
  private static let rest = Duration.milliseconds(1)
  private var resting: DescriptorLoop.Source?
  private var port: UInt16 = 0
  private var mark: UInt32 = 0
  private var hasSockets = false
  /// The timer of the next attempt after the sockets could not be opened, and the delay after it.
  private var nextOpening: DescriptorLoop.Source?
  private var openingPause = Duration.milliseconds(100)
  private var isUp = false
  private var isAtWork = false
  /// Whether it has had a configuration. Its first one may come while the link is being set up, and brings the port and the mark of the
  /// sockets: those of before would be opened for nothing.
  private var isConfigured = false
  private static let patience = Duration.milliseconds(5)

  /// Starts at once. `listener` is a listening unix socket. `sockets` is asked when the interface comes up, or when another port or mark is
  /// set. `ready`: threads that wait for its work.
  init(
    _ tun: TunDevice, wanting offloads: Offloads, configuredAt listener: FileDescriptor, sockets: SocketSource, ciphers: CipherSelection,
    on loop: DescriptorLoop, _ ready: ReadyThreads
  ) throws(SystemError) {
    self.loop = loop
    self.sockets = sockets
    self.ciphers = ciphers
    let replyRoute = try ReplyRoute()
    self.replyRoute = replyRoute
    // Control sends too: what was staged.
    engine = Engine(senders: 1 + tun.queues.count, receivers: tun.queues.count) { replyRoute($0) }
    path = try DataPath(engine, tun, wanting: offloads)
    try path.start(on: ready)
    sources = [try loop.whenReadable(path.turns.event) { [weak self] in self?.wake() }]
    link = try LinkWatch(tun, mtu: path.turns.mtu, on: loop) { [weak self] in self?.take($0) }
    server = try UAPIServer(listener, on: loop) { [weak self] in self?.answer($0, $1, by: $2) }
  }

  deinit {
    path.stop()
  }

  // MARK: The engine

  /// A thread of the data path has work for the engine, or the device is deleted.
  private func wake() {
    cwg_event_clear(path.turns.event)
    path.turns.threadRests = false
    if path.isDeviceGone { return loop.stop() }
    path.turns.work()
    if path.turns.takeDeadlineChange() { followEngine() }
    if engine.handshakeLoad(at: .now).isHigh { rest() }
  }

  /// Waits for more messages before the next turn: a wake-up costs more than an answer.
  private func rest() {
    guard let source = try? loop.at(.now + Self.rest, { [weak self] in self?.wake() }) else { return }
    resting = source
    path.turns.threadRests = true
  }

  private func advance() {
    path.turns.take { engine, effects in engine.advance(to: .now, effects: &effects) }
    followEngine()
  }

  /// Takes note of what a turn has changed: ways to peers, and the next deadline.
  private func followEngine() {
    if link?.hearsRoutes == false, replyRoute.takeChoice() { reconsiderWays() }
    guard let deadline = engine.nextDeadline?.moment else {
      timer = nil
      armed = nil
      return
    }
    // A timer that is armed for an earlier moment causes at most one extra wake-up.
    if let armed, armed <= deadline { return }
    armed = deadline
    timer = try? loop.at(deadline) { [weak self] in
      self?.armed = nil
      self?.advance()
    }
  }

  // MARK: The link

  private func take(_ news: LinkWatch.News) {
    switch news {
    case .deleted: loop.stop()
    case .ways: reconsiderWays()
    case .state(let nowUp, let mtu):
      path.turns.mtu = mtu
      guard nowUp != isUp else { return }
      isUp = nowUp
      if isUp, !isConfigured { return openLater(Self.patience) }
      openSockets()
      work()
    }
  }

  /// Brings the engine up when the link is up and sockets exist. Without sockets, the engine would wait for answers to lost messages.
  private func work() {
    let isToWork = isUp && hasSockets
    if isToWork != isAtWork {
      isAtWork = isToWork
      path.turns.take { engine, effects in engine.setUp(isToWork, at: .now, effects: &effects) }
    }
    advance()
  }

  private func reconsiderWays() {
    link?.hearsRoutes = path.turns.alone { $0.reconsiderWays() } > 0
  }

  /// Opens the sockets when the interface is up. Without them it is silent, so it retries at growing intervals, at most ten seconds.
  /// Setting a port returns the reason of the failure.
  private func openSockets() {
    nextOpening = nil
    guard isUp, !hasSockets, (try? open(port: port, mark: mark)) == nil else { return }
    openLater(openingPause)
    openingPause = min(.seconds(10), openingPause * 2)
  }

  private func openLater(_ pause: Duration) {
    nextOpening = try? loop.at(.now + pause) { [weak self] in
      self?.openSockets()
      self?.work()
    }
  }

  private func open(port wanted: UInt16, mark wantedMark: UInt32) throws(SystemError) {
    // The same port with another mark is free only after the old sockets are closed. They stay open until the other end can open new ones.
    if hasSockets, wanted == port {
      _ = try sockets.sockets(port: 0, mark: wantedMark)
      try path.use(TunnelSockets([]))
      hasSockets = false
    }
    let new = try sockets.sockets(port: wanted, mark: wantedMark, pairs: path.pairCount)
    try path.use(new)
    port = new.port
    mark = wantedMark
    replyRoute.use(mark: wantedMark)
    hasSockets = true
    openingPause = .milliseconds(100)
  }

  // MARK: Configuration

  private func answer(_ call: UAPICall, _ bytes: [UInt8], by reply: (consuming UAPIReplyText) -> Void) {
    let change: UAPIDeviceChange
    switch call {
    case .get(let peers):
      let keys = peers.isEmpty ? nil : peers.compactMap { PublicKey(bytes: $0) }
      return reply(UAPIReplyText(path.turns.alone { $0.state(of: keys) }, port: port, mark: mark, cipher: ciphers.current.description))
    case .set(let wanted): change = wanted
    }
    isConfigured = true
    do throws(SystemError) {
      try open(for: change)
    } catch {
      // If the old sockets are already closed, opens equal ones.
      openSockets()
      work()
      return reply(UAPIReplyText(code: error.code))
    }
    // Nothing else can fail. Keys and a first handshake take half a millisecond, in which the other end has its own work.
    reply(UAPIReplyText(code: 0))
    path.turns.take { engine, effects in engine.apply(change.engineChange(bytes), at: .now, effects: &effects) }
    openSockets()
    work()
  }

  /// Opens other sockets if the change gives another port or mark; before there is a link that is up, it only notes them.
  private func open(for change: UAPIDeviceChange) throws(SystemError) {
    let newPort = change.listenPort ?? port
    let newMark = change.firewallMark ?? mark
    guard newPort != port || newMark != mark || change.listenPort == 0 && port != 0 else { return }
    if hasSockets || isUp { return try open(port: newPort, mark: newMark) }
    port = newPort
    mark = newMark
  }
}
