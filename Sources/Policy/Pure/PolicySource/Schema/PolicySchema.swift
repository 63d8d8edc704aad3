package import JSON
internal import NetworkTypes

/// The JSON Schema (draft 7) of policy files, for editors: derived from the declarations of the reader.
package func policySchema() -> String {
  let definitions: [(name: String, schema: Schema)] = [
    ("match", criteria.schema), ("probe", ValueReader.probe.schema), ("rule", ruleKeys.schema), ("tunnel", tunnelKeys.schema),
    ("address", .string(pattern: SchemaPattern.address)), ("prefix", .string(pattern: SchemaPattern.prefix)),
    ("destination", .string(pattern: SchemaPattern.destination)), ("url", .string(pattern: SchemaPattern.webAddress)),
  ]
  guard case .object(var policy) = policyKeys.schema.value else { return "" }
  // An empty file masks others of its name.
  if let place = policy.firstIndex(where: { $0.key == "type" }) { policy[place].value = ["object", "null"] }
  let head: [JSON.Member] = [
    .init(key: "$schema", value: "http://json-schema.org/draft-07/schema#"), .init(key: "title", value: "Roamward policy"),
  ]
  let required = JSON.Member(key: "required", value: ["version"])
  let tail = JSON.Member(key: "definitions", value: .object(definitions.map { .init(key: $0.name, value: $0.schema.value) }))
  return JSON.object(head + policy + [required, tail]).text(indented: true) + "\n"
}

/// The definitions of addresses and prefixes, to which readers of such values refer.
package func sharedDefinitions() -> JSON {
  .object([
    .init(key: "address", value: Schema.string(pattern: SchemaPattern.address).value),
    .init(key: "prefix", value: Schema.string(pattern: SchemaPattern.prefix).value),
  ])
}

/// The keys of one mapping, for documentation and tests.
struct KeyTable: Sendable {
  let subject: String
  let keys: [KeyDeclaration]
  /// Reads a text as this mapping.
  let read: @Sendable (String, Surroundings?) -> [Diagnostic]

  init<Draft>(_ mapping: Mapping<Draft>) {
    subject = mapping.subject
    keys = mapping.declarations
    read = { text, surroundings in
      let source = SourceText(file: mapping.subject, bytes: Array(text.utf8))
      let (root, problems) = readYAML(source)
      var reading = Reading(source, problems: problems, surroundings: surroundings)
      if let root { _ = mapping.read(root, &reading) }
      return reading.problems.sorted
    }
  }

  /// The keys as a table of Markdown, for a reference.
  var markdown: String {
    func cell(_ text: String) -> String { text.replacing("|", with: "\\|") }
    func capitalized(_ text: String) -> String { text.prefix(1).uppercased() + text.dropFirst() }
    let rows = keys.map { key -> String in
      let about = capitalized(key.about)
      let standard = key.standard.map { "`\($0)`" } ?? (key.missing == nil && key.name != "version" ? "" : "required")
      return "| `\(key.name)` | \(cell(about)) | \(cell(key.expected)) | \(standard) | `\(cell(key.example))` |\n"
    }
    return "| key | meaning | value | default | example |\n|---|---|---|---|---|\n" + rows.joined()
  }

  /// Every mapping of a policy.
  static let policy = [
    KeyTable(policyKeys), KeyTable(historyKeys), KeyTable(tunnelKeys), KeyTable(tunnelGroupKeys), KeyTable(providerKeys),
    KeyTable(wireGuardKeys),
    KeyTable(commandKeys),
    KeyTable(installedKeys), KeyTable(allowanceKeys), KeyTable(signInKeys), KeyTable(unitKeys), KeyTable(profileKeys),
    KeyTable(tailscaleKeys),
    KeyTable(onDemandKeys), KeyTable(ruleKeys), KeyTable(criteria), KeyTable(anyServerKeys), KeyTable(probeKeys), KeyTable(timeKeys),
    KeyTable(connectionKeys), KeyTable(timingKeys), KeyTable(routeKeys), KeyTable(appsKeys), KeyTable(dnsKeys), KeyTable(proxyKeys),
  ]
  /// Every mapping of a snapshot.
  static let snapshot = [KeyTable(snapshotKeys), KeyTable(linkKeys)]
}
