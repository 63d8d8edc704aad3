import NetworkTypes

/// The text of `roamward evaluate`: a line a tunnel, with `explained` every rule under it.
package func report(_ decisions: [Decision], explained: Bool) -> String {
  let name = max(8, columns(ofWidest: decisions.map(\.tunnel)))
  let width = max(7, columns(ofWidest: decisions.compactMap { $0.rule?.text }))
  var lines: [String] = []
  for decision in decisions {
    let rule = decision.rule?.text ?? ""
    let place = decision.rule?.location.short ?? ""
    let columns = [
      pad(decision.tunnel, name), pad(decision.outcome.rawValue, 10), pad(rule, width), pad(decision.ruleReason, explained ? 0 : 50), place,
    ]
    lines.append(trimmed(columns.joined(separator: "  ")))
    if let inner = decision.carries { lines.append("\(pad("", name))  up all the same: \(inner) goes through it") }
    if let inert = decision.inert { lines.append("\(pad("", name))  not acted on: \(inert.text)") }
    if let pending = decision.pending { lines.append("\(pad("", name))  \(pending.text)") }
    guard explained else { continue }
    for entry in decision.trace {
      let label = pad("rule \(entry.rule.index)", 7) + "  " + pad(entry.rule.name ?? "", 16)
      lines.append(trimmed("  \(label)  \(pad(entry.holds.rawValue, 7))  \(entry.finding.reason)"))
    }
  }
  return lines.map { $0 + "\n" }.joined()
}

extension Pending {
  /// The text for people: `in 5 s, without that fact: connect, rule 2`.
  package var text: String {
    "in \(RoamwardCore.text(for: decideWithin)), without that fact: \(then.rawValue)" + (rule.map { ", \($0.text)" } ?? "")
  }
}

private func trimmed(_ line: String) -> String {
  var line = line[...]
  while line.last == " " { line.removeLast() }
  return String(line)
}
