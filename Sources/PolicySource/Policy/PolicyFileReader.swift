import RoamwardCore

/// What one policy file says, before the files are merged.
struct PolicyFile {
  let source: SourceText
  var networks: [NamedNetwork] = []
  var tunnels: [TunnelPolicy] = []
  var references: [NetworkReference] = []
  var problems = DiagnosticList()
  /// Absolute paths of the files that it draws on.
  var dependencies: [String] = []
  /// The problems of those.
  var otherDiagnostics: [Diagnostic] = []
  /// Whether it holds no document: then it only masks others of its name.
  var isEmpty = false
}

func readPolicyFile(_ source: SourceText, surroundings: Surroundings?) -> PolicyFile {
  let (root, problems) = readYAML(source)
  var file = PolicyFile(source: source, problems: problems)
  guard let root else {
    file.isEmpty = !problems.hasErrors
    return file
  }
  if case .null = root.content {
    file.isEmpty = true
    return file
  }
  var reading = Reading(source, problems: problems, surroundings: surroundings)
  readPolicy(root, into: &file, &reading)
  file.references = reading.references
  file.problems = reading.problems
  file.dependencies = reading.surroundings?.dependencies ?? []
  file.otherDiagnostics = reading.surroundings?.diagnostics ?? []
  return file
}

private func readPolicy(_ root: Node, into file: inout PolicyFile, _ reading: inout Reading) {
  guard var fields = Fields(root, of: "a policy", &reading), readVersion(&fields, &reading) else { return }
  for entry in entries(of: fields.take("networks"), "networks by name", &reading) {
    guard isNetworkName(entry.key) else {
      reading.error(
        "\(quoted(entry.key)) cannot be the name of a network", help: "use 1 to 64 characters on one line", at: entry.keyLocation)
      continue
    }
    let before = reading.problems.errorCount
    guard let condition = readCondition(entry.value, of: "a network", &reading) else { continue }
    if condition == .always, reading.problems.errorCount == before {
      reading.warning("network `\(entry.key)` says nothing and so holds everywhere", help: "give it criteria", at: entry.keyLocation)
    }
    file.networks.append(NamedNetwork(name: entry.key, condition: condition, location: entry.keyLocation))
  }
  for entry in entries(of: fields.take("tunnels"), "tunnels by name", &reading) {
    guard isTunnelName(entry.key) else {
      reading.error(
        "\(quoted(entry.key)) cannot be the name of a tunnel",
        help: "use 1 to 64 letters, digits, `.`, `_` and `-`, not beginning with `.` or `-`",
        at: entry.keyLocation)
      continue
    }
    if let tunnel = readTunnel(entry, &reading) { file.tunnels.append(tunnel) }
  }
  fields.finish(&reading)
}

/// False, and reported, where the version is missing or not known: nothing else can be judged then.
func readVersion(_ fields: inout Fields, _ reading: inout Reading) -> Bool {
  guard let entry = fields.take("version") else {
    reading.error("`version` is missing", help: "begin the file with `version: 1`", at: fields.location)
    return false
  }
  if case .scalar("1", _) = entry.value.content { return true }
  reading.expected("a version that is known, which is 1 alone", at: entry.value, help: "write `version: 1`")
  return false
}

/// The entries of a mapping whose keys are names; none where there is nothing.
func entries(of entry: Node.Entry?, _ what: String, _ reading: inout Reading) -> [Node.Entry] {
  guard let entry else { return [] }
  switch entry.value.content {
  case .mapping(let entries): return entries
  case .null: return []
  case .scalar, .sequence, .refused:
    reading.expected(what, at: entry.value)
    return []
  }
}
