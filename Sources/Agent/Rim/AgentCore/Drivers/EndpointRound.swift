internal import KernelModel
internal import Lives
internal import NetworkTypes
internal import RoamwardCore

/// One look-up of all endpoints of a tunnel. It ends with the peers as an engine takes them, or with the reason why it cannot.
///
/// A name that does not resolve keeps its last address; without one the round fails. On a network of IPv6 alone, IPv4 endpoints get the
/// addresses by which the network reaches them, if its name servers show how.
struct EndpointRound {
  enum Purpose: Equatable {
    /// The tunnel starts: its device is made by this engine.
    case start(WireGuardEngine)
    /// Sessions are to begin on a device that was made while an address was unknown: it is made again by this engine.
    case open(WireGuardEngine)
    /// The tunnel has come to another network, where every peer gets a new session.
    case roam
    /// New sessions have begun with the known addresses; other addresses begin them again.
    case refresh
    /// The tunnel is armed: other addresses end its sessions.
    case quiet

    /// Whether the device keeps its last addresses if the round fails, which is no failure of the tunnel then.
    var keepsLast: Bool {
      switch self {
      case .refresh, .quiet: true
      case .start, .open, .roam: false
      }
    }

    /// Whether the network counts as it is known at the end of the round.
    var followsNetwork: Bool {
      switch self {
      case .start, .open: true
      case .roam, .refresh, .quiet: false
      }
    }
  }

  /// The state of the round: it waits, or has ended.
  enum Step {
    case waits
    /// The prefix of this network's translation is to be looked up by this name.
    case needsPrefix(DomainName)
    case found([WireGuardPeer])
    case failed(TunnelFailure)
  }

  /// Answers to another round are dropped.
  let attempt = LifeToken()
  let purpose: Purpose
  private(set) var underlay: LinkFacts?
  /// Whether a name has its last address because it did not resolve.
  private(set) var areStale = false
  /// The peers' indices and names that have no address yet.
  private(set) var names: [Int: DomainName] = [:]
  private var peers: [WireGuardPeer]
  private let isInner: Bool

  /// `isInner`: the tunnel's own packets go through another tunnel, which no network translates.
  init(_ purpose: Purpose, of peers: [WireGuardPeer], on underlay: LinkFacts?, isInner: Bool) {
    self.purpose = purpose
    self.peers = peers
    self.underlay = underlay
    self.isInner = isInner
    for (i, peer) in peers.enumerated() { if case .name(let name)? = peer.endpoint?.host { names[i] = name } }
  }

  var step: Step {
    guard names.isEmpty else { return .waits }
    guard let name = TranslationPrefix.wellKnownName, underlay?.hasIPv6Alone == true, !isInner, peers.contains(where: \.isToTranslate)
    else { return .found(peers) }
    return .needsPrefix(name)
  }

  /// Takes in new facts of the same network.
  mutating func learn(_ underlay: LinkFacts?) { self.underlay = underlay ?? self.underlay }

  /// Takes the answer for a peer's name.
  mutating func take(_ resolution: Resolution, for peer: Int, _ choice: inout EndpointChoice) -> Step {
    guard let name = names[peer], let endpoint = peers[peer].endpoint else { return .waits }
    if !resolution.isFound { areStale = true }
    switch choice.address(in: resolution, of: name, on: underlay) {
    case .found(let address):
      names[peer] = nil
      peers[peer].endpoint = Endpoint(host: .address(address), port: endpoint.port)
      return step
    case .missing(let code, let reason):
      return .failed(TunnelFailure(code, "the endpoint \(name) cannot be resolved: \(reason)"))
    }
  }

  /// Takes the answer for the prefix.
  func take(prefix resolution: Resolution) -> Step {
    guard case .addresses(let found) = resolution, let prefix = TranslationPrefix(in: found) else { return .found(peers) }
    return .found(
      peers.map { peer in
        guard peer.isToTranslate, let endpoint = peer.endpoint, let address = endpoint.address else { return peer }
        var peer = peer
        peer.endpoint = Endpoint(host: .address(prefix.address(of: address)), port: endpoint.port)
        return peer
      })
  }
}

extension WireGuardQuickConfiguration {
  /// Whether names have to be resolved on this network, or IPv4 addresses to be translated.
  func needsLookup(on underlay: LinkFacts?) -> Bool {
    needsLookup || underlay?.hasIPv6Alone == true && peers.contains(where: \.isToTranslate)
  }
}

extension WireGuardPeer {
  /// Whether its endpoint is an IPv4 address elsewhere.
  fileprivate var isToTranslate: Bool { endpoint?.address.map { $0.family == .v4 && !$0.isLoopback } ?? false }
}

extension EndpointChoice {
  fileprivate enum Answer {
    case found(IPAddress)
    case missing(ReasonCode, reason: String)
  }

  /// The address to use, of those that the name has; else its last one.
  fileprivate mutating func address(in resolution: Resolution, of name: DomainName, on underlay: LinkFacts?) -> Answer {
    switch resolution {
    case .addresses(let addresses):
      if let address = choose(among: addresses, of: name, families: Set(underlay?.gateways.map(\.family) ?? [])) {
        return .found(address)
      }
      return last(of: name).map { .found($0) } ?? .missing(.nameUnknown, reason: "it has no address")
    case .missing(let reason): return last(of: name).map { .found($0) } ?? .missing(.nameUnknown, reason: reason)
    case .failed(let reason): return last(of: name).map { .found($0) } ?? .missing(.endpointUnresolved, reason: reason)
    }
  }
}

/// The times at which to resolve names again: after one second, two, four … a minute, eight times in all.
struct StaleNames: Equatable {
  /// `nil`: a look-up is under way, or there is none to come.
  var due: Moment?
  private var count = 0

  init() {}

  /// The first time is now.
  init(at now: Moment) { due = now }

  func next(at now: Moment) -> StaleNames {
    var next = self
    next.due = count < 8 ? now + min(.seconds(1 << count), .seconds(60)) : nil
    next.count += 1
    return next
  }
}
