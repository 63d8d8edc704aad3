import NetworkTypes
import RoamwardCore

/// Reads `ActionParameters`: the effect of a look-up of a name. The first entry that contains the name decides, in both languages.
func readConnections(_ item: Item, _ report: inout ImportReport) -> [ConnectionRule] {
  guard let items = item.items else {
    report.dropped(
      item.place,
      item.property.entries == nil
        ? "expected a list of dictionaries, found \(item.property.kind)" : "this has to be a list: put the dictionary into an <array>",
      weight: .error)
    return []
  }
  if items.isEmpty { report.dropped(item.place, "empty: no name starts anything", weight: .warning) }
  return items.compactMap { readConnection($0, &report) }
}

private func readConnection(_ item: Item, _ report: inout ImportReport) -> ConnectionRule? {
  guard var fields = Fields(item, &report) else { return nil }
  let domains = fields.texts("Domains", &report).map { readDestinations($0.values, at: $0.place, &report) }
  if domains == nil { report.dropped(item.place, "`Domains` is missing", weight: .error) }
  var rule = ConnectionRule(
    domains: DomainList(domains ?? []), action: .neverConnect,
    location: SourceLocation(file: report.file, line: item.place.line ?? 1, column: 1))
  guard let word = fields.text("DomainAction", &report) else {
    report.dropped(item.place, "`DomainAction` is missing (ConnectIfNeeded or NeverConnect)", weight: .error)
    fields.finish(&report, reason: "its entry cannot be used")
    return nil
  }
  switch word.value {
  case "ConnectIfNeeded":
    rule.action = .connectIfNeeded
    report.taken(word.place, "connect-if-needed")
    if let servers = fields.texts("RequiredDNSServers", &report) {
      rule.servers = readAddresses(servers.values, at: servers.place, &report)
    }
    if let url = fields.text("RequiredURLStringProbe", &report) { applyProbe(url, to: &rule, &report) }
  case "NeverConnect":
    report.taken(word.place, "never-connect")
    fields.drop(
      ["RequiredDNSServers", "RequiredURLStringProbe"], reason: "without effect beside NeverConnect", weight: .warning, &report)
  default:
    let hint = nearWord(word.value, ["ConnectIfNeeded", "NeverConnect"]).map { "; did you mean `\($0)`?" } ?? ""
    report.dropped(word.place, "expected ConnectIfNeeded or NeverConnect\(hint)", weight: .error)
    fields.drop(["RequiredDNSServers", "RequiredURLStringProbe"], reason: "its entry cannot be used", &report)
  }
  fields.finish(&report, reason: "Apple's rules have no such key, so it never had an effect")
  guard !rule.domains.isEmpty else {
    if domains != nil { report.dropped(item.place, "no usable name is left in it", weight: .warning) }
    return nil
  }
  return rule
}

/// A probe that cannot succeed is how profiles say "always for these names". The policy language has a keyword for it.
private func applyProbe(_ url: (value: String, place: KeyPath), to rule: inout ConnectionRule, _ report: inout ImportReport) {
  switch readProbe(url.value) {
  case .probe(let probe, let note):
    rule.probe = probe
    if let note { report.changed(url.place, note) } else { report.taken(url.place) }
  case .neverAnswers(let reason):
    rule.action = .connectAlways
    report.changed(
      url.place, "connect-always: a probe that can never succeed (\(reason)) starts the tunnel on every look-up", weight: .warning)
  case .wrong(let reason): report.dropped(url.place, reason, weight: .error)
  }
}

func readAddresses(_ items: [Item], at place: KeyPath, _ report: inout ImportReport) -> [IPAddress] {
  let before = report.entries.count
  let addresses = items.compactMap { item -> IPAddress? in
    if let address = item.text.flatMap({ IPAddress(trimmed($0)) }) { return address }
    report.dropped(item.place, "this is no IP address", weight: .error)
    return nil
  }
  if report.entries.count == before { report.taken(place) }
  return addresses
}

/// Reads names of destinations: `x` and `*.x` are the name and all below it, `*` is every name.
func readDestinations(_ items: [Item], at place: KeyPath, _ report: inout ImportReport) -> [DomainPattern] {
  let texts = items.compactMap(\.text)
  // Apple's former engine compared the ends of texts, so a list of all letters was a way to say "everything".
  if texts.count >= 10, texts.allSatisfy({ $0.utf8.count == 1 && $0 != "*" }) {
    report.changed(place, "a list of single characters was a way to say every name: `*`", weight: .warning)
    return [.any]
  }
  let before = report.entries.count
  let patterns = items.compactMap { item in item.text.flatMap { destination($0, item.place, &report) } }
  if report.entries.count == before { report.taken(place) }
  return patterns
}

private func destination(_ text: String, _ place: KeyPath, _ report: inout ImportReport) -> DomainPattern? {
  if let address = IPAddress(text) {
    if address.family == .v4, let pattern = DomainPattern(text) {
      report.changed(place, "an address, which no look-up asks for; kept as a name", weight: .warning)
      return pattern
    }
    report.dropped(place, "an address, which no look-up asks for", weight: .warning)
    return nil
  }
  if text.hasPrefix("."), let pattern = DomainPattern(String(text.dropFirst())), pattern != .any {
    report.changed(place, "`.name` meant what is below the name; here the name itself is within", weight: .warning)
    return pattern
  }
  if let pattern = DomainPattern(text) { return pattern }
  report.dropped(place, "this is no domain name; names outside ASCII have to be in their `xn--` form", weight: .error)
  return nil
}
