internal import JSON
import NetworkTypes
package import RoamwardCore

/// Reads a saved snapshot, in the format of `roamward network --json`. `nil` if there are errors. Facts that are not given are known to be
/// absent, except the time, which is unknown.
package func readSnapshot(text: [UInt8], file: String) -> (snapshot: NetworkSnapshot?, diagnostics: [Diagnostic]) {
  let source = SourceText(file: file, bytes: text)
  let (root, problems) = readYAML(source)
  var reading = Reading(source, problems: problems)
  if root == nil, !problems.hasErrors { reading.error("a snapshot begins with `version: 1`, but there is nothing here", at: source.start) }
  let snapshot = root.flatMap { isKnownVersion($0, &reading) ? readSnapshot($0, &reading) : nil }
  return (reading.problems.hasErrors ? nil : snapshot, reading.problems.sorted)
}

/// A snapshot inside another file, which has the version.
func readSnapshot(_ root: Node, _ reading: inout Reading) -> NetworkSnapshot? {
  guard let draft = snapshotKeys.read(root, &reading) else { return nil }
  var snapshot = draft.rest
  snapshot.links = draft.links.sorted { $0.name < $1.name }
  snapshot.primary = readPrimary(draft.primary, of: draft.links, in: root, &reading)
  return snapshot
}

/// The partly read keys of a snapshot.
struct SnapshotDraft {
  var primary: Node.Entry?
  var links: [LinkFacts] = []
  var rest = NetworkSnapshot()
}

private let notSaid = "the snapshot says so"
private let noSource = "no source can give it, the snapshot says"

/// A fact in a snapshot file.
enum WrittenFact: Hashable, Sendable {
  case known(FactValue)
  /// A source may still give it.
  case unknown
  /// No source of the host can give it.
  case unavailable
}

extension Key where Draft == SnapshotDraft {
  /// A fact of the machine.
  fileprivate init(machine fact: FactDeclaration) {
    self.init(fact.key, .fact(.known(fact)), fact.about, standard: fact.standard, example: fact.example) { draft, value in
      guard case .machine(let access) = fact.place else { return }
      switch value {
      case .known(let value): _ = access.set(&draft.rest, value)
      case .unknown: access.makeUnknown(&draft.rest, notSaid)
      case .unavailable:
        access.makeUnknown(&draft.rest, noSource)
        if let kind = fact.kind { draft.rest.unavailable.insert(kind) }
      }
    }
  }
}

extension Key where Draft == LinkDraft {
  /// A fact of a link.
  fileprivate init(link fact: FactDeclaration) {
    self.init(fact.key, .known(fact), fact.about, standard: fact.standard, example: fact.example) { draft, value in
      if case .link(let access) = fact.place { _ = access.set(&draft.facts, value) }
      if fact.kind == .type { draft.isTypeSaid = true }
    }
  }
}

let snapshotKeys = Mapping(
  subject: "a snapshot", draft: SnapshotDraft(),
  keys: firstSnapshotKeys + FactTable.ofNetwork.map { Key(machine: $0) } + probeAnswerKeys + FactTable.ofHost.map { Key(machine: $0) } + [
    Key(
      "facts", expects: "where facts come from", schema: Schema([:]), "The source of each fact. Ignored.", example: "{}"
    ) { _, _, _ in }
  ])

private let firstSnapshotKeys: [Key<SnapshotDraft>] = [
  versionKey(),
  Key(
    "primary", expects: "the name of a link, or none", schema: Schema.anyText.orNull,
    "The link of the best default route; `none` or null: no network.", example: "wlan0", judgesNull: true
  ) {
    entry, draft, _ in draft.primary = entry
  },
  Key(
    "links", expects: "links by name", schema: .named(linkKeys.schema), "Links by name.", example: "{ wlan0: { type: wifi, ssid: Cafe } }"
  ) {
    entry, draft, reading in
    draft.links = entries(of: entry, "links by name", &reading).compactMap { readLink($0, &reading) }
  },
]

/// The results of probes.
private let probeAnswerKeys: [Key<SnapshotDraft>] = [
  Key(
    "probes", expects: "ok, fail or unknown, by URL", schema: .named(.words(["ok", "fail", "unknown"])),
    "Results of probes, by URL; options that distinguish probes follow the URL: `status=204`, `timeout=2000ms`, `pin=…`.",
    example: "{ \"https://beacon.corp.example/\": fail }"
  ) { entry, draft, reading in
    for entry in entries(of: entry, "probes by URL", &reading) {
      let fact = ValueReader.answer.read(entry.value, &reading)
      if let name = readProbeName(entry, &reading), let fact { draft.rest.probes[name] = fact }
    }
  },
  Key("other-probes", .answer, "The result of all other probes.", standard: "fail", example: "unknown") { $0.rest.otherProbes = $1 },
  Key(
    "remembered-probes", expects: "ok or fail, by URL", schema: .named(.words(["ok", "fail"])),
    "Results of probes during the last visit to this network, by URL; they may connect a tunnel, but never disconnect one.",
    example: "{ \"https://beacon.corp.example/\": fail }"
  ) { entry, draft, reading in
    for entry in entries(of: entry, "probes by URL", &reading) {
      let answer = ValueReader.pastAnswer.read(entry.value, &reading)
      if let name = readProbeName(entry, &reading), let answer { draft.rest.rememberedProbes[name] = answer }
    }
  },
  Key("captive-portal-api", .webAddress, "The API of the network's captive portal (RFC 8908).", example: "https://portal.example/api") {
    $0.rest.portalAPI = $1
  },
]

extension ValueReader {
  /// A value, `unknown` or `unavailable`.
  fileprivate static func fact(_ known: ValueReader<FactValue>) -> ValueReader where Value == WrittenFact {
    ValueReader(
      expected: "\(known.expected), unknown or unavailable", schema: .either(known.schema, .words(["unknown", "unavailable"]))
    ) { node, reading in
      switch node.content {
      case .scalar("unknown", _): .unknown
      case .scalar("unavailable", _): .unavailable
      default: known.read(node, &reading).map { .known($0) }
      }
    }
  }
}

extension ValueReader where Value == Fact<Bool> {
  fileprivate static let answer = ValueReader("ok, fail or unknown", schema: .words(["ok", "fail", "unknown"])) { parseAnswer($0, notSaid) }
}

extension ValueReader where Value == Bool {
  fileprivate static let pastAnswer = ValueReader("ok or fail", schema: .words(["ok", "fail"])) { parseAnswer($0, notSaid)?.value }
}

/// A URL, and the options that distinguish its probes.
private func readProbeName(_ entry: Node.Entry, _ reading: inout Reading) -> String? {
  let words = entry.key.split(separator: " ", maxSplits: 1)
  guard let first = words.first, let url = webAddress(String(first)) else {
    reading.error("expected an http:// or https:// URL with a host", help: "write it as the policy does", at: entry.keyLocation)
    return nil
  }
  return words.count == 1 ? url : "\(url) \(words[1])"
}

/// `ok`, `fail` or `unknown`.
func parseAnswer(_ text: String, _ reason: String) -> Fact<Bool>? {
  switch text {
  case "ok": .known(true)
  case "fail": .known(false)
  case "unknown": .unknown(reason: reason)
  default: nil
  }
}

extension ValueReader where Value == LocalTime {
  static let localTime = ValueReader(
    "a day and a time, such as mon 09:30",
    schema: .string(pattern: "^(mon|tue|wed|thu|fri|sat|sun) ([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$")
  ) { LocalTime($0) }
}

/// The named link; without the key, the only link. `null` and `none` mean no network.
private func readPrimary(_ entry: Node.Entry?, of links: [LinkFacts], in root: Node, _ reading: inout Reading) -> String? {
  guard let entry else {
    if links.count > 1 {
      reading.error(
        "`primary` is missing, and there are several links", help: "name one of them, or say `primary: none`", at: root.location)
    }
    return links.first?.name
  }
  switch entry.value.content {
  case .null, .scalar("null", isPlain: true): return nil
  case .scalar(let name, let isPlain):
    if links.contains(where: { $0.name == name }) { return name }
    if isPlain, name == "none" { return nil }
    reading.error(
      "there is no link \(quoted(name))", help: "the links are: \(links.map(\.name).joined(separator: ", "))", at: entry.value.location)
  case .sequence, .mapping, .refused: reading.expected("the name of a link, or none", at: entry.value)
  }
  return nil
}

private func readLink(_ entry: Node.Entry, _ reading: inout Reading) -> LinkFacts? {
  guard InterfaceName(entry.key) != nil else {
    reading.error("\(quoted(entry.key)) cannot be the name of a link", help: "use 1 to 15 characters", at: entry.keyLocation)
    return nil
  }
  guard var draft = linkKeys.read(entry.value, &reading) else { return nil }
  for kind in draft.unknown { draft.facts.makeUnknown(kind, reason: notSaid) }
  for kind in draft.unavailable { draft.facts.makeUnknown(kind, reason: noSource) }
  draft.facts.unavailable = Set(draft.unavailable)
  if !draft.isTypeSaid { draft.facts.becomeWiFiIfRadioIsSaid() }
  draft.facts.name = entry.key
  return draft.facts
}

/// The partly read keys of a link.
struct LinkDraft {
  var facts = LinkFacts(name: "")
  var isTypeSaid = false
  var unknown: [FactKind] = []
  var unavailable: [FactKind] = []
}

let linkKeys = Mapping(
  subject: "a link", draft: LinkDraft(),
  keys: FactTable.ofLinks.map { Key(link: $0) } + [
    Key("mtu", .number(68...65536), "The MTU in bytes.", standard: "1500", example: "1492") { $0.facts.mtu = $1 },
    Key(
      "unknown", .oneOrMore(.word(of: FactTable.ofLinks.compactMap(\.kind?.rawValue))),
      "Keys with unknown values, even if a value is given.", example: "[ssid, gateway-mac]"
    ) {
      $0.unknown = $1.compactMap { FactKind(rawValue: $0) }
    },
    Key(
      "unavailable", .oneOrMore(.word(of: FactTable.ofLinks.compactMap(\.kind?.rawValue))),
      "Keys with values that are unknown and that no source of the host can give: decisions do not wait for them.", example: "[metered]"
    ) {
      $0.unavailable = $1.compactMap { FactKind(rawValue: $0) }
    },
  ])

extension LinkFacts {
  /// A link with only facts of a radio becomes Wi-Fi: rules match an SSID on no other link type.
  mutating func becomeWiFiIfRadioIsSaid() {
    if type == .known(.other), FactTable.ofRadio.contains(where: { $0.value(self) != .known(.absent) }) { type = .known(.wifi) }
  }
}
