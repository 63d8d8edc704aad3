internal import JSON
import NetworkTypes
import PolicyFiles
import RoamwardCore

/// The partly read keys of `installed`.
struct InstalledDraft {
  var name: (text: String, place: SourceLocation)?
  var options: Node?
  var startOptions: (names: [String], place: SourceLocation)?
  var credentials: [ProviderCredential] = []
  var allowance = SettingsAllowance.everything
  var signIn: (hosts: [Endpoint], place: SourceLocation)?
  var insecure: SourceLocation?
}

let installedKeys = Mapping(
  subject: "the `installed` provider", draft: InstalledDraft(),
  keys: [
    Key(
      "name", expects: "the name of an installed provider, or the path of its manifest", schema: ValueReader.line.schema,
      "The name of an installed provider; with a slash, the path of its manifest.", example: "plain-udp",
      missing: "name an installed provider: `name: plain-udp`"
    ) { entry, draft, reading in
      draft.name = ValueReader.line.read(entry.value, &reading).map { ($0, entry.value.location) }
    },
    Key(
      "options", expects: "the options that the provider's manifest declares", schema: Schema(["type": "object"]),
      "The tunnel's options, by the schema in the provider's manifest.", example: "{ server: \"vpn.example:9999\" }"
    ) { entry, draft, _ in draft.options = entry.value },
    Key(
      "start-options", expects: "names of options", schema: ValueReader.oneOrMore(.line).schema,
      "The options that every user who may connect the tunnel may set for one start; `password` is the credential of that name.",
      example: "[username, password]"
    ) { entry, draft, reading in
      draft.startOptions = ValueReader.oneOrMore(.line).read(entry.value, &reading).map { ($0, entry.value.location) }
    },
    Key(
      "credentials", expects: "names of credentials and their files",
      schema: .named(SchemaPattern.credential, ValueReader.line.schema),
      "Files with secrets, by the names under which the provider gets them; a relative path starts at the policy's folder.",
      example: "{ password: corp.password }"
    ) { entry, draft, reading in draft.credentials = readCredentials(entry.value, &reading) },
    Key(
      "allow", .settingsAllowance, "The settings that the provider may bring; those of the policy itself always come first.",
      example: "{ routes: [10.0.0.0/8], domains: [corp.example] }"
    ) { $0.allowance = $1 },
    Key(
      "sign-in", expects: ValueReader<[Endpoint]>.signIn.expected, schema: ValueReader<[Endpoint]>.signIn.schema,
      "What a browser needs for the provider's sign-in while the kill switch blocks.", example: "{ hosts: [login.example.com] }"
    ) { entry, draft, reading in
      draft.signIn = ValueReader<[Endpoint]>.signIn.read(entry.value, &reading).map { ($0, entry.keyLocation) }
    },
    Key(
      "insecure", expects: "`accept`", schema: .words(["accept"]),
      "Accept a provider that does not encrypt, or not well enough; needed for those whose manifest says so.", example: "accept"
    ) { entry, draft, reading in
      if ValueReader.word(of: ["accept"]).read(entry.value, &reading) != nil { draft.insecure = entry.keyLocation }
    },
  ])

let allowanceKeys = Mapping(
  subject: "`allow`", draft: SettingsAllowance.everything,
  keys: [
    Key(
      "routes", .oneOrMore(.destination), "Prefixes of which the provider may take parts into the tunnel; `default` is everything.",
      standard: "default", example: "[10.0.0.0/8]"
    ) { $0.routes = $1.flatMap { $0 } },
    Key(
      "domains", .oneOrMore(.domainPattern), "Domains whose names the provider's servers may resolve; `*` is every name.",
      standard: "\"*\"", example: "[corp.example]"
    ) { $0.domains = $1 },
  ])

extension ValueReader where Value == SettingsAllowance {
  static let settingsAllowance = allowanceKeys.reader("prefixes and domains") { allowance, _, _ in allowance }
}

func readInstalled(_ node: Node, _ reading: inout Reading) -> InstalledProviderConfiguration? {
  let before = reading.problems.errorCount
  guard let draft = installedKeys.read(node, &reading), let (name, place) = draft.name, reading.problems.errorCount == before else {
    return nil
  }
  guard let manifest = readManifest(named: name, at: place, &reading) else { return nil }
  if let trouble = reading.surroundings?.troubleOfProgram(manifest.program, at: place) {
    reading.error(
      "the provider \(quoted(manifest.name)) cannot be used: its program \(manifest.program): \(trouble.reason)", help: trouble.cure,
      at: place)
  }
  if manifest.isInsecure, draft.insecure == nil {
    reading.error(
      "the provider \(quoted(manifest.name)) protects nothing: its manifest says `insecure: true`",
      help: "use another provider, or add `insecure: accept` where that does not matter", at: place)
  }
  if let place = draft.signIn?.place, !manifest.needs.contains(.ask) {
    reading.warning(
      "the provider \(quoted(manifest.name)) never asks a person to sign in: its manifest does not need `ask`", help: "remove `sign-in`",
      at: place)
  }
  let options = manifest.options.read(
    draft.options ?? Node(content: .null, location: node.location), as: "the options of `\(manifest.name)`", &reading)
  if let (names, place) = draft.startOptions { checkStartOptions(names, of: manifest, at: place, &reading) }
  guard let options, reading.problems.errorCount == before else { return nil }
  let program = ProviderProgram(
    name: name, path: manifest.program, user: manifest.user, needs: manifest.needs, capability: manifest.capability,
    isInsecure: manifest.isInsecure)
  var configuration = InstalledProviderConfiguration(
    program: program, options: options, credentials: draft.credentials, allowance: draft.allowance,
    signInHosts: draft.signIn?.hosts ?? [])
  configuration.startable = StartableOptions(schema: manifest.options, ofUsers: draft.startOptions?.names ?? [])
  return configuration
}

private func checkStartOptions(
  _ names: [String], of manifest: ProviderManifest, at place: SourceLocation, _ reading: inout Reading
) {
  let (declared, allowsOthers) = manifest.options.properties
  let known = declared.map(\.name) + [StartableOptions.password]
  for name in names where !known.contains(name) && (!allowsOthers || isSecretName(name)) {
    reading.error(
      "the provider \(quoted(manifest.name)) has no option \(quoted(name)), which a start could set",
      help: nearest(to: name, among: known).map { "did you mean `\($0)`?" } ?? "its options: \(known.joined(separator: ", "))", at: place)
  }
}

private func readManifest(named name: String, at place: SourceLocation, _ reading: inout Reading) -> ProviderManifest? {
  do throws(FileFailure) {
    guard let (manifest, problems) = try reading.surroundings?.manifest(named: name) else { return nil }
    if let manifest { return manifest }
    if problems.isEmpty, reading.surroundings?.unread.isEmpty == false { return nil }
    let first = problems.first.map { ": \($0.location.line):\($0.location.column): \($0.message)" } ?? ""
    reading.error("the manifest of the provider \(quoted(name)) has errors\(first)", help: "repair it, or install it again", at: place)
  } catch {
    reading.error("the provider \(quoted(name)) cannot be used: \(error.reason)", help: error.cure, at: place)
  }
  return nil
}

private func readCredentials(_ node: Node, _ reading: inout Reading) -> [ProviderCredential] {
  let entries: [Node.Entry]
  switch node.content {
  case .mapping(let found): entries = found
  case .null: entries = []
  case .scalar, .sequence, .refused:
    reading.expected("names of credentials and their files", at: node, help: "write `credentials: { password: corp.password }`")
    return []
  }
  if entries.count > 16 {
    reading.error("there are \(entries.count) credentials; at most 16 are allowed", at: node.location)
    return []
  }
  var credentials: [ProviderCredential] = []
  for entry in entries {
    let isWord = entry.key.utf8.first.map { (97...122).contains($0) } ?? false
    if entry.key == "kept" {
      reading.error("the credential `kept` is what the agent keeps for the provider", help: "use another name", at: entry.value.location)
      continue
    }
    guard isWord, entry.key.utf8.count <= 64,
      entry.key.utf8.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) || $0 == 45 || $0 == 46 })
    else {
      reading.error(
        "\(quoted(entry.key)) is no name of a credential", help: "use a small letter, then small letters, digits, `-` and `.`",
        at: entry.keyLocation)
      continue
    }
    guard let file = ValueReader.line.read(entry.value, &reading) else { continue }
    let path = reading.surroundings?.absolutePath(of: file) ?? file
    if let trouble = reading.surroundings?.troubleOfSecret(path, at: entry.value.location) {
      reading.error("the credential \(path) cannot be used: \(trouble.reason)", help: trouble.cure, at: entry.value.location)
      continue
    }
    credentials.append(ProviderCredential(name: entry.key, path: path))
  }
  return credentials.sorted { $0.name < $1.name }
}
