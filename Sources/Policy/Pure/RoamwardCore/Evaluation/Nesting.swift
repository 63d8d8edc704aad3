internal import NetworkTypes

/// The claims of all tunnels, after those that exclude or need one another have been compared.
package struct SettledClaims: Equatable, Sendable {
  /// The claims, in their order. A tunnel that another one goes through has that one's claim too.
  package var claims: [Exclusion.Claim]
  /// The tunnels that have to be down, with the tunnel that each gives way to.
  package var losers: [String: String] = [:]
  /// The tunnels whose outer tunnel cannot be up, with that tunnel and the reason.
  package var blocked: [String: Inert] = [:]
  /// The members of groups that have to be down, because another one is in use.
  package var standby: [String: GroupTurn] = [:]
  /// The tunnels that are up for another one alone, with that one.
  package var carrying: [String: String] = [:]

  /// The tunnels that are down and keep others from starting, until the fact that they await is known.
  package var reserving: Set<String> { Set(claims.lazy.filter(\.isReserving).map(\.tunnel.name)) }

  /// Whether rules or people cannot have the tunnel up now.
  package func isHeld(_ tunnel: String) -> Bool { losers[tunnel] != nil || blocked[tunnel] != nil }
}

extension Exclusion {
  /// Settles which tunnels may be up. `claims` are in the order of the policies.
  ///
  /// A tunnel with `through:` needs its outer tunnel: while it is wanted, so is the outer one, whatever that one's rules say. Only a person
  /// who wants the outer tunnel down, and `enabled: false`, come before that. Then the inner tunnel has to be down. A tunnel that has to be
  /// down, or whose outer tunnel has to be, needs no outer tunnel: nothing is up, and nothing gives way, for a tunnel that is not up.
  package static func settle(_ claims: [Claim]) -> SettledClaims { settle(claims, after: [:]) }

  /// `idle`: tunnels that have to be down whatever others want, each with the one that it gives way to.
  static func settle(_ claims: [Claim], after idle: [String: String]) -> SettledClaims {
    guard claims.contains(where: { $0.tunnel.through != nil }) else {
      let lost = losers(among: idle.isEmpty ? claims : claims.filter { idle[$0.tunnel.name] == nil })
      return SettledClaims(claims: claims, losers: lost.merging(idle) { _, idle in idle })
    }
    var idle = idle
    while true {
      let settled = settle(claims, idle: idle)
      let lost = settled.claims.filter { claim in
        claim.tunnel.through != nil && idle[claim.tunnel.name] == nil && settled.losers[claim.tunnel.name] != nil && claim.needsOuterTunnel
      }
      if lost.isEmpty { return settled }
      // A winner that is up for the one that loses to it has not won: without that one, others may.
      let own = lost.filter { claim in settled.outers(of: claim.tunnel).contains { settled.losers[claim.tunnel.name] == $0 } }
      for claim in own.isEmpty ? lost : own { idle[claim.tunnel.name] = settled.losers[claim.tunnel.name] }
    }
  }

  /// `idle`: tunnels that have to be down, each with the one that it gives way to.
  private static func settle(_ claims: [Claim], idle: [String: String]) -> SettledClaims {
    var settled = SettledClaims(claims: claims)
    let places = Dictionary(claims.indices.map { (claims[$0].tunnel.name, $0) }) { first, _ in first }
    /// The outer tunnels of one, the nearest first. A circle, which no policy has, ends where it closes.
    func outers(of place: Int) -> [Int] {
      var found: [Int] = []
      var next = claims[place].tunnel.through.flatMap { places[$0.name] }
      while let outer = next, outer != place, !found.contains(outer) {
        found.append(outer)
        next = claims[outer].tunnel.through.flatMap { places[$0.name] }
      }
      return found
    }
    let inner = claims.indices.filter { claims[$0].tunnel.through != nil }
    // The outer ones of a chain come first, then the other way round.
    let chain = inner.map { (place: $0, outers: outers(of: $0)) }.sorted { ($0.outers.count, $0.place) < ($1.outers.count, $1.place) }
    for (place, outers) in chain {
      guard let through = claims[place].tunnel.through else { continue }
      let obstacle = outers.first.map { outer in claims[outer].obstacle ?? (settled.isHeld(claims[outer].tunnel.name) ? .blocked : nil) }
      if let obstacle = obstacle ?? .missing { settled.blocked[claims[place].tunnel.name] = .blocked(by: through.name, obstacle) }
    }
    for (place, outers) in chain.reversed() {
      let claim = settled.claims[place]
      guard let outer = outers.first, settled.blocked[claim.tunnel.name] == nil, idle[claim.tunnel.name] == nil else { continue }
      if claim.isReserving, settled.claims[outer].intent != .up, !settled.claims[outer].isRunning {
        settled.claims[outer].isReserving = true
      }
      guard claim.needsOuterTunnel else { continue }
      if settled.claims[outer].intent != .up {
        settled.claims[outer].intent = .up
        settled.carrying[settled.claims[outer].tunnel.name] = claim.tunnel.name
      }
      settled.claims[outer].override = settled.claims[outer].override ?? claim.override
    }
    settled.losers = idle
    settled.losers.merge(losers(among: settled.claims.filter { settled.blocked[$0.tunnel.name] == nil && idle[$0.tunnel.name] == nil })) {
      first, _ in first
    }
    for (place, outers) in chain {
      guard let winner = outers.first.flatMap({ settled.losers[claims[$0].tunnel.name] }) else { continue }
      settled.losers[claims[place].tunnel.name] = winner
    }
    return settled
  }
}

extension SettledClaims {
  /// The tunnels that one goes through, the nearest first.
  fileprivate func outers(of tunnel: TunnelPolicy) -> [String] {
    var found: [String] = []
    var next = tunnel.through?.name
    while let outer = next, outer != tunnel.name, !found.contains(outer) {
      found.append(outer)
      next = claims.first { $0.tunnel.name == outer }?.tunnel.through?.name
    }
    return found
  }
}

extension Exclusion.Claim {
  /// The reason why the tunnel can carry no other one.
  fileprivate var obstacle: OuterObstacle? {
    if !tunnel.isEnabled { return tunnel.availability.absentOwner.map { .ownerAway($0) } ?? .disabled }
    return override?.wantsUp == false ? .heldDown : nil
  }

  fileprivate var needsOuterTunnel: Bool { [.up, .armed].contains(intent) || isRunning && intent != .down }
}

extension OuterObstacle {
  /// The reason for people, to follow the tunnel's name.
  package var text: String {
    switch self {
    case .missing: "has no policy"
    case .disabled: "is disabled by its policy"
    case .ownerAway(let owner): "belongs to \(owner), who is not logged in"
    case .heldDown: "is held down by hand; `roamward resume` ends that"
    case .blocked: "cannot start either"
    }
  }
}
