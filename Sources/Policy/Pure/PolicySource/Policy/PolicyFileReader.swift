internal import JSON
import RoamwardCore

/// One policy file, before the files are merged. Copies share what was parsed.
struct PolicyFile: Sendable {
  let parsed: ParsedPolicy
  /// The problems of the file itself; the merge adds those across files.
  var problems: DiagnosticList
  private var openedText: SourceText?

  init(_ parsed: ParsedPolicy, problems: DiagnosticList) {
    self.parsed = parsed
    self.problems = problems
  }

  /// The text, for messages about the file. It is opened at the first use, because a file that is kept for the next load may contain a key.
  var source: SourceText {
    mutating get {
      if let openedText { return openedText }
      let text = SourceText(policy: parsed.contents.path, parsed.contents.bytes)
      openedText = text
      return text
    }
  }
}

/// The parsed contents of one policy file.
final class ParsedPolicy: Sendable {
  /// The file's path and bytes, and the files that it names.
  let contents: ReadFile
  let draft: PolicyDraft
  let references: [NetworkReference]
  /// The accesses to the named files, and the results.
  let surroundings: Surroundings?
  /// The file contains no document: it only masks others of its name.
  let isEmpty: Bool

  init(_ contents: ReadFile, _ draft: PolicyDraft, references: [NetworkReference] = [], surroundings: Surroundings?, isEmpty: Bool) {
    self.contents = contents
    self.draft = draft
    self.references = references
    self.surroundings = surroundings
    self.isEmpty = isEmpty
  }

  /// Absolute paths of the files that it names.
  var dependencies: [String] { surroundings?.dependencies ?? [] }
  /// The named files that could be read.
  var others: [ReadFile] { surroundings?.read ?? [] }
  /// The problems of the named files.
  var otherDiagnostics: [Diagnostic] { surroundings?.diagnostics ?? [] }
  /// The programs and secrets that it names.
  var named: [NamedFile] { surroundings?.named ?? [] }
  /// The named files that this user may not look at.
  var unread: [UnreadFile] { surroundings?.unread ?? [] }
  /// The accesses to the named files.
  var inputs: [FileInput] { surroundings?.inputs ?? [] }
}

extension SourceText {
  /// The text of a policy file, without the values of secrets.
  package init(policy path: String, _ bytes: [UInt8]) { self.init(file: path, bytes: bytes, masking: maskSecrets, reach: 1000) }
}

/// Reads a policy file.
func readPolicyFile(_ path: String, bytes: [UInt8], surroundings: Surroundings?) -> PolicyFile {
  let source = SourceText(policy: path, bytes)
  let (root, problems) = readYAML(source)
  let isNull = if case .null? = root?.content { true } else { false }
  guard let root, !isNull else {
    let isEmpty = isNull || !problems.hasErrors
    let parsed = ParsedPolicy(ReadFile(path: path, bytes: bytes), PolicyDraft(), surroundings: nil, isEmpty: isEmpty)
    return PolicyFile(parsed, problems: problems)
  }
  var reading = Reading(source, problems: problems, surroundings: surroundings)
  let policy = isKnownVersion(root, &reading) ? policyKeys.read(root, &reading) : nil
  let contents = ReadFile(path: path, bytes: bytes, names: reading.surroundings?.dependencies ?? [])
  let parsed = ParsedPolicy(
    contents, policy ?? PolicyDraft(), references: reading.references, surroundings: reading.surroundings, isEmpty: false)
  return PolicyFile(parsed, problems: reading.problems)
}

/// The keys of a policy file.
struct PolicyDraft: Sendable {
  var networks: [NamedNetwork] = []
  /// The empty criteria of each network, by its name.
  var emptyCriteria: [String: [EmptyCriterion]] = [:]
  var tunnels: [TunnelPolicy] = []
  var groups: [TunnelGroup] = []
  /// `nil`: the file has no `history`.
  var history: HistorySettings?
}

let policyKeys = Mapping(
  subject: "a policy", draft: PolicyDraft(),
  keys: [
    versionKey(),
    Key(
      "networks", expects: "networks by name", schema: .named(SchemaPattern.networkName, Schema.definition("match").orNull),
      "Named networks, for the rules of all files.",
      example: "{ home: { ssid: Home, gateway-mac: 02:00:5e:10:00:01 } }"
    ) { entry, draft, reading in
      for entry in entries(of: entry, "networks by name", &reading) {
        if let network = readNetwork(entry, &reading) { draft.networks.append(network) }
        let empty = reading.takeEmptyCriteria()
        if !empty.isEmpty { draft.emptyCriteria[entry.key, default: []] += empty }
      }
    },
    Key(
      "tunnels", expects: "tunnels by name", schema: .named(SchemaPattern.tunnelName, .definition("tunnel")), "Tunnels by name.",
      example: "{ lab: { provider: { command: { up: [/u], down: [/d] } } } }"
    ) { entry, draft, reading in
      for entry in entries(of: entry, "tunnels by name", &reading) {
        if let tunnel = readTunnel(entry, &reading) { draft.tunnels.append(tunnel) }
      }
    },
    Key(
      "groups", expects: "groups by name", schema: .named(SchemaPattern.tunnelName, tunnelGroupKeys.schema),
      "Groups of tunnels, of each of which one is in use at a time.", example: "{ work: { one-of: [paris, lyon] } }"
    ) { entry, draft, reading in
      for entry in entries(of: entry, "groups by name", &reading) {
        if let group = readGroup(entry, &reading) { draft.groups.append(group) }
      }
    },
    Key(
      "history", expects: "the keys of `history`", schema: historyKeys.schema,
      "The agent's record of networks, decisions and states, for `roamward history`; one file of all may have it.",
      example: "{ age: 7d, names: hashed }"
    ) { entry, draft, reading in
      guard var settings = historyKeys.read(entry.value, &reading) else { return }
      settings.location = entry.keyLocation
      draft.history = settings
    },
  ])

private func readNetwork(_ entry: Node.Entry, _ reading: inout Reading) -> NamedNetwork? {
  guard isNetworkName(entry.key) else {
    reading.error(
      "\(quoted(entry.key)) cannot be the name of a network", help: "use 1 to 64 characters on one line", at: entry.keyLocation)
    return nil
  }
  let before = reading.problems.errorCount
  guard let condition = readCondition(entry.value, of: "a network", &reading) else { return nil }
  if condition == .always, reading.problems.errorCount == before {
    let what = "network `\(entry.key)` says nothing"
    reading.emptyCriteria.append(EmptyCriterion(what: what, thus: "holds everywhere", location: entry.keyLocation))
  }
  return NamedNetwork(name: entry.key, condition: condition, location: entry.keyLocation)
}

/// The version. `isKnownVersion` checks it before anything else is read.
package func versionKey<Draft>() -> Key<Draft> {
  Key("version", expects: "1", schema: Schema(["enum": [1, "1"]]), "The version of the language.", example: "1", judgesNull: true) {
    _, _, _ in
  }
}

/// False, and reported, if the version is missing or unknown: nothing else can be checked then.
package func isKnownVersion(_ root: Node, _ reading: inout Reading) -> Bool {
  switch root.content {
  case .scalar, .sequence, .refused: return true
  case .null: break
  case .mapping(let entries):
    guard let entry = entries.first(where: { $0.key == "version" }) else { break }
    if case .scalar("1", _) = entry.value.content { return true }
    reading.expected("a version that is known, which is 1 alone", at: entry.value, help: "write `version: 1`")
    return false
  }
  reading.error("`version` is missing", help: "begin the file with `version: 1`", at: root.location)
  return false
}

/// The entries of a mapping whose keys are names; none if it is empty.
package func entries(of entry: Node.Entry, _ what: String, _ reading: inout Reading) -> [Node.Entry] {
  switch entry.value.content {
  case .mapping(let entries): return entries
  case .null: return []
  case .scalar, .sequence, .refused:
    var help: String?
    if case .scalar(let text, isPlain: true) = entry.value.content, !text.contains(where: \.isWhitespace) { help = "write `\(text):`" }
    reading.expected(what, at: entry.value, help: help)
    return []
  }
}
