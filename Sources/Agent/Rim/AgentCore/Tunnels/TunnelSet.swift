import KernelModel
import NetworkTypes
import RoamwardCore

/// The agent's tunnels: one for each policy, and those whose policy was removed until they are down.
final class TunnelSet {
  private let platform: Platform
  private var byName: [String: TunnelSupervisor] = [:] { didSet { sorted = nil } }
  /// `ordered`, from its first use until a tunnel comes, goes or gets another slot.
  private var sorted: [TunnelSupervisor]?
  /// The policies that the tunnels follow.
  private var followed: PolicySet?
  /// The last device of each tunnel.
  private var devices: [String: DeviceIdentity] = [:]
  var surroundings = TunnelSurroundings() { didSet { surroundings.reordered = { [weak self] in self?.sorted = nil } } }

  init(_ platform: Platform) { self.platform = platform }

  subscript(name: String) -> TunnelSupervisor? { byName[name] }

  /// The tunnels, ordered by slot and name.
  var ordered: [TunnelSupervisor] {
    if let sorted { return sorted }
    let places = byName.map { (slot: $1.slot, name: $0, tunnel: $1) }
    let all = places.sorted { ($0.slot, $0.name) < ($1.slot, $1.name) }.map(\.tunnel)
    sorted = all
    return all
  }

  /// The tunnels that are not down, and those that wait to be replaced, in the same order. Most of many tunnels are down, and have no part
  /// in plans and their results.
  var engaged: [TunnelSupervisor] { ordered.filter { $0.machine.isRunning || $0.isToBeReplaced } }

  /// The tunnels that have a part in the desired state: of those that are down only such that concern something then. `hasGuards`: programs
  /// are guarded, by a firewall that concerns every tunnel.
  func standings(in policies: PolicySet, hasGuards: Bool) -> [DesiredTunnels.Standing] {
    let concerned = ordered.lazy.filter {
      hasGuards || $0.machine.isRunning || $0.isToBeReplaced || $0.isWanted || !policies.isPassive($0.policy.name)
    }
    return concerned.map(\.standing)
  }

  var linkNames: Set<String> { Set(byName.values.compactMap(\.linkName)) }

  func owner(of step: Step) -> TunnelSupervisor? { ordered.first { $0.owns(step) } }

  /// Creates or updates a tunnel for each policy. A set that they follow already is nothing new, unless a tunnel waits to be replaced.
  func follow(_ policies: PolicySet) {
    if let followed, followed.isSameValue(as: policies), !byName.values.contains(where: \.isToBeReplaced) { return }
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
  func isCarrying(_ outer: String) -> Bool { byName.values.contains { $0.policy.through?.name == outer && $0.machine.isRunning } }

  /// Whether a tunnel has not taken in a change of the one that it goes through, or that goes through it.
  var isBehind: Bool { byName.values.contains { $0.isBehindOuterTunnel || $0.nesting.isToEndAfterInner && !isCarrying($0.policy.name) } }

  func withoutPolicy(_ policies: PolicySet) -> [TunnelSupervisor] {
    byName.keys.filter { !policies.hasTunnel(named: $0) }.sorted().compactMap { byName[$0] }
  }

  func remove(_ name: String) {
    byName[name] = nil
    followed = nil
  }

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
  func noteDevices(in kernel: KernelState, lose: (TunnelSupervisor) -> Void) {
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

  /// Whether it is down and present only because another pass has to replace it, or remove it from `policies`.
  func isReadyToGo(_ policies: PolicySet) -> Bool {
    machine.state == .disconnected && (isToBeReplaced || !policies.hasTunnel(named: policy.name))
  }

  /// Whether it is a WireGuard tunnel that is down.
  var isWireGuardAtRest: Bool { policy.provider.isWireGuard && machine.state == .disconnected }

  /// The same, or its device is ready.
  var isWireGuardDown: Bool { policy.provider.isWireGuard && [.disconnected, .ready].contains(machine.state) }

  /// Whether its driver can take over, or end, what is noted: a command, a provider's program, or a device alone.
  func takes(_ noted: HandOver.Tunnel, _ command: CommandProviderConfiguration?) -> Bool {
    switch policy.provider {
    case .wireGuard: command == nil && noted.provider == nil
    case .command, .service: command != nil
    case .installed: noted.provider != nil
    }
  }
}
