package import NetworkTypes

/// Whether a tunnel may start, and whose it is.
package struct TunnelAvailability: Hashable, Sendable {
  /// Whether the policy enables the tunnel (`enabled`).
  package var isEnabled: Bool
  /// The user that the tunnel belongs to; `nil`: it is the machine's.
  package var owner: UserName?
  /// Whether the owner is known not to be logged in (`PolicySet.owned`).
  fileprivate(set) var isOwnerAway = false

  init(isEnabled: Bool, owner: UserName?) { (self.isEnabled, self.owner) = (isEnabled, owner) }

  /// Whether rules or people may start it.
  package var mayStart: Bool { isEnabled && !isOwnerAway }

  /// The owner, if it may not start for the only reason that the owner is not logged in.
  package var absentOwner: UserName? { isEnabled && isOwnerAway ? owner : nil }
}

extension PolicySet {
  /// The owners of the tunnels that have one, by the tunnels' names.
  package var owners: [String: UserName] { facts.concerns.owners }

  /// The set while these users are logged in: tunnels of others may not start, and none of them before it was asked who is there. Where
  /// that cannot be known, all may. The same value if no owner comes or goes.
  package func owned(by users: Fact<[UserName]>) -> PolicySet {
    if owners.isEmpty { return self }
    let isAway = { (owner: UserName) in users.value.map { !$0.contains(owner) } ?? (users == .notNeeded) }
    let changed = tunnels.indices.filter { i in
      tunnels[i].availability.owner.map { isAway($0) != tunnels[i].availability.isOwnerAway } ?? false
    }
    if changed.isEmpty { return self }
    var set = self
    for i in changed { set.tunnels[i].availability.isOwnerAway.toggle() }
    return set
  }
}
