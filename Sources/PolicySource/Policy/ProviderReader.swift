import NetworkTypes
import RoamwardCore

private let plannedProviders = ["openvpn", "ipsec", "ikev2", "nebula", "unit"]

extension ValueReader where Value == ProviderConfiguration {
  static let provider = ValueReader(expected: "exactly one provider, `wireguard` or `command`") { node, reading in
    guard var fields = Fields(node, of: "a provider", &reading) else { return nil }
    let wireGuard = fields.take("wireguard")
    let command = fields.take("command")
    for name in plannedProviders { fields.notYet(name) }
    let before = reading.problems.errorCount
    fields.finish(&reading)
    if reading.problems.errorCount > before { return nil }
    switch (wireGuard, command) {
    case (let entry?, nil): return readWireGuard(entry.value, &reading).map { .wireGuard($0) }
    case (nil, let entry?): return readCommand(entry.value, &reading).map { .command($0) }
    case (nil, nil):
      reading.error(
        "the provider is missing", help: "add `wireguard: { config: FILE }` or `command: { up: …, down: … }`", at: node.location)
    case (_?, let second?):
      reading.error("a tunnel has exactly one provider, but there are two", help: "remove one of them", at: second.keyLocation)
    }
    return nil
  }
}

private func readWireGuard(_ node: Node, _ reading: inout Reading) -> WireGuardProviderConfiguration? {
  guard var fields = Fields(node, of: "the `wireguard` provider", &reading) else { return nil }
  let entry = fields.take("config")
  fields.finish(&reading)
  guard let entry else {
    reading.error("`config` is missing in the `wireguard` provider", help: "name a wg-quick file: `config: corp.conf`", at: node.location)
    return nil
  }
  guard let name = ValueReader.line.read(entry.value, &reading) else { return nil }
  do throws(FileFailure) {
    return try reading.surroundings?.wireGuardFile(named: name)
  } catch {
    let path = reading.surroundings?.absolutePath(of: name) ?? name
    reading.error(
      "\(path) cannot be used: \(error.reason)",
      help: error.cure ?? "a relative path begins at the policy file's folder", at: entry.value.location)
    return nil
  }
}

private func readCommand(_ node: Node, _ reading: inout Reading) -> CommandProviderConfiguration? {
  guard var fields = Fields(node, of: "the `command` provider", &reading) else { return nil }
  let up = fields.required("up", .arguments, &reading)
  let down = fields.required("down", .arguments, &reading)
  let status = fields.optional("status", .arguments, &reading) ?? []
  let interface = fields.optional("interface", .interfaceName, &reading)
  let timeout = fields.optional("timeout", .duration, &reading) ?? .seconds(30)
  if timeout <= .zero { reading.error("`timeout` has to be longer than nothing", help: "for example 30s", at: node.location) }
  fields.finish(&reading)
  guard let up, let down else { return nil }
  return CommandProviderConfiguration(up: up, down: down, status: status, interface: interface, timeout: timeout)
}

extension ValueReader where Value == [String] {
  /// A program and its arguments: as a list, or as one text that is split at spaces and nowhere else. No shell ever reads it.
  ///
  /// A program with a slash that does not begin with one is relative to the policy file.
  fileprivate static let arguments = ValueReader(expected: "a program and its arguments, as a list or in one line") { node, reading in
    guard let words = readWords(node, &reading), let program = words.first else { return nil }
    guard program.contains("/"), !program.hasPrefix("/"), let surroundings = reading.surroundings else { return words }
    return [surroundings.absolutePath(of: program)] + words.dropFirst()
  }
}

private func readWords(_ node: Node, _ reading: inout Reading) -> [String]? {
  switch node.content {
  case .scalar(let text, _):
    let words = text.split(whereSeparator: { $0 == " " || $0 == "\n" }).map(String.init)
    if let special = text.first(where: { "'\"\\`$|&;<>()*?~".contains($0) }) {
      reading.error(
        "no shell reads this, so `\(special)` would have no meaning: a command in one line is split at spaces only",
        help: "write it as a list, one argument an entry: [/usr/bin/example, --name, \"two words\"]", at: node.location)
      return nil
    }
    if !words.isEmpty { return words }
  case .sequence(let nodes):
    let words = nodes.compactMap { node -> String? in
      if case .scalar(let text, _) = node.content { return text }
      reading.expected("an argument", at: node, help: "an empty argument is written \"\"")
      return nil
    }
    if words.count < nodes.count { return nil }
    if let program = words.first, !program.isEmpty { return words }
  case .null, .mapping, .refused: break
  }
  reading.expected("a program and its arguments", at: node, help: "for example: [/usr/sbin/openvpn, --config, corp.ovpn]")
  return nil
}
