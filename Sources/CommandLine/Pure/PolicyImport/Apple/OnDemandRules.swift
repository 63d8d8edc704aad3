import NetworkTypes
import RoamwardCore

/// The translated rules. `problem` is set if one of them could not be translated. Then none of them may act, because its neighbours would
/// decide instead.
struct ImportedRules {
  var rules: [ImportedRule] = []
  var problem: String?
}

/// Reads `OnDemandRules`. In both languages the first rule that matches decides, and all criteria of a rule have to match.
func readOnDemandRules(
  _ item: Item, dialect: RuleDialect, legacy: LegacyDomains, reading: RuleReading, _ report: inout ImportReport
) -> ImportedRules {
  var result = ImportedRules()
  guard let items = item.items else {
    report.dropped(item.place, "expected a list of rules, found \(item.property.kind)", weight: .error)
    result.problem = "\(shown(item.place.text)) is no list of rules"
    return result
  }
  if items.isEmpty { report.dropped(item.place, "an empty list of rules says nothing", weight: .warning) }
  var catchAll: Int?
  for (index, item) in items.enumerated() {
    if let catchAll {
      report.record(
        "\(shown(item.place.text)) is never reached: rule \(catchAll) before it always holds", weight: .warning, line: item.place.line)
    }
    switch readRule(item, dialect: dialect, legacy: legacy, reading: reading, &report) {
    case .rule(let rule):
      result.rules.append(ImportedRule(rule: rule, original: compactText(item.property)))
      if rule.match == .always, catchAll == nil { catchAll = index + 1 }
    case .never: break
    case .wrong:
      result.problem =
        result.problem ?? "rule \(index + 1) (\(shown(item.place.text))) could not be translated; correct it, then remove this"
    }
  }
  return result
}

private enum ReadRule {
  case rule(Rule)
  /// The rule can never match and is left out.
  case never
  case wrong
}

private func readRule(
  _ item: Item, dialect: RuleDialect, legacy: LegacyDomains, reading: RuleReading, _ report: inout ImportReport
) -> ReadRule {
  let errorsBefore = report.errorCount
  guard var fields = Fields(item, &report) else { return .wrong }
  guard let word = fields.text("Action", &report) else {
    if report.errorCount == errorsBefore {
      report.dropped(
        item.place,
        "a rule has to say its `Action`. Criteria of one rule stand in one dictionary and all have to hold; a dictionary for each criterion makes rules without an action",
        weight: .error)
    }
    for leaf in fields.keys { fields.drop([leaf], reason: "its rule has no action", &report) }
    return .wrong
  }
  let (criteria, canHold) = readCriteria(&fields, dialect: dialect, reading: reading, &report)
  var rule = Rule(
    match: .all(criteria), action: .ignore, location: SourceLocation(file: report.file, line: item.place.line ?? 1, column: 1))
  switch (word.value, dialect) {
  case ("Connect", _):
    rule.action = .connect
    report.taken(word.place, dialect == .vpn ? "connect" : "connect: use these DNS settings")
    for key in ["Domains", "DomainAction"] where fields.has(key) {
      fields.drop(
        [key],
        reason: "Apple ignores it outside `ActionParameters`, so this rule connects for every destination, not for these names only",
        weight: .warning, &report)
    }
  case ("Disconnect", _):
    rule.action = .disconnect
    report.taken(word.place, "disconnect")
  case ("Ignore", .vpn):
    rule.action = .ignore
    report.taken(word.place, "ignore")
  case ("EvaluateConnection", .vpn):
    rule.action = .evaluateConnection
    report.taken(word.place, "evaluate-connection")
    rule.connections = legacy.veto
    if let parameters = fields.take("ActionParameters") {
      rule.connections += readConnections(parameters, &report)
    } else {
      rule.connections += legacy.triggers
      report.record(
        "\(shown(item.place.text)) names no `ActionParameters`\(legacy.isEmpty ? ", so it never starts anything" : "; the OnDemandMatchDomains lists apply")",
        weight: .warning, line: item.place.line)
    }
  case ("Allow", .vpn):
    rule.action = .evaluateConnection
    rule.connections = legacy.veto + legacy.triggers
    report.changed(word.place, "evaluate-connection with the OnDemandMatchDomains lists: Apple's `Allow` is deprecated", weight: .warning)
  case ("EvaluateConnection", .dnsSettings):
    rule.action = .connect
    report.changed(word.place, "connect: use these DNS settings")
    if let parameters = fields.take("ActionParameters") {
      report.dropped(parameters.place, "names that are excepted by a rule cannot be said of DNS settings here", weight: .warning)
    }
  default:
    let allowed = dialect == .vpn ? "Connect, Disconnect, EvaluateConnection, Ignore" : "Connect, Disconnect, EvaluateConnection"
    let hint = nearWord(word.value, ["Connect", "Disconnect", "EvaluateConnection", "Ignore"]).map { "; did you mean `\($0)`?" } ?? ""
    report.dropped(word.place, "no such action (\(allowed))\(hint)", weight: .error)
  }
  if let parameters = fields.take("ActionParameters") {
    report.dropped(parameters.place, "without effect beside this action", weight: .warning)
  }
  fields.drop(["Domains", "DomainAction"], reason: "without effect outside `ActionParameters`", weight: .warning, &report)
  fields.finish(&report, reason: "Apple's rules have no such key, so it never had an effect")
  if report.errorCount > errorsBefore { return .wrong }
  if rule.action == .evaluateConnection, rule.connections.isEmpty {
    rule.action = .ignore
    report.record(
      "\(shown(item.place.text)) has become `ignore`: without names no look-up starts anything, and the tunnel is left as it is",
      weight: .warning, line: item.place.line)
  }
  guard canHold else {
    report.dropped(item.place, "the rule can never hold, so it was left out", weight: .warning)
    return .never
  }
  return .rule(rule)
}

extension ImportReport {
  var errorCount: Int { entries.count { $0.weight == .error } }
}

/// The word that differs only in case, blanks, hyphens and underscores.
func nearWord(_ text: String, _ words: [String]) -> String? {
  func bare(_ text: String) -> String { text.lowercased().filter { !" -_".contains($0) } }
  return words.first { bare($0) == bare(text) }
}

/// The value on one line, similar to JSON. Use it for values without secrets; possible secrets are left out anyway.
func compactText(_ property: Property) -> String {
  switch property.content {
  case .string(let text): "\"\(text)\""
  case .integer(let number): "\(number)"
  case .real(let number): "\(number)"
  case .boolean(let flag): "\(flag)"
  case .data(let bytes): "\(bytes.count) bytes"
  case .date(let text): text
  case .array(let items): "[\(items.map(compactText).joined(separator: ", "))]"
  case .dictionary(let entries):
    "{\(entries.map { "\($0.key): \(holdsSecret($0) ? "(hidden)" : compactText($0.value))" }.joined(separator: ", "))}"
  }
}

/// True if the entry is secret by its name, or is a URL with a name and password before its host.
private func holdsSecret(_ entry: Property.Entry) -> Bool {
  isSecretKey(entry.key) || entry.key.contains("Probe") && entry.value.text?.contains("@") == true
}
