internal import RoamwardCore

/// The tunnels of a set by their places and their policies: what a pass asks for, and what changes only with them.
struct TunnelRoster {
  /// All tunnels, ordered by slot and name.
  let all: [TunnelSupervisor]
  /// The tunnels that go through another one, in the same order.
  let inner: [TunnelSupervisor]
  let wireGuard: [TunnelSupervisor]
  /// The tunnels with a kill switch, active or not.
  let guarded: [TunnelSupervisor]
  /// The tunnels whose driver may have deadlines of its own.
  let timed: [TunnelSupervisor]
  /// The tunnels whose policy is gone, ordered by name.
  let withoutPolicy: [TunnelSupervisor]
  /// The tunnels that concern something also while they are down.
  let concerned: Set<String>
  let linkNames: Set<String>
  /// The links of WireGuard tunnels and those of all others, each sorted.
  let links: (wireGuard: [String], others: [String])
  /// The slots, each once, sorted.
  let slots: [UInt32]

  /// `policies`: those that the tunnels follow; `nil`: none yet.
  init(_ tunnels: [String: TunnelSupervisor], policies: PolicySet?) {
    all = tunnels.map { (slot: $1.slot, name: $0, tunnel: $1) }.sorted { ($0.slot, $0.name) < ($1.slot, $1.name) }.map(\.tunnel)
    inner = all.filter { $0.policy.through != nil }
    wireGuard = all.filter(\.policy.provider.isWireGuard)
    guarded = all.filter { $0.policy.guarding != .off }
    timed = all.filter(\.isTimed)
    withoutPolicy = all.filter { !(policies?.hasTunnel(named: $0.policy.name) ?? false) }.sorted { $0.policy.name < $1.policy.name }
    concerned = Set(all.lazy.map(\.policy.name).filter { !(policies?.isPassive($0) ?? false) })
    let links = all.compactMap { tunnel in tunnel.linkName.map { (name: $0, isWireGuard: tunnel.policy.provider.isWireGuard) } }
    linkNames = Set(links.lazy.map(\.name))
    self.links = (links.filter(\.isWireGuard).map(\.name).sorted(), links.filter { !$0.isWireGuard }.map(\.name).sorted())
    slots = Set(all.lazy.map(\.slot)).sorted()
  }
}
