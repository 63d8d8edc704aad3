import NetworkTypes
import RoamwardCore

/// The criteria of one rule, in the order in which Apple checks them. `canHold` is false if one of them can never match.
func readCriteria(
  _ fields: inout Fields, dialect: RuleDialect, reading: RuleReading, _ report: inout ImportReport
) -> (criteria: [Condition], canHold: Bool) {
  var criteria: [Condition] = []
  var canHold = true
  /// Adds the usable rest of a list. If it is empty, the criterion fails on every network.
  func add<Value>(_ list: ReadList<Value>?, _ make: ([Value]) -> Condition) {
    guard let list, !list.isEmptyInFile else { return }
    if list.values.isEmpty { canHold = false } else { criteria.append(make(list.values)) }
  }
  if let word = fields.text("InterfaceTypeMatch", &report), let type = interfaceType(word, &report) { criteria.append(.interface([type])) }
  add(readList("SSIDMatch", &fields, &report, readSSID)) { .ssid($0) }
  add(readList("DNSDomainMatch", &fields, &report, readSearchDomain)) { .dnsDomain(DomainList($0)) }
  let servers = readList("DNSServerAddressMatch", &fields, tellsTaken: false, &report, readServers)
  add(servers.map { ReadList(values: $0.values.flatMap { $0 }, isEmptyInFile: $0.isEmptyInFile, place: $0.place) }) {
    .dnsServer($0, reading.anyDNSServer ? .any : .each)
  }
  if let servers, !servers.isEmptyInFile {
    report.changed(
      servers.place,
      reading.anyDNSServer
        ? "holds if ANY of the network's servers is listed, as asked: a hostile network can list one beside its own"
        : "holds if EACH of the network's servers is listed, and there is one. Apple's texts disagree (each, or any); the readings differ where a network has more than one server (--any-dns-server: the other)"
    )
  }
  if let url = fields.text("URLStringProbe", &report) {
    switch readProbe(url.value) {
    case .probe(let probe, let note):
      criteria.append(.probe(probe))
      let words = "the GET has to be answered with 200, as on Apple; within 5 s, not 30"
      if let note { report.changed(url.place, "\(note); \(words)") } else { report.taken(url.place, words) }
    case .neverAnswers(let reason):
      report.dropped(url.place, "the probe can never succeed (\(reason)), so the rule never holds", weight: .warning)
      canHold = false
    case .wrong(let reason): report.dropped(url.place, reason, weight: .error)
    }
  }
  return (criteria, canHold)
}

private func interfaceType(_ word: (value: String, place: KeyPath), _ report: inout ImportReport) -> InterfaceType? {
  let types: [(String, InterfaceType)] = [("Ethernet", .ethernet), ("WiFi", .wifi), ("Cellular", .cellular)]
  if let type = types.first(where: { $0.0 == word.value })?.1 {
    report.taken(word.place, "interface: \(type.rawValue)")
    return type
  }
  let hint =
    word.value.isEmpty
    ? "it is empty, which is not the same as any: leave the key out for that"
    : "expected Ethernet, WiFi or Cellular" + (nearWord(word.value, types.map(\.0)).map { "; did you mean `\($0)`?" } ?? "")
  report.dropped(word.place, hint, weight: .error)
  return nil
}

private struct ReadList<Value> {
  var values: [Value]
  var isEmptyInFile: Bool
  var place: KeyPath
}

/// Reads a list of texts and reports each that is left out. A list that is empty in the file counts as absent.
private func readList<Value>(
  _ key: String, _ fields: inout Fields, tellsTaken: Bool = true, _ report: inout ImportReport,
  _ read: (Item, String, inout ImportReport) -> Value?
) -> ReadList<Value>? {
  guard let list = fields.texts(key, &report) else { return nil }
  if list.values.isEmpty {
    report.changed(list.place, "empty, and so read as absent; a former rule engine of Apple's would never match it", weight: .warning)
    return ReadList(values: [], isEmptyInFile: true, place: list.place)
  }
  let before = report.entries.count
  let values = list.values.compactMap { item in item.text.flatMap { read(item, $0, &report) } }
  if tellsTaken, report.entries.count == before { report.taken(list.place) }
  return ReadList(values: values, isEmptyInFile: false, place: list.place)
}

private func readSSID(_ item: Item, _ text: String, _ report: inout ImportReport) -> SSID? {
  guard let ssid = SSID(bytes: Array(text.utf8)) else {
    report.dropped(item.place, "an SSID has 1 to 32 bytes, so this one never matches", weight: .warning)
    return nil
  }
  if ["anyssid", "any", "all"].contains(text.lowercased()) || text.contains("*") {
    report.changed(
      item.place, "SSIDs are compared letter by letter: this is no wildcard, and stands for a network of just that name", weight: .warning)
  }
  return ssid
}

private func readSearchDomain(_ item: Item, _ text: String, _ report: inout ImportReport) -> DomainPattern? {
  guard let pattern = DomainPattern(text) ?? (text.hasPrefix(".") ? DomainPattern(String(text.dropFirst())) : nil) else {
    report.dropped(item.place, "this is no domain name; names outside ASCII have to be in their `xn--` form", weight: .error)
    return nil
  }
  if text.hasPrefix(".") { report.changed(item.place, "read as the name itself and all below it", weight: .warning) }
  return pattern
}

private func readServers(_ item: Item, _ text: String, _ report: inout ImportReport) -> [DNSServerPattern]? {
  guard let patterns = serverPatterns(text), !patterns.isEmpty else {
    report.dropped(item.place, "this is no address, and no start of one with a `*` at its end, so it never matches", weight: .warning)
    return nil
  }
  if patterns.count > 1 || text.hasSuffix(":*") || text == "*" {
    report.changed(item.place, "Apple compares as text; written out as \(patterns.count == 1 ? "a prefix" : "\(patterns.count) prefixes")")
  }
  return patterns
}

/// Converts Apple's textual wildcard to prefixes. `10.1*` is 10.1, 10.10 to 10.19 and 10.100 to 10.199.
func serverPatterns(_ text: String) -> [DNSServerPattern]? {
  guard text.hasSuffix("*") else { return text.contains("/") ? nil : DNSServerPattern(text).map { [$0] } }
  if text.hasSuffix(".*"), let pattern = DNSServerPattern(text) { return [pattern] }
  let start = String(text.dropLast())
  if start.isEmpty { return ["0.0.0.0/0", "::/0"].compactMap { DNSServerPattern($0) } }
  if start.contains(":") {
    let groups = start.dropLast().split(separator: ":", omittingEmptySubsequences: false)
    guard start.hasSuffix(":"), (1...7).contains(groups.count), groups.allSatisfy({ !$0.isEmpty }) else { return nil }
    return DNSServerPattern("\(groups.joined(separator: ":"))::/\(16 * groups.count)").map { [$0] }
  }
  var octets = start.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
  guard let last = octets.popLast(), octets.count <= 3, (1...3).contains(last.utf8.count), last.utf8.allSatisfy({ (48...57).contains($0) }),
    octets.allSatisfy({ octet in UInt8(octet).map { String($0) == octet } == true })
  else { return nil }
  let head = octets.isEmpty ? "" : octets.joined(separator: ".") + "."
  return (0...255).map(String.init).filter { $0.hasPrefix(last) }.compactMap {
    DNSServerPattern(octets.count == 3 ? "\(head)\($0)" : "\(head)\($0).*")
  }
}
