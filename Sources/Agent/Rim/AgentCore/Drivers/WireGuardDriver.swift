internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// Drives a WireGuard tunnel: resolves the peers' endpoints on the underlay, and begins new sessions on another one. It carries out the
/// effects of its life.
final class WireGuardDriver: RoamingDriver, ArmingDriver, SessionDriver, EndpointDriver, PolledDriver, TimedDriver {
  private let listenPort: UInt16?
  private let link: String
  private let platform: Platform
  private let outlets: DriverOutlets
  private var life: WireGuardLife
  private var lookups: [Cancellation] = []

  init(
    _ configuration: WireGuardQuickConfiguration, link: String, isInner: Bool, platform: Platform, outlets: DriverOutlets
  ) {
    listenPort = configuration.listenPort
    self.link = link
    self.platform = platform
    self.outlets = outlets
    life = WireGuardLife(configuration, isInner: isInner)
  }

  var engineName: String { life.device?.engine.rawValue ?? "wireguard" }

  var isTornDown: Bool { true }

  var wantsNewSessions: Bool { life.wantsNewSessions }

  var portHolder: PortHolder? { life.portHolder }

  /// Endpoints of another network are resolved again first.
  var endpoints: [(address: IPAddress, port: UInt16)] { life.endpoints }

  var nextDeadline: Moment? { life.nextDeadline }

  /// Until a peer has answered, keepalives are set, so that it begins a handshake.
  func device(whileAwaiting: Bool) -> DesiredLink.Device? {
    guard var device = life.device else { return nil }
    if whileAwaiting {
      for i in device.peers.indices where device.peers[i].persistentKeepalive == 0 { device.peers[i].persistentKeepalive = 5 }
    }
    return .wireGuard(device)
  }

  func prepare(on underlay: LinkFacts?) {
    let (engine, holder) = lookAround()
    handle(.prepare(engine, holder, on: underlay))
  }

  func arm(on underlay: LinkFacts?) {
    let (engine, holder) = lookAround()
    handle(.arm(engine, holder, on: underlay))
  }

  /// The engine of this machine, and the program that has the port at which the tunnel is to listen.
  private func lookAround() -> (EngineChoice, PortHolder?) {
    let engine = platform.machine.wireGuardEngine()
    guard case .engine = engine else { return (engine, nil) }
    return (engine, listenPort.flatMap { platform.machine.portHolder($0, link) })
  }

  func rearm(on underlay: LinkFacts?) { handle(.rearm(on: underlay)) }

  /// Without an address it begins as any start does: the look-up comes first, and its failure is one of the start.
  func open(on underlay: LinkFacts?) {
    if life.device == nil || life.hasUnknownEndpoint { prepare(on: underlay) } else { handle(.open(on: underlay)) }
  }

  func packetsCame(on underlay: LinkFacts?) { handle(.packetsCame(on: underlay)) }

  func learn(_ underlay: LinkFacts?) { handle(.learn(underlay)) }

  func probePeer(on underlay: LinkFacts?) { handle(.probePeer(on: underlay)) }

  func reassert(on underlay: LinkFacts?) { handle(.reassert(on: underlay)) }

  func renewSessions(on underlay: LinkFacts?) { handle(.renewSessions(on: underlay)) }

  func sessionsBegan() { handle(.sessionsBegan) }

  func recordAnswer(_ isAnswered: Bool) { handle(.recordAnswer(isAnswered)) }

  func advance() { handle(.advance) }

  func tearDown() { handle(.tearDown) }

  func readDevice() -> WireGuardState? { life.device == nil ? nil : platform.machine.readDevice(link) }

  func isAnswered(by state: WireGuardState?) -> Bool { life.isAnswered(by: state) }

  /// Repeats a lost handshake sooner than WireGuard does: on a network that loses packets, a verdict needs several of them. A session that
  /// has just been answered is not discarded.
  func askAgain() {
    guard life.isRepeatDue(at: platform.clock.now()) else { return }
    handle(.askAgain(platform.machine.readDevice(link)))
  }

  /// The kernel's device, or the engine's process, needs no agent.
  func handOver() -> DriverHandOver? { DriverHandOver() }

  func takeOver(_ left: LeftTunnel, on underlay: LinkFacts?) -> Bool {
    guard left.isFitting, let found = left.device, case .engine(found.engine) = platform.machine.wireGuardEngine() else { return false }
    return life.takeOver(found, on: underlay)
  }

  private func handle(_ event: WireGuardLife.Event) {
    for effect in life.handle(event, at: platform.clock.now()) {
      switch effect {
      case .cancelLookups: lookups = []
      case .resolve(let attempt, let peer, let name, let underlay):
        resolve(name, by: outlets.outerWay().lookup(of: name), on: underlay) { .resolved(attempt, peer: peer, $0) }
      case .resolvePrefix(let attempt, let name, let underlay):
        resolve(name, by: .outside, on: underlay) { .prefixResolved(attempt, $0) }
      case .report(let event): outlets.report(event)
      case .changed: outlets.changed()
      }
    }
  }

  private func resolve(
    _ name: DomainName, by scope: LookupScope, on underlay: LinkFacts?, as event: @escaping (Resolution) -> WireGuardLife.Event
  ) {
    let lookup = platform.lookups.resolve(name, by: scope, on: underlay) { [weak self] in self?.handle(event($0)) }
    if let lookup { lookups.append(lookup) }
  }
}
