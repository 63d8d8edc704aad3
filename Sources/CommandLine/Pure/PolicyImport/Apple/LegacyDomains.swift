import NetworkTypes
import RoamwardCore

/// Apple's domain lists from before rules. They apply if no rule matches, and with `Allow` and an evaluation without parameters. The list
/// of exceptions takes precedence over everything.
struct LegacyDomains {
  var never: [DomainPattern] = []
  var triggers: [ConnectionRule] = []
  var veto: [ConnectionRule] = []

  var isEmpty: Bool { never.isEmpty && triggers.isEmpty }

  /// The equivalent rule, to be placed after all others.
  func rule(location: SourceLocation) -> ImportedRule? {
    isEmpty
      ? nil
      : ImportedRule(
        rule: Rule(action: .evaluateConnection, connections: veto + triggers, location: location),
        original: "the OnDemandMatchDomains lists, which apply where no rule matches")
  }
}

func readLegacyDomains(_ fields: inout Fields, _ report: inout ImportReport) -> LegacyDomains {
  let place = SourceLocation(file: report.file, line: fields.place.line ?? 1, column: 1)
  var lists = LegacyDomains()
  if let never = fields.texts("OnDemandMatchDomainsNever", &report) {
    lists.never = readDestinations(never.values, at: never.place, &report)
    report.changed(
      never.place,
      "never-connect before all other names of evaluations. It cannot hold a rule that connects back: on Apple it did, for these names",
      weight: .warning)
    if !lists.never.isEmpty { lists.veto = [ConnectionRule(domains: DomainList(lists.never), action: .neverConnect, location: place)] }
  }
  var domains: [DomainPattern] = []
  for key in ["OnDemandMatchDomainsAlways", "OnDemandMatchDomainsOnRetry"] {
    guard let list = fields.texts(key, &report) else { continue }
    domains += readDestinations(list.values, at: list.place, &report)
    report.changed(
      list.place, "connect-if-needed for these names, where no rule matches\(key.hasSuffix("Always") ? " (as since iOS 7)" : "")")
  }
  if !domains.isEmpty { lists.triggers = [ConnectionRule(domains: DomainList(domains), action: .connectIfNeeded, location: place)] }
  return lists
}
