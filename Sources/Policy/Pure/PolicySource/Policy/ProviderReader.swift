internal import JSON
import NetworkTypes
import PolicyFiles
import RoamwardCore

/// The partly read keys of `provider`.
struct ProviderDraft {
  var wireGuard: Node.Entry?
  var command: Node.Entry?
  var installed: Node.Entry?
  var unit: Node.Entry?
  var profile: Node.Entry?
  var tailscale: Node.Entry?

  var entries: [Node.Entry] { [wireGuard, command, installed, unit, profile, tailscale].compactMap(\.self) }
}

let providerKeys = Mapping(
  subject: "a provider", draft: ProviderDraft(), planned: ["openvpn", "ipsec", "ikev2", "nebula"],
  constraints: [.init(key: "minProperties", value: 1), .init(key: "maxProperties", value: 1)],
  keys: [
    Key(
      "wireguard", expects: "a mapping", schema: wireGuardKeys.schema, "A WireGuard tunnel from a wg-quick file.",
      example: "{ config: corp.conf }", judgesNull: true
    ) {
      entry, draft, _ in
      draft.wireGuard = entry
    },
    Key(
      "command", expects: "a mapping", schema: commandKeys.schema, "Programs that start, stop and check a tunnel of any kind.",
      example: "{ up: [/usr/bin/systemctl, start, vpn], down: [/usr/bin/systemctl, stop, vpn] }", judgesNull: true
    ) { entry, draft, _ in draft.command = entry },
    Key(
      "installed", expects: "a mapping", schema: installedKeys.schema, "A program that speaks the provider protocol.",
      example: "{ name: plain-udp, options: { server: \"vpn.example:9999\", address: 10.9.0.2/24 }, insecure: accept }", judgesNull: true
    ) { entry, draft, _ in draft.installed = entry },
    Key(
      "unit", expects: "a mapping", schema: unitKeys.schema, "A systemd unit that is the tunnel; it sets itself up.",
      example: "{ name: openvpn-client@work.service }", judgesNull: true
    ) { entry, draft, _ in draft.unit = entry },
    Key(
      "networkmanager", expects: "a mapping", schema: profileKeys.schema, "A VPN or WireGuard profile of NetworkManager.",
      example: "{ profile: Work }", judgesNull: true
    ) { entry, draft, _ in draft.profile = entry },
    Key(
      "tailscale", expects: "a mapping", schema: tailscaleKeys.schema.orNull, "Tailscale, which sets itself up.", example: "{}",
      judgesNull: true
    ) {
      entry, draft, _ in
      draft.tailscale = entry
    },
  ])

/// ``one of `wireguard`, `command` and `tailscale` ``: all keys.
let providerChoice: String = {
  let names = providerKeys.declarations.map { "`\($0.name)`" }
  return "one of \(names.dropLast().joined(separator: ", ")) and \(names.last ?? "")"
}()

extension ValueReader where Value == ProviderConfiguration {
  static let provider = ValueReader(expected: "exactly one provider", schema: providerKeys.schema) {
    node, reading in
    let before = reading.problems.errorCount
    guard let draft = providerKeys.read(node, &reading), reading.problems.errorCount == before else { return nil }
    let named = draft.entries
    guard let entry = named.first else {
      reading.error(
        "the provider is missing", help: "add \(providerChoice)",
        at: node.location)
      return nil
    }
    if named.count > 1 {
      reading.error(
        "a tunnel has exactly one provider, but there are \(named.count == 2 ? "two" : "more")",
        help: "keep one of them",
        at: named[1].keyLocation)
      return nil
    }
    if draft.wireGuard != nil { return readWireGuard(entry.value, &reading).map { .wireGuard($0) } }
    if draft.command != nil { return readCommand(entry.value, &reading).map { .command($0) } }
    if draft.installed != nil { return readInstalled(entry.value, &reading).map { .installed($0) } }
    if draft.unit != nil { return readUnit(entry.value, &reading).map { .service($0) } }
    if draft.profile != nil { return readProfile(entry.value, &reading).map { .service($0) } }
    return readTailscale(entry.value, &reading).map { .service($0) }
  }
}

/// The keys of `wireguard`.
struct WireGuardDraft {
  var config: Node?
}

let wireGuardKeys = Mapping(
  subject: "the `wireguard` provider", draft: WireGuardDraft(),
  keys: [
    Key(
      "config", expects: "a file", schema: .text(pattern: SchemaPattern.line),
      "A wg-quick file; a relative path starts at the policy's folder.",
      example: "corp.conf",
      missing: "name a wg-quick file: `config: corp.conf`"
    ) { entry, draft, _ in draft.config = entry.value }
  ])

private func readWireGuard(_ node: Node, _ reading: inout Reading) -> WireGuardProviderConfiguration? {
  guard let config = wireGuardKeys.read(node, &reading)?.config else { return nil }
  if case .scalar(let text, _) = config.content, text.dropLast().contains("\n") || isSecretName(text) {
    reading.error(
      "a policy never holds the content of a wg-quick file, which is a secret", help: "save it in a file of mode 0600, and name that",
      at: config.location)
    return nil
  }
  guard let name = ValueReader.line.read(config, &reading) else { return nil }
  do throws(FileFailure) {
    return try reading.surroundings?.wireGuardFile(named: name)
  } catch {
    reading.cannotUse(name, error, at: config.location)
    return nil
  }
}

extension Reading {
  /// The error of a file that a policy names and cannot be without.
  mutating func cannotUse(_ name: String, _ failure: FileFailure, at place: SourceLocation) {
    let path = surroundings?.absolutePath(of: name) ?? name
    error(
      "\(path) cannot be used: \(failure.reason)",
      help: failure.cure ?? (failure.cause == .denied ? "run the command with sudo" : "a relative path begins at the policy file's folder"),
      at: place)
  }
}

/// The partly read keys of `command`.
struct CommandDraft {
  var up: [String]?
  var down: [String]?
  var status: [String] = []
  var interface: String?
  var timeout = CommandProviderConfiguration(up: [], down: []).timeout
}

let commandKeys = Mapping(
  subject: "the `command` provider", draft: CommandDraft(),
  keys: [
    Key(
      required: "up", .arguments, "Start the tunnel and exit with status 0.", example: "[/usr/bin/systemctl, start, openvpn-client@work]"
    ) {
      $0.up = $1
    },
    Key(required: "down", .arguments, "Stop the tunnel.", example: "[/usr/bin/systemctl, stop, openvpn-client@work]") { $0.down = $1 },
    Key(
      "status", .arguments, "Exit with status 0 while the tunnel is connected; absent: connected once `up` has succeeded.",
      example: "[/usr/bin/systemctl, is-active, --quiet, openvpn-client@work]"
    ) { $0.status = $1 },
    Key("interface", .interfaceName, "The link that `up` creates; needed to set routes.", example: "tun0") { $0.interface = $1 },
    Key("timeout", .positiveDuration, "The maximum run time of each program.", standard: "30s", example: "2m") { $0.timeout = $1 },
  ])

private func readCommand(_ node: Node, _ reading: inout Reading) -> CommandProviderConfiguration? {
  guard let draft = commandKeys.read(node, &reading), let up = draft.up, let down = draft.down else { return nil }
  return CommandProviderConfiguration(up: up, down: down, status: draft.status, interface: draft.interface, timeout: draft.timeout)
}

extension ValueReader where Value == [String] {
  /// A program and its arguments: a list, or one text that is split only at spaces. No shell reads it.
  ///
  /// A program path that contains a slash but does not begin with one is relative to the policy file.
  fileprivate static let arguments = ValueReader(
    expected: "a program and its arguments, as a list or in one line",
    schema: .either(
      .text(pattern: SchemaPattern.command),
      Schema([
        "type": "array", "items": [Schema.text(pattern: "[\\s\\S]").value], "additionalItems": Schema.anyText.value, "minItems": 1,
      ]))
  ) { node, reading in
    guard let words = readWords(node, &reading), let program = words.first else { return nil }
    guard let surroundings = reading.surroundings else { return words }
    let path = program.contains("/") ? surroundings.absolutePath(of: program) : program
    if let trouble = reading.surroundings?.troubleOfProgram(path, at: node.location) {
      reading.error("\(path) cannot be used: \(trouble.reason)", help: trouble.cure, at: node.location)
    }
    return [path] + words.dropFirst()
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
