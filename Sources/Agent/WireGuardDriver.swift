internal import NetworkTypes
internal import RoamwardCore

/// A WireGuard tunnel: resolves the peers' endpoints on the underlay, and has them begin anew on another one.
final class WireGuardDriver: TunnelDriver {
  private let configuration: WireGuardQuickConfiguration
  private let link: String
  private let world: World
  private let report: (TunnelMachine.Event) -> Void
  private let changed: () -> Void
  /// With its endpoints resolved.
  private var device: WireGuardDevice?
  private var preparedOn: LinkFacts?
  private var lookups: [AnyObject] = []
  private var lastAddresses: [DomainName: IPAddress] = [:]
  /// Peers are being given new sessions: until then a handshake is the last network's.
  private var isRenewing = false
  /// Answers of an older life are dropped.
  private var life = 0

  init(
    _ configuration: WireGuardQuickConfiguration, link: String, world: World, report: @escaping (TunnelMachine.Event) -> Void,
    changed: @escaping () -> Void
  ) {
    self.configuration = configuration
    self.link = link
    self.world = world
    self.report = report
    self.changed = changed
  }

  var engineName: String { device?.engine.rawValue ?? "wireguard" }

  let isReleased = true

  /// While the other side has not answered, peers are asked to keep talking, so that they begin.
  func device(whileAwaiting: Bool) -> DesiredLink.Device? {
    guard var device else { return nil }
    if whileAwaiting {
      for i in device.peers.indices where device.peers[i].persistentKeepalive == 0 { device.peers[i].persistentKeepalive = 5 }
    }
    return .wireGuard(device)
  }

  func prepare(on underlay: LinkFacts?) {
    life += 1
    lookups = []
    switch world.wireGuardEngine() {
    case .none(let reason): report(.failed(because: reason))
    case .engine(let engine):
      resolveEndpoints(on: underlay) { [weak self] peers in
        guard let self else { return }
        preparedOn = underlay
        device = WireGuardDevice(
          engine: engine, privateKey: configuration.privateKey, publicKey: configuration.publicKey, listenPort: configuration.listenPort,
          peers: peers)
        report(.prepared)
        changed()
      }
    }
  }

  /// On another network than it was prepared for: resolves again, and gives every peer a new session there. The kernel's state tells the rest.
  func probePeer(on underlay: LinkFacts?) {
    // Back before another network's look-up was through: its answer may never come, and would be of the wrong place.
    guard let underlay, underlay != preparedOn || isRenewing else { return }
    life += 1
    lookups = []
    isRenewing = true
    resolveEndpoints(on: underlay) { [weak self] peers in
      guard let self, device != nil else { return }
      device?.peers = peers
      preparedOn = underlay
      isRenewing = false
      if case .wireGuard(let asked)? = device(whileAwaiting: true), let failure = world.renewSessions(link, asked) {
        report(.failed(because: failure))
      }
      changed()
    }
  }

  func doubtSessions() { preparedOn = nil }

  func askAgain() {}

  func isAnswered(by state: WireGuardState?) -> Bool { !isRenewing && state?.lastHandshake != nil }

  func release() {
    life += 1
    lookups = []
    isRenewing = false
    device = nil
  }

  /// Turns names into addresses, all of them before it goes on. A name that does not resolve keeps the address that it last had; without
  /// one it fails the attempt with its reason.
  private func resolveEndpoints(on underlay: LinkFacts?, then done: @escaping ([WireGuardPeer]) -> Void) {
    let asked = life
    var peers = configuration.peers
    var open = peers.count { $0.endpoint?.address == nil && $0.endpoint != nil }
    guard open > 0 else { return done(peers) }
    for i in peers.indices {
      guard let endpoint = peers[i].endpoint, case .name(let name) = endpoint.host else { continue }
      let lookup = world.resolve(name, underlay?.dnsServers.value ?? [], underlay?.name) { [weak self] resolution in
        guard let self, life == asked else { return }
        switch address(in: resolution, of: name, on: underlay) {
        case .found(let address):
          peers[i].endpoint = Endpoint(host: .address(address), port: endpoint.port)
          open -= 1
          if open == 0 { done(peers) }
        case .missing(let reason):
          life += 1
          report(.failed(because: "the endpoint \(name) cannot be resolved: \(reason)"))
          changed()
        }
      }
      if let lookup { lookups.append(lookup) }
    }
  }

  private enum Answer {
    case found(IPAddress)
    case missing(because: String)
  }

  /// The first address of a family that the underlay has a gateway for, else the first; else the last that the name had.
  private func address(in resolution: Resolution, of name: DomainName, on underlay: LinkFacts?) -> Answer {
    var reason = "it has no address"
    switch resolution {
    case .addresses(let addresses):
      let families = Set(underlay?.gateways.map(\.family) ?? [])
      if let address = addresses.first(where: { families.contains($0.family) }) ?? addresses.first {
        lastAddresses[name] = address
        return .found(address)
      }
    case .failed(let because): reason = because
    }
    return lastAddresses[name].map { .found($0) } ?? .missing(because: reason)
  }
}
