/// What a plan is carried out by, in turn: nothing is led anywhere before all that it needs is there (docs/security.md, "Order").
package enum StepStage: Int, Hashable, Sendable, Comparable {
  case firewall
  /// Links, with the alias that says whose they are: one that could not be given it is not touched again.
  case links
  case settings, routes, rules, resolver
  /// What takes away: tried whatever has failed before.
  case removal

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

extension Step {
  /// Whether the step is not to be made where the other one, of an earlier stage, has failed. A firewall that is refused bars nothing:
  /// without the tunnel even more would be outside.
  package func builds(on failed: Step) -> Bool {
    if case .removeRoute = self { return false }
    if case .removeRoute = failed { return false }
    switch (stage, failed.stage) {
    case (.removal, _), (_, .removal), (_, .firewall), (_, .resolver): return false
    case (.settings, .links), (.routes, .links), (.routes, .settings): return failed.link.map(needs) ?? false
    case (.rules, .links), (.rules, .settings), (.resolver, _): return true
    case (.rules, .routes): return traits.table == failed.traits.table
    default: return false
    }
  }
}
