/// The stages of a plan, in order: no route leads to a link before everything that it needs exists (docs/security-kill-switch.md, "Order").
package enum StepStage: Int, Equatable, Sendable, Comparable {
  /// The firewall table.
  case firewall
  /// Links, with the alias that marks the owner: a link without its alias is not touched again.
  case links
  case settings, routes, rules, resolver
  /// The address of proxies.
  case proxies
  /// Removals: executed even if earlier steps failed.
  case removal

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

extension Step {
  /// Whether the step must be left out if the other one, of an earlier stage, has failed. A refused firewall step blocks nothing: without
  /// the tunnel even more traffic would flow outside.
  package func builds(on failed: Step) -> Bool {
    if case .removeRoute = self { return false }
    if case .removeRoute = failed { return false }
    switch (stage, failed.stage) {
    case (.removal, _), (_, .removal), (_, .firewall), (_, .resolver), (_, .proxies): return false
    case (.settings, .links), (.routes, .links), (.routes, .settings): return failed.link.map(needs) ?? false
    case (.proxies, _):
      // That no proxy is used needs nothing.
      if case .setProxies(let publication) = self { return publication.script.tunnel != nil }
      return true
    case (.rules, .links), (.rules, .settings), (.resolver, _): return true
    case (.rules, .routes): return traits.table == failed.traits.table
    default: return false
    }
  }
}
