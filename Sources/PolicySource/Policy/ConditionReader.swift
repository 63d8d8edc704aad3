import NetworkTypes
import RoamwardCore

/// What belongs to the language of conditions, but not yet to this version.
private let plannedKeys = [
  "probe", "captive-portal", "internet", "metered", "bssid", "ssid-glob", "wifi-security", "gateway-mac", "time", "power",
]

/// A mapping of criteria, all of which have to hold; in the order of the file. A criterion without a value is left out, with a warning.
///
/// Always `.all`, or `nil` where the node is no mapping.
func readCondition(_ node: Node, of subject: String, _ reading: inout Reading) -> Condition? {
  switch node.content {
  case .mapping(let entries):
    return .all(entries.compactMap { readCriterion($0, in: subject, &reading) })
  case .null: return .always
  case .scalar, .sequence, .refused:
    reading.expected("the criteria of \(subject)", at: node, help: "for example: { interface: wifi, ssid: Home }")
    return nil
  }
}

private func readCriterion(_ entry: Node.Entry, in subject: String, _ reading: inout Reading) -> Condition? {
  guard let criterion = criteria.first(where: { $0.key == entry.key }) else {
    reportUnknown(entry, in: subject, known: criteria.map(\.key), planned: plannedKeys, &reading)
    return nil
  }
  return criterion.read(entry, &reading)
}

/// A key of a match, and how its value becomes a condition: `nil` where it says nothing, or something wrong.
private struct Criterion: Sendable {
  let key: String
  let read: @Sendable (Node.Entry, inout Reading) -> Condition?
}

extension Criterion {
  /// One value or a list of them.
  init<Value>(_ key: String, _ reader: ValueReader<Value>, _ make: @escaping @Sendable ([Value]) -> Condition) {
    self.init(key: key) { entry, reading in
      let before = reading.problems.errorCount
      let values = ValueReader<[Value]>.oneOrMore(reader).read(entry.value, &reading) ?? []
      guard values.isEmpty else { return make(values) }
      if reading.problems.errorCount == before { warnOfEmpty(entry, &reading) }
      return nil
    }
  }
}

/// Every key of a match.
private let criteria: [Criterion] = [
  Criterion("interface", .word()) { .interface($0) },
  Criterion("interface-name", .interfaceGlob) { .interfaceName($0) },
  Criterion("ssid", .ssid) { .ssid($0) },
  Criterion(key: "ssid-file") { entry, reading in
    if case .null = entry.value.content {
      warnOfEmpty(entry, &reading)
      return nil
    }
    guard let name = ValueReader.line.read(entry.value, &reading) else { return nil }
    let file = reading.surroundings?.ssidFile(named: name) ?? SSIDFile(path: name, contents: .unreadable(because: "it was not looked for"))
    if case .unreadable(let reason) = file.contents {
      reading.warning(
        "\(file.path) cannot be used: \(reason)", help: "whether an SSID is on it stays unknown until it can be read",
        at: entry.value.location)
    }
    return .ssidFile(file)
  },
  Criterion("dns-domain", .domainPattern) { .dnsDomain($0) },
  Criterion(key: "dns-server", read: readDNSServers),
  Criterion("subnet", .prefix) { .subnet($0) },
  Criterion("gateway", .address) { .gateway($0) },
  Criterion("network", .networkReference) { .network($0) },
  Criterion(key: "not") { entry, reading in
    let before = reading.problems.errorCount
    guard case .all(let criteria)? = readCondition(entry.value, of: "`not`", &reading) else { return nil }
    if criteria.isEmpty, reading.problems.errorCount == before { warnOfEmpty(entry, &reading) }
    return criteria.isEmpty ? nil : .not(.all(criteria))
  },
  Criterion("any-of", .alternative) { .any($0) },
]

private func warnOfEmpty(_ entry: Node.Entry, _ reading: inout Reading) {
  reading.warning(
    "`\(entry.key)` is empty and so is not considered", help: "remove it, or say what it is to be compared with", at: entry.keyLocation)
}

/// A value or a list: each server of the link has to be listed. `{ any: … }`: one of them is enough.
private func readDNSServers(_ entry: Node.Entry, _ reading: inout Reading) -> Condition? {
  guard case .mapping = entry.value.content else {
    return Criterion("dns-server", .dnsServer) { .dnsServer($0, .each) }.read(entry, &reading)
  }
  let before = reading.problems.errorCount
  guard var fields = Fields(entry.value, of: "`dns-server`", &reading) else { return nil }
  let any = fields.take("any")
  fields.finish(&reading)
  guard let any else {
    if reading.problems.errorCount == before { warnOfEmpty(entry, &reading) }
    return nil
  }
  return Criterion("dns-server", .dnsServer) { .dnsServer($0, .any) }.read(any, &reading)
}

extension ValueReader where Value == Condition {
  /// An entry of `any-of`. One that says nothing always holds, and with it the whole list.
  fileprivate static let alternative = ValueReader(expected: "a mapping of criteria") { node, reading in
    let before = reading.problems.errorCount
    let condition = readCondition(node, of: "an entry of `any-of`", &reading)
    if condition == .always, reading.problems.errorCount == before {
      reading.warning("this entry of `any-of` always holds, and with it the whole list", help: "remove it", at: node.location)
    }
    return condition
  }
}

extension ValueReader where Value == String {
  /// The name of a network of any file; looked up when all are read.
  fileprivate static let networkReference = ValueReader(expected: "the name of a network") { node, reading in
    guard let name = ValueReader.networkName.read(node, &reading) else { return nil }
    reading.references.append(NetworkReference(name: name, location: node.location))
    return name
  }
}
