import NetworkTypes
import RoamwardCore

/// The rules of a tunnel as HTML: each with its verdict, and every key with what was found.
func rulesHTML(_ trace: [RuleTrace], decidedBy rule: Int?) -> String {
  if trace.isEmpty { return "<p>No rules to show.</p>" }
  return trace.map { entry in
    let isDeciding = entry.rule.index == rule
    return "<div class=\"rule\(isDeciding ? " decides" : "")\"><strong>\(html(entry.rule.text))</strong>: \(html(entry.action.rawValue)), "
      + "holds: \(truth(entry.holds)) <code>\(html(entry.rule.location.short))</code>\(isDeciding ? " — decides" : "")"
      + "<ul>\(keys(entry.finding))</ul></div>"
  }.joined(separator: "\n")
}

private func truth(_ truth: Truth) -> String { "<span class=\"\(truth.rawValue)\">\(truth.rawValue)</span>" }

private func keys(_ finding: Finding) -> String {
  func item(_ holds: Truth, _ text: String, _ inner: String = "") -> String {
    "<li>\(truth(holds)) \(html(text))\(inner.isEmpty ? "" : "<ul>\(inner)</ul>")</li>"
  }
  switch finding {
  case .key(let key, let holds, let found): return item(holds, found.hasPrefix(key + " ") ? found : "\(key): \(found)")
  case .all(_, let parts): return parts.isEmpty ? item(.yes, "always") : parts.map { keys($0) }.joined()
  case .any(let holds, let parts): return item(holds, "any of:", parts.map { keys($0) }.joined())
  case .not(let holds, let part): return item(holds, "not:", keys(part))
  case .network(let name, let holds, let part): return item(holds, "network \(name):", keys(part))
  }
}
