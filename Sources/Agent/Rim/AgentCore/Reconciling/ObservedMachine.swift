import KernelModel
import NetworkTypes
import RoamwardCore

/// The last observation of the machine and its network, and facts of the network from before. Pure: no clock.
struct ObservedMachine {
  var observation: Observation?
  /// Whether a device has been read since the last observation.
  private(set) var hasNewerDevice = false
  private(set) var at = Moment(nanoseconds: 0)
  /// The network from the host's own sources; the observation's snapshot also has the results of probes.
  private(set) var hostSnapshot = NetworkSnapshot()
  /// The identity of the present network, with all facts learnt about it.
  private(set) var network = NetworkIdentity.none
  private var path = PathIdentity(NetworkSnapshot())
  /// The other VPNs of this machine.
  private(set) var others = OtherVPNs()
  /// The consequences of it.
  var derived = DerivedState()
  /// Path changes that the tunnels have not received yet.
  var pathNews = PathNews()
  private var gatewayInquiry = GatewayInquiry()
  private var firstEventAt: Moment?
  /// The time of the last network change; `nil`: before the agent's first observation.
  private(set) var changedAt: Moment?

  var snapshot: NetworkSnapshot { observation?.snapshot ?? NetworkSnapshot() }

  var state: ObservedState? { observation?.state }

  /// Notes the time of a change: the first of several events counts.
  mutating func eventCame(at now: Moment) { firstEventAt = now }

  /// The differences from the previous observation.
  struct News {
    var isSnapshot = false
    var isNetwork = false
    var isDescription = false
    var paths: Set<IPAddress.Family> = []
  }

  /// Takes in an observation. `complete` adds the results of probes to the host's snapshot.
  mutating func take(_ new: Observation, ownLinks: Set<String>, at now: Moment, complete: (NetworkSnapshot) -> NetworkSnapshot) -> News {
    let before = observation?.snapshot
    hostSnapshot = new.snapshot
    var new = new
    new.snapshot = complete(hostSnapshot)
    observation = new
    hasNewerDevice = false
    others = OtherVPNs(in: new.state.kernel, ownLinks: ownLinks)
    derived.claims = nil
    at = now
    return new.snapshot == before ? News() : recordChange(from: before ?? NetworkSnapshot(), to: new.snapshot)
  }

  /// Takes in an observation of the resolver alone.
  mutating func take(_ new: ResolverObservation) {
    observation?.state.resolvConf = new.file
    observation?.state.resolver = new.resolver
  }

  /// Takes in an observation of a WireGuard device alone. Returns false if the last observation has no such device.
  mutating func take(_ device: WireGuardState, of link: String) -> Bool {
    guard observation?.state.wireGuard[link] != nil else { return false }
    observation?.state.wireGuard[link] = device
    hasNewerDevice = true
    return true
  }

  /// Adds the results of probes to the snapshot.
  mutating func complete(_ snapshot: NetworkSnapshot) { observation?.snapshot = snapshot }

  /// A gateway whose hardware address a rule needs and the kernel does not have, with its link.
  mutating func nextInquiry(needed: Set<FactKind>) -> (IPAddress, LinkFacts)? { gatewayInquiry.next(on: snapshot, needed: needed, at: at) }

  private mutating func recordChange(from old: NetworkSnapshot, to new: NetworkSnapshot) -> News {
    var news = News()
    news.isSnapshot = !new.isSameButForTime(as: old)
    if news.isSnapshot { changedAt = firstEventAt }
    let (before, after) = (network, NetworkIdentity(of: new))
    news.isNetwork = !before.mayBeSame(as: after)
    if news.isNetwork { network = after } else { network.learn(after) }
    news.isDescription = news.isNetwork || before.type != network.type
    let path = PathIdentity(new, after: self.path)
    news.paths = path.families(differingFrom: self.path)
    self.path = path
    return news
  }
}

/// Changes of the underlay that the tunnels have not received yet.
struct PathNews {
  private(set) var event: TunnelMachine.Event?
  /// The families whose path has changed since the last report to the tunnels.
  private var paths: Set<IPAddress.Family> = []
  private var postponed: [String: TunnelMachine.Event] = [:]

  mutating func pathChanged(_ families: Set<IPAddress.Family>, hasNetwork: Bool) {
    paths.formUnion(families)
    event = hasNetwork ? .underlayChanged : .underlayLost
  }

  /// Keeps a change for a tunnel whose rules may want it down once the network has settled: it need not be verified before.
  mutating func postpone(_ event: TunnelMachine.Event, of tunnel: String) { postponed[tunnel] = event }

  /// Takes the changes that were kept for these tunnels.
  mutating func takePostponed(_ isDue: (String) -> Bool) -> [String: TunnelMachine.Event] {
    let due = postponed.filter { isDue($0.key) }
    for tunnel in due.keys { postponed[tunnel] = nil }
    return due
  }

  mutating func slept() { event = event ?? .slept }

  mutating func take() -> (event: TunnelMachine.Event, paths: Set<IPAddress.Family>)? {
    defer { (event, paths) = (nil, []) }
    return event.map { ($0, paths) }
  }
}
