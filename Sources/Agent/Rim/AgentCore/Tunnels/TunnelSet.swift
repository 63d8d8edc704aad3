import KernelModel
import NetworkTypes
import RoamwardCore

/// The agent's tunnels: one for each policy, and those whose policy was removed until they are down.
final class TunnelSet {
  private let platform: Platform
  private var byName: [String: TunnelSupervisor] = [:] { didSet { (roster, active) = (nil, nil) } }
  /// From its first use until a tunnel comes, goes, or gets another slot or policy.
  private var roster: TunnelRoster?
  /// `engaged`, from its first use until a tunnel comes, goes, moves, or gets another slot or policy.
  private var active: [TunnelSupervisor]?
  /// The policies that the tunnels follow.
  private var followed: PolicySet? { didSet { (roster, active) = (nil, nil) } }
  /// The last device of each tunnel.
  private var devices: [String: DeviceIdentity] = [:]
  var surroundings = TunnelSurroundings() {
    didSet {
      surroundings.reordered = { [weak self] in self?.roster = nil }
      surroundings.moved = { [weak self] in self?.active = nil }
    }
  }

  init(_ platform: Platform) { self.platform = platform }

  subscript(name: String) -> TunnelSupervisor? { byName[name] }

  /// The tunnels by their place and their policies.
  private var known: TunnelRoster {
    if let roster { return roster }
    let made = TunnelRoster(byName, policies: followed)
    (roster, active) = (made, nil)
    return made
  }

  /// The tunnels, ordered by slot and name.
  var ordered: [TunnelSupervisor] { known.all }

  /// The tunnels that may move without another decision, in the same order. Most of many tunnels are down, and have no part in plans and
  /// their results.
  var engaged: [TunnelSupervisor] {
    let all = ordered
    if let active { return active }
    let made = all.filter(\.isEngaged)
    active = made
    return made
  }

  /// The tunnels that have something to do at some moment.
  var timed: [TunnelSupervisor] {
    let others = known.timed.filter { !$0.isEngaged && $0.driverDeadline != nil }
    return others.isEmpty ? engaged : engaged + others
  }

  /// The tunnels that have a part in the desired state: of those that are down only such that concern something then. `hasGuards`: programs
  /// are guarded, by a firewall that concerns every tunnel.
  func currentTunnels(hasGuards: Bool) -> [DesiredTunnels.CurrentTunnel] {
    if hasGuards { return ordered.map(\.current) }
    let concerned = known.concerned
    if concerned.isEmpty { return engaged.map(\.current) }
    return ordered.lazy.filter { $0.isEngaged || concerned.contains($0.policy.name) }.map(\.current)
  }

  /// The tunnels that rules or a person want up.
  var wanted: Set<String> { Set(engaged.lazy.filter(\.isWanted).map(\.policy.name)) }

  /// The tunnels with a kill switch, active or not, in the same order.
  var guarded: [TunnelSupervisor] { known.guarded }

  /// The WireGuard tunnels, in the same order.
  var wireGuard: [TunnelSupervisor] { known.wireGuard }

  var linkNames: Set<String> { known.linkNames }

  /// The links of WireGuard tunnels and those of all others, each sorted.
  var links: (wireGuard: [String], others: [String]) { known.links }

  /// The slots of all tunnels, each once, sorted.
  var slots: [UInt32] { known.slots }

  /// The policies of the tunnels that go through another one.
  var inner: [TunnelPolicy] { known.inner.map(\.policy) }

  var isNested: Bool { !known.inner.isEmpty }

  /// Whether the device of one is read until its peer answers.
  var isPolled: Bool { engaged.contains(where: \.isPolled) }

  func owner(of step: Step) -> TunnelSupervisor? { ordered.first { $0.owns(step) } }

  /// Creates or updates a tunnel for each policy. A set that they follow already is nothing new, unless a tunnel waits to be replaced.
  func follow(_ policies: PolicySet) {
    if let followed, followed.isSameValue(as: policies), !engaged.contains(where: \.isToBeReplaced) { return }
    followed = policies
    for policy in policies.tunnels {
      if let existing = byName[policy.name] {
        existing.update(policy)
      } else {
        byName[policy.name] = TunnelSupervisor(policy: policy, platform: platform, surroundings: surroundings)
      }
    }
  }

  /// The way of a tunnel's own packets through another tunnel; `nil`: they leave outside of every tunnel.
  func outerWay(of policy: TunnelPolicy) -> OuterWay? { policy.through.map { OuterWay($0.name, byName[$0.name]) } }

  /// Whether a tunnel goes through this one, and is not down.
  func isCarrying(_ outer: String) -> Bool { known.inner.contains { $0.policy.through?.name == outer && $0.machine.isRunning } }

  /// Whether a tunnel has not taken in a change of the one that it goes through, or that goes through it.
  var isBehind: Bool { engaged.contains { $0.isBehindOuterTunnel || $0.nesting.isToEndAfterInner && !isCarrying($0.policy.name) } }

  /// The tunnels whose policy is gone, ordered by name.
  var withoutPolicy: [TunnelSupervisor] { known.withoutPolicy }

  /// Whether a tunnel is down and present only because another pass has to replace it, or remove it.
  var hasReadyToGo: Bool {
    known.withoutPolicy.contains { $0.machine.state == .disconnected }
      || engaged.contains { $0.machine.state == .disconnected && $0.isToBeReplaced }
  }

  func remove(_ name: String) { byName[name] = nil }

  /// Leaves the tunnels that are up to the next agent; an inner tunnel only with the one that it goes through.
  func handOver() -> HandOver {
    var (left, seen) = (HandOver(), Set<String>())
    func take(_ tunnel: TunnelSupervisor) {
      guard seen.insert(tunnel.policy.name).inserted else { return }
      if let outer = tunnel.policy.through?.name {
        if let outer = byName[outer] { take(outer) }
        if left.tunnels[outer] == nil { return }
      }
      left.tunnels[tunnel.policy.name] = tunnel.handOver()
    }
    for tunnel in ordered { take(tunnel) }
    return left
  }

  /// Calls `lose` for each tunnel whose device is gone, or was replaced, since the last call.
  func recordDevices(in kernel: KernelState, lose: (TunnelSupervisor) -> Void) {
    var present: [String: DeviceIdentity] = [:]
    for tunnel in engaged {
      let name = tunnel.policy.name
      let device = tunnel.linkName.flatMap { kernel.link(named: $0)?.device }
      if tunnel.machine.noticesLoss, tunnel.setup.level > .nothing, let before = devices[name], before != device { lose(tunnel) }
      if tunnel.setup.level > .nothing { present[name] = device }
    }
    devices = present
  }
}

/// Properties of a tunnel that the set and its reconciler ask for.
extension TunnelSupervisor {
  /// Whether a step is one of its own: of its link, or of its table.
  func owns(_ step: Step) -> Bool {
    step.concerns(link: linkName, table: Ownership.tables.lowerBound + slot)
      || step.concerns(link: nil, table: Ownership.innerTable(of: slot))
  }

  /// Whether it may move without another decision: it is not down, is wanted, is replaced, or goes through another tunnel.
  var isEngaged: Bool { machine.isEngaged || replacement.isUnderWay || policy.through != nil }

  /// Whether an order leaves it as it is: it is down, and was ordered the same before.
  func isAtRest(under intent: Intent, isReady: Bool) -> Bool {
    !isEngaged && intent == lookup.intent && ![.up, .armed].contains(intent) && lookup.targetWhenDown == (isReady ? .ready : .down)
  }

  /// Whether its driver can take over, or end, what is noted: a command, a provider's program, or a device alone.
  func takes(_ noted: HandOver.Tunnel, _ command: CommandProviderConfiguration?) -> Bool {
    switch policy.provider {
    case .wireGuard: command == nil && noted.provider == nil
    case .command, .service: command != nil
    case .installed: noted.provider != nil
    }
  }
}

extension TunnelMachine {
  /// Whether anything but a new intent may move it: it is not down, or is to be something else.
  var isEngaged: Bool { isRunning || target != .down }
}
