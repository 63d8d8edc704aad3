/// Several tunnels of which one is in use at a time (`groups:`): the rules want the group, and a member that fails gives way to the next.
///
/// The members have the rules and the kill switch of their group: `TunnelPolicy` has them, as if each had been written there.
package struct TunnelGroup: Hashable, Sendable {
  /// A tunnel of the group, with the place at which the group names it.
  package struct Member: Hashable, Sendable {
    package var name: String
    package var location: SourceLocation

    package init(_ name: String, location: SourceLocation) {
      self.name = name
      self.location = location
    }
  }

  package var name: String
  /// In their order of preference.
  package var members: [Member]
  package var preference: GroupPreference
  /// The rules of all members.
  package var onDemand: OnDemand
  /// The kill switch of all members: that of the group, or the strictest of a member.
  package var killSwitch: KillSwitch
  package var location: SourceLocation

  package init(
    name: String, members: [Member], preference: GroupPreference = .order, onDemand: OnDemand = OnDemand(), killSwitch: KillSwitch = .off,
    location: SourceLocation
  ) {
    self.name = name
    self.members = members
    self.preference = preference
    self.onDemand = onDemand
    self.killSwitch = killSwitch
    self.location = location
  }
}

/// The order in which a group tries its members.
package enum GroupPreference: String, Equatable, Sendable, CaseIterable {
  /// The order of the list.
  case order
  /// The member whose peer answered soonest on this network; those that were not measured there, in the order of the list.
  case nearest
}

extension PolicySet {
  /// The group of a tunnel; `nil`: it is in none.
  package func group(of tunnel: String) -> TunnelGroup? { facts.concerns.groups[tunnel].map { groups[$0] } }

  package func group(named name: String) -> TunnelGroup? { groups.first { $0.name == name } }

  /// The tunnels that a name of a person means: the tunnel, or the members of the group; empty: there is neither.
  package func tunnels(meant name: String) -> [TunnelPolicy] {
    if let tunnel = tunnel(named: name) { return [tunnel] }
    return group(named: name)?.members.compactMap { tunnel(named: $0.name) } ?? []
  }
}

extension PolicySet {
  /// Whether an override of the tunnel or group, up or down, ends a kill switch with the setting `on`: its own, or that of another
  /// enterprise tunnel that it replaces. `always` outlasts every override.
  package func opensKillSwitch(_ name: String, wantsUp: Bool) -> Bool {
    let chosen = tunnels(meant: name)
    return (wantsUp ? rivals(of: chosen) : chosen).contains { $0.guarding == .on }
  }

  /// The enterprise tunnels that one of these takes the place of: not the other members of its group.
  private func rivals(of chosen: [TunnelPolicy]) -> [TunnelPolicy] {
    guard chosen.contains(where: { $0.precedence == .enterprise }) else { return [] }
    let own = Set(chosen.flatMap { tunnel in [tunnel.name] + (group(of: tunnel.name)?.members.map(\.name) ?? []) })
    return tunnels.filter { $0.isEnabled && $0.precedence == .enterprise && !own.contains($0.name) }
  }
}

extension TunnelPolicy {
  /// Whether it can start while another tunnel of its group is in use: no route leads into it before its peer answers, and both can have
  /// what they need.
  package func mayStart(beside other: TunnelPolicy) -> Bool {
    guard through == nil, provider.hasRoutesOfAgent, other.provider.hasRoutesOfAgent else { return false }
    guard let port = provider.listenPort else { return true }
    return port != other.provider.listenPort
  }
}

extension ProviderConfiguration {
  /// The port that its own file sets.
  fileprivate var listenPort: UInt16? {
    guard case .wireGuard(let provider) = self, let port = provider.configuration?.listenPort, port != 0 else { return nil }
    return port
  }
}
