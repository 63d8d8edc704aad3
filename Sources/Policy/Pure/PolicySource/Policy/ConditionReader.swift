import NetworkTypes
import RoamwardCore

/// A mapping of criteria, all of which have to match, in the order of the file. A criterion without a value is left out.
///
/// It is always `.all`, or `nil` if the node is not a mapping. The caller reports the criteria that were left out.
func readCondition(_ node: Node, of subject: String, _ reading: inout Reading) -> Condition? {
  criteria.read(node, as: subject, help: "for example: { interface: wifi, ssid: Home }", &reading).map { .all($0) }
}

/// Every key of a match. An empty key is ignored and noted.
let criteria: Mapping<[Condition]> = Mapping(
  subject: "a match", noun: "criteria", draft: [],
  keys: FactTable.keys.map { Key(declared: $0) } + [
    Key(criterion: "network", .networkReference, "The machine is on this named network.", example: "home") { .network($0) },
    Key(fact: "not", expects: "criteria", schema: .definition("match"), "Not all of these criteria match.", example: "{ ssid: Home }") {
      entry, reading in
      let before = reading.problems.errorCount
      guard case .all(let criteria)? = readCondition(entry.value, of: "`not`", &reading) else { return nil }
      if criteria.isEmpty, reading.problems.errorCount == before { reading.recordEmpty(entry) }
      return criteria.isEmpty ? nil : .not(.all(criteria))
    },
    Key(
      criterion: "any-of", .alternative, "One of these mappings of criteria matches.",
      example: "[ { ssid: Home }, { subnet: 192.168.7.0/24 } ]"
    ) {
      .any($0)
    },
  ])

/// Converts a key's value to a condition; `nil` if it is empty or wrong.
private typealias ConditionReader = @Sendable (Node.Entry, inout Reading) -> Condition?

/// Keys with a special syntax in policies.
private let ownForms: [String: (expected: String, schema: Schema, read: ConditionReader)] = [
  FactTable.ssidFile.name: ("a file", ValueReader.line.schema, readSSIDFile),
  FactTable.dnsServer.name: ("an address, a prefix, or a start such as 17.*, or a list of such", dnsServerSchema, readDNSServers),
  FactTable.probe.name: (
    "an http:// or https:// URL, or a mapping with `url`", .either(.definition("probe"), .nothing), single(.probe) { .probe($0) }
  ),
  FactTable.time.name: ("days and hours", timeKeys.schema, single(.timeWindow) { .time($0) }),
]

extension Key where Draft == [Condition] {
  /// A key of the fact table.
  fileprivate init(declared key: any AnyCriterionKey) {
    switch key.reading {
    case .list(let form, let make): self.init(criterion: key.name, .text(of: form), key.about, example: key.example, make)
    case .flag(let make):
      let reader = ValueReader<Bool>.boolean
      self.init(
        fact: key.name, expects: reader.expected, schema: .either(reader.schema, .nothing), key.about, example: key.example,
        single(reader, make))
    case .own:
      guard let form = ownForms[key.name] else { preconditionFailure("no reader of \(key.name)") }
      self.init(fact: key.name, expects: form.expected, schema: form.schema, key.about, example: key.example, form.read)
    }
  }

  fileprivate init(
    fact name: String, expects expected: String, schema: Schema, _ about: String, example: String,
    _ read: @escaping ConditionReader
  ) {
    self.init(name, expects: expected, schema: schema.orNull, about, example: example, judgesNull: true) { entry, criteria, reading in
      guard let condition = read(entry, &reading) else { return }
      criteria.append(condition)
    }
  }

  /// One value or a list.
  fileprivate init<Value>(
    criterion name: String, _ reader: ValueReader<Value>, _ about: String, example: String,
    _ make: @escaping @Sendable ([Value]) -> Condition
  ) {
    self.init(
      fact: name, expects: "\(reader.expected), or a list of such", schema: .oneOrMore(reader.schema), about, example: example,
      oneOrMore(reader, make))
  }
}

private func oneOrMore<Value>(_ reader: ValueReader<Value>, _ make: @escaping @Sendable ([Value]) -> Condition) -> ConditionReader {
  { entry, reading in
    let before = reading.problems.errorCount
    let values = ValueReader<[Value]>.oneOrMore(reader).read(entry.value, &reading) ?? []
    guard values.isEmpty else { return make(values) }
    if reading.problems.errorCount == before { reading.recordEmpty(entry) }
    return nil
  }
}

/// One value, not a list.
private func single<Value>(_ reader: ValueReader<Value>, _ make: @escaping @Sendable (Value) -> Condition) -> ConditionReader {
  { entry, reading in
    switch entry.value.content {
    case .null, .mapping([]): reading.recordEmpty(entry)
    default: return reader.read(entry.value, &reading).map(make)
    }
    return nil
  }
}

private func readSSIDFile(_ entry: Node.Entry, _ reading: inout Reading) -> Condition? {
  if case .null = entry.value.content {
    reading.recordEmpty(entry)
    return nil
  }
  guard let name = ValueReader.line.read(entry.value, &reading) else { return nil }
  let file = reading.surroundings?.ssidFile(named: name) ?? SSIDFile(path: name, contents: .unreadable(reason: "it was not looked for"))
  let isLeft = reading.surroundings?.unread.contains { $0.path == file.path } ?? false
  if case .unreadable(let reason) = file.contents, !isLeft {
    reading.warning(
      "\(file.path) cannot be used: \(reason)", help: "whether an SSID is on it stays unknown until it can be read",
      at: entry.value.location)
  }
  return .ssidFile(file)
}

/// The mapping in place of servers: one of them is enough.
let anyServerKeys = Mapping<Node.Entry?>(
  subject: "`dns-server`", draft: Node.Entry?.none,
  keys: [
    Key(
      "any", expects: "an address, a prefix, or a start such as 17.*, or a list of such",
      schema: Schema.oneOrMore(ValueReader<DNSServerPattern>.dnsServer.schema).orNull,
      "One of the link's name servers is in this list.", example: "[10.0.0.0/8]", judgesNull: true
    ) { entry, draft, _ in
      draft = entry
    }
  ])

private let dnsServerSchema = Schema.either(.oneOrMore(ValueReader<DNSServerPattern>.dnsServer.schema), anyServerKeys.schema)

/// A value or a list: each server of the link has to be in it. `{ any: … }`: one of them is enough.
private func readDNSServers(_ entry: Node.Entry, _ reading: inout Reading) -> Condition? {
  guard case .mapping = entry.value.content else { return oneOrMore(.dnsServer) { .dnsServer($0, .each) }(entry, &reading) }
  let before = reading.problems.errorCount
  guard let keys = anyServerKeys.read(entry.value, &reading) else { return nil }
  guard let any = keys else {
    if reading.problems.errorCount == before { reading.recordEmpty(entry) }
    return nil
  }
  return oneOrMore(.dnsServer) { .dnsServer($0, .any) }(any, &reading)
}

extension ValueReader where Value == Condition {
  /// An entry of `any-of`. An empty one always matches, and so does the whole list.
  fileprivate static let alternative = ValueReader(expected: "a mapping of criteria", schema: Schema.definition("match").orNull) {
    node, reading in
    let before = reading.problems.errorCount
    let condition = readCondition(node, of: "an entry of `any-of`", &reading)
    if condition == .always, reading.problems.errorCount == before {
      reading.warning("this entry of `any-of` always holds, and with it the whole list", help: "remove it", at: node.location)
    }
    return condition
  }
}

extension ValueReader where Value == String {
  /// The name of a network of any file; resolved after all files are read.
  static let networkReference = ValueReader(expected: "the name of a network", schema: ValueReader.networkName.schema) { node, reading in
    guard let name = ValueReader.networkName.read(node, &reading) else { return nil }
    reading.references.append(NetworkReference(name: name, location: node.location))
    return name
  }
}
