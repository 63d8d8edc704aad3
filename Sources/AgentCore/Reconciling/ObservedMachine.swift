import KernelModel
import NetworkTypes
import RoamwardCore

/// What was last seen of the machine and its network, and what is known of the network since before that. Pure: no clock.
struct ObservedMachine {
  var observation: Observation?
  private(set) var at = Moment(nanoseconds: 0)
  /// The network as the host's own sources see it; the observation's snapshot has what probes found as well.
  private(set) var hostSnapshot = NetworkSnapshot()
  /// The network that it is on, with all that was learnt about it.
  private(set) var network = NetworkIdentity.none
  private var path = PathIdentity(NetworkSnapshot())
  /// The other VPNs of this machine.
  private(set) var others = OtherVPNs()
  /// Routes of the network that would lead past our tunnels; `nil`: not looked for since the last look.
  var claims: [RouteClaim]?
  /// What the tunnels have still to be told.
  var pathNews = PathNews()
  private var gatewayInquiry = GatewayInquiry()
  private var firstEventAt: Moment?
  /// Since when the network has been as it is; `nil`: since before the agent looked.
  private(set) var changedAt: Moment?

  var snapshot: NetworkSnapshot { observation?.snapshot ?? NetworkSnapshot() }

  var state: ObservedState? { observation?.state }

  /// The first event of several marks the time of the change.
  mutating func eventCame(at now: Moment) { firstEventAt = now }

  /// What differs from the look before.
  struct News {
    var isSnapshot = false
    var isNetwork = false
    var isDescription = false
    var paths: Set<IPAddress.Family> = []
  }

  /// Takes in a look. `complete` adds to the host's snapshot what probes have found.
  mutating func take(_ new: Observation, ownLinks: Set<String>, at now: Moment, complete: (NetworkSnapshot) -> NetworkSnapshot) -> News {
    let before = observation?.snapshot
    hostSnapshot = new.snapshot
    var new = new
    new.snapshot = complete(hostSnapshot)
    observation = new
    others = OtherVPNs(in: new.state.kernel, ownLinks: ownLinks)
    claims = nil
    at = now
    return new.snapshot == before ? News() : noteChange(from: before ?? NetworkSnapshot(), to: new.snapshot)
  }

  /// Takes in a look at the resolver alone.
  mutating func take(_ new: ResolverObservation) {
    observation?.state.resolvConf = new.file
    observation?.state.resolver = new.resolver
  }

  /// What the network is known to be, with what probes have found.
  mutating func complete(_ snapshot: NetworkSnapshot) { observation?.snapshot = snapshot }

  /// A gateway whose hardware address a rule needs and the kernel does not have, with the link that it is on.
  mutating func nextInquiry(needed: Set<FactKind>) -> (IPAddress, LinkFacts)? { gatewayInquiry.next(on: snapshot, needed: needed, at: at) }

  private mutating func noteChange(from old: NetworkSnapshot, to new: NetworkSnapshot) -> News {
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

/// What the tunnels have still to be told about the network below.
struct PathNews {
  private(set) var event: TunnelMachine.Event?
  /// The families whose path has changed since they were told.
  private var paths: Set<IPAddress.Family> = []

  mutating func pathChanged(_ families: Set<IPAddress.Family>, hasNetwork: Bool) {
    paths.formUnion(families)
    event = hasNetwork ? .underlayChanged : .underlayLost
  }

  mutating func slept() { event = event ?? .slept }

  mutating func take() -> (event: TunnelMachine.Event, paths: Set<IPAddress.Family>)? {
    defer { self = PathNews() }
    return event.map { ($0, paths) }
  }
}
