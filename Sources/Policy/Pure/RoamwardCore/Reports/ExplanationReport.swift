import NetworkTypes

/// The text of `roamward explain`: every rule of a tunnel with its location, and under it every key, the finding and the verdict.
package func explanation(of tunnel: TunnelPolicy, decision: Decision, trace: [RuleTrace]) -> String {
  var lines = ["\(tunnel.name): \(decision.outcome.rawValue), because \(decision.ruleReason)"]
  lines.append("provider: \(tunnel.provider.title) (\(tunnel.provider.providerClass.rawValue)): \(tunnel.provider.responsibility)")
  if let pending = decision.pending { lines.append(pending.text) }
  if let inner = decision.carries { lines.append("up all the same: \(inner) goes through it") }
  if let inert = decision.inert { lines.append("not acted on: \(inert.text)") }
  return (lines + explanation(of: tunnel, decidedBy: decision.rule?.index, trace: trace)).map { $0 + "\n" }.joined()
}

/// The head of `roamward explain` for a tunnel in a group: which member is in use, and in which order the others follow.
package func explanation(of group: TunnelGroup, _ decisions: [Decision]) -> String {
  let standing = group.members.compactMap { member in decisions.first { $0.tunnel == member.name } }.map { decision -> String in
    switch decision.inert {
    case .standby: "\(decision.tunnel) stands by"
    case nil: decision.outcome == .connect ? "\(decision.tunnel) is in use" : "\(decision.tunnel) comes first"
    case let inert?: "\(decision.tunnel) is not used (\(inert.text))"
    }
  }
  let order =
    switch group.preference {
    case .order: "in the order of its list"
    case .nearest: "the nearest first"
    }
  return "group \(group.name), \(order): \(standing.joined(separator: ", "))  (\(group.location))\n"
}

/// The lines of the rules alone.
package func explanation(of tunnel: TunnelPolicy, decidedBy rule: Int?, trace: [RuleTrace]) -> [String] {
  var lines: [String] = []
  if tunnel.onDemand.rules.isEmpty { lines.append("It has no rules: it is left as it is.") }
  for entry in trace {
    let isDeciding = entry.rule.index == rule
    lines.append("")
    lines.append(
      "\(isDeciding ? ">" : " ") \(entry.rule.text): \(entry.action.rawValue), holds: \(entry.holds.rawValue)  (\(entry.rule.location))"
    )
    lines += keys(entry.finding, depth: 2)
  }
  return lines
}

/// The condition's tree, one key a line.
private func keys(_ finding: Finding, depth: Int) -> [String] {
  let indent = String(repeating: "  ", count: depth)
  func line(_ truth: Truth, _ text: String) -> String { "\(indent)\(pad(truth.rawValue, 7)) \(text)" }
  switch finding {
  case .key(let key, let truth, let found): return [line(truth, found.hasPrefix(key + " ") ? found : "\(key): \(found)")]
  case .all(_, let parts): return parts.isEmpty ? [line(.yes, "always")] : parts.flatMap { keys($0, depth: depth) }
  case .any(let truth, let parts): return [line(truth, "any-of:")] + parts.flatMap { keys($0, depth: depth + 1) }
  case .not(let truth, let part): return [line(truth, "not:")] + keys(part, depth: depth + 1)
  case .network(let name, let truth, let part): return [line(truth, "network \(name):")] + keys(part, depth: depth + 1)
  }
}
