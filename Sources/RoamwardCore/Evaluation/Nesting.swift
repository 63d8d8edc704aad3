internal import NetworkTypes

/// The claims of all tunnels, after those that exclude or need one another have been compared.
package struct SettledClaims: Equatable, Sendable {
  /// The claims, in their order. A tunnel that another one goes through has that one's claim too.
  package var claims: [Exclusion.Claim]
  /// The tunnels that have to be down, with the tunnel that each gives way to.
  package var losers: [String: String] = [:]
  /// The tunnels whose outer tunnel cannot be up, with that tunnel and the reason.
  package var blocked: [String: Inert] = [:]
  /// The tunnels that are up for another one alone, with that one.
  package var carrying: [String: String] = [:]

  /// Whether rules or people cannot have the tunnel up now.
  package func isHeld(_ tunnel: String) -> Bool { losers[tunnel] != nil || blocked[tunnel] != nil }
}

extension Exclusion {
  /// Settles which tunnels may be up. `claims` are in the order of the policies.
  ///
  /// A tunnel with `through:` needs its outer tunnel: while it is wanted, so is the outer one, whatever that one's rules say. Only a person
  /// who wants the outer tunnel down, and `enabled: false`, come before that. Then the inner tunnel has to be down.
  package static func settle(_ claims: [Claim]) -> SettledClaims {
    guard claims.contains(where: { $0.tunnel.through != nil }) else { return SettledClaims(claims: claims, losers: losers(among: claims)) }
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
      guard let outer = outers.first, settled.blocked[claim.tunnel.name] == nil, claim.needsOuterTunnel else { continue }
      if settled.claims[outer].intent != .up {
        settled.claims[outer].intent = .up
        settled.carrying[settled.claims[outer].tunnel.name] = claim.tunnel.name
      }
      settled.claims[outer].override = settled.claims[outer].override ?? claim.override
    }
    settled.losers = losers(among: settled.claims.filter { settled.blocked[$0.tunnel.name] == nil })
    for (place, outers) in chain {
      guard let winner = outers.first.flatMap({ settled.losers[claims[$0].tunnel.name] }) else { continue }
      settled.losers[claims[place].tunnel.name] = winner
    }
    return settled
  }
}

extension Exclusion.Claim {
  /// The reason why the tunnel can carry no other one.
  fileprivate var obstacle: OuterObstacle? {
    if !tunnel.isEnabled { return .disabled }
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
    case .heldDown: "is held down by hand; `roamward resume` ends that"
    case .blocked: "cannot start either"
    }
  }
}
