import GatewayCore
import GatewayLogin
import JSON
import NetworkTypes
package import PolicySource
import RoamwardCore

/// The contents of one file.
package struct ParsedGatewayFile: Sendable {
  package let file: GatewayFile
  package let diagnostics: [Diagnostic]
  /// The file has no document: it only masks others of its name.
  package let isEmpty: Bool
}

/// Reads a file of a gateway (`gateway.yaml`).
package func readGatewayFile(_ path: String, bytes: [UInt8]) -> ParsedGatewayFile {
  let source = SourceText(policy: path, bytes)
  let (root, problems) = readYAML(source)
  let isNull = if case .null? = root?.content { true } else { false }
  guard let root, !isNull else {
    return ParsedGatewayFile(file: GatewayFile(), diagnostics: problems.sorted, isEmpty: isNull || !problems.hasErrors)
  }
  var reading = Reading(source, problems: problems)
  let file = isKnownVersion(root, &reading) ? gatewayFileKeys.read(root, &reading) : nil
  return ParsedGatewayFile(file: file ?? GatewayFile(), diagnostics: reading.problems.sorted, isEmpty: false)
}

let gatewayFileKeys = Mapping(
  subject: "a file of a gateway", draft: GatewayFile(),
  keys: [
    versionKey(),
    Key(
      "gateway", expects: "the keys of `gateway`", schema: siteKeys.schema, "Where clients reach this gateway.",
      example: "{ endpoint: vpn.example.com }"
    ) {
      entry, file, reading in
      guard let site = siteKeys.read(entry.value, &reading), let endpoint = site.endpoint else { return }
      file.declaration.site = placed(Declaration.Site(endpoint: endpoint, link: site.link, name: site.name), entry)
      file.host.declare(site.forwards ? [:] : [.forwarding: "off\n"], below: entry)
    },
    Key(
      "pools", expects: "pools by name", schema: .named(gatewayNamePattern, poolKeys.schema),
      "All pools of addresses of this gateway, by name.", example: "{ staff: { prefix: 10.77.0.0/24, masquerade: true } }"
    ) { entry, file, reading in
      let pools = entries(of: entry, "pools by name", &reading).compactMap { pool -> Declaration.Placed<Declaration.Pool>? in
        guard let name = name(of: pool, "a pool", &reading), let draft = poolKeys.read(pool.value, &reading), let prefix = draft.prefix
        else {
          return nil
        }
        return placed(
          Declaration.Pool(name: name, prefix: prefix, isTranslated: draft.isTranslated, isEverywhere: draft.isEverywhere), pool)
      }
      file.declaration.pools = placed(pools, entry)
    },
    Key(
      "groups", expects: "groups by name", schema: .named(gatewayNamePattern, Schema.either(groupKeys.schema, .null)),
      "Groups of users, by name.", example: "{ staff: { members: [alice] } }"
    ) { entry, file, reading in
      for group in entries(of: entry, "groups by name", &reading) {
        guard let name = name(of: group, "a group", &reading), let draft = groupKeys.read(group.value, &reading) else { continue }
        file.declaration.groups.append(
          placed(Declaration.Group(name: name, precedence: draft.precedence, members: draft.members), group))
      }
    },
    Key(
      "users", expects: "users by name", schema: .named(gatewayNamePattern, Schema.either(userKeys.schema, .null)), "Users, by name.",
      example: "{ alice: { until: 2027-01-31 } }"
    ) { entry, file, reading in
      for user in entries(of: entry, "users by name", &reading) {
        guard let name = name(of: user, "a user", &reading), let draft = userKeys.read(user.value, &reading) else { continue }
        file.declaration.users.append(placed(Declaration.User(name: name, until: draft.until), user))
      }
    },
    Key(
      "settings", expects: "settings by scope", schema: scopeKeys.schema, "Settings of clients, by scope; the most specific one decides.",
      example: "{ everybody: { routes: [10.20.0.0/16] } }"
    ) { entry, file, reading in
      file.declaration.settings += scopeKeys.read(entry.value, &reading)?.settings ?? []
    },
    Key(
      "access", expects: "a list of rules", schema: .list(of: accessKeys.schema),
      "All rules of access; the first one that matches decides, and without one a packet is denied.",
      example: "[ { allow: web, from: group:staff, to: 10.20.0.0/16, protocol: tcp, ports: 443 } ]"
    ) { entry, file, reading in
      guard case .sequence(let nodes) = entry.value.content else {
        return reading.expected("a list of rules", at: entry.value, help: "put a dash before each rule: `- allow: web`")
      }
      file.declaration.rules = placed(nodes.compactMap { readAccessRule($0, &reading) }, entry)
    },
    Key(
      "logins", expects: "the keys of `logins`, on or off", schema: switched(loginKeys.schema), "By which ways users log in; off: by none.",
      example: "{ banner: Members only }"
    ) {
      entry, file, reading in
      if isOff(entry.value) { return file.host.logins = placed(false, entry) }
      guard let texts = isOn(entry.value) ? [:] : loginKeys.read(entry.value, &reading)?.texts else { return }
      file.host.logins = placed(true, entry)
      file.host.declare(texts, below: entry)
    },
    Key(
      "relay", expects: "the keys of `relay`, on or off", schema: switched(relayKeys.schema), "The relay of UDP by TCP.",
      example: "{ port: 443 }"
    ) { entry, file, reading in
      if isOff(entry.value) { return file.host.declare([:], below: entry) }
      if let draft = isOn(entry.value) ? RelayDraft() : relayKeys.read(entry.value, &reading) {
        file.host.declare([.relay: "\(draft.port)\n"], below: entry)
      }
    },
    Key(
      "page", expects: "the keys of `page`, on or off", schema: switched(pageKeys.schema), "The page inside the tunnel.",
      example: "{ administrators: admins }"
    ) { entry, file, reading in
      if isOff(entry.value) { return file.host.declare([:], below: entry) }
      if let settings = isOn(entry.value) ? PageSettings() : pageKeys.read(entry.value, &reading) {
        file.host.declare([.page: settings.description], below: entry)
      }
    },
    Key("store", expects: "the keys of `store`", schema: storeKeys.schema, "The store on a server.", example: "{ stale-after: 24h }") {
      entry, file, reading in
      if let draft = storeKeys.read(entry.value, &reading) { file.host.declare(draft.texts, below: entry) }
    },
    Key(
      "expect", expects: "a list of tests", schema: .list(of: .string(pattern: expectationPattern)),
      "Tests of access, which `check` makes.",
      example: "[ alice → 10.20.0.5:443 allowed ]"
    ) { entry, file, reading in
      guard case .sequence(let nodes) = entry.value.content else { return reading.expected("a list of tests", at: entry.value) }
      for node in nodes {
        if let test = expectation.read(node, &reading) {
          file.expectations.append(Declaration.Placed(test, at: place(node.location)))
        }
      }
    },
  ])

func place(_ location: SourceLocation) -> DeclaredPlace {
  DeclaredPlace(file: location.file, line: location.line, column: location.column)
}

extension HostSettings {
  /// Declares all settings of a key of the file: those without a text are off.
  fileprivate mutating func declare(_ new: [SettingFile: String], below entry: Node.Entry) {
    for setting in SettingFile.allCases where setting.key[0] == entry.key { texts[setting] = placed(new[setting], entry) }
  }
}

private func placed<Value>(_ value: Value, _ entry: Node.Entry) -> Declaration.Placed<Value> {
  Declaration.Placed(value, at: place(entry.keyLocation))
}

/// The name of a key, or a report.
func name(of entry: Node.Entry, _ what: String, _ reading: inout Reading) -> GatewayName? {
  if let name = GatewayName(entry.key), name.description == entry.key { return name }
  let help =
    GatewayName(entry.key).map { "names are in lower case: \($0)" } ?? "use 1 to 64 lower-case letters, digits, `.`, `_`, `-` and `@`"
  reading.error("\(quoted(entry.key)) cannot be the name of \(what)", help: help, at: entry.keyLocation)
  return nil
}

let gatewayNamePattern = "^[0-9a-z][0-9a-z._@-]{0,63}$"

/// `off`, as YAML's words for false are.
private func isOff(_ node: Node) -> Bool {
  if case .scalar(let text, isPlain: true) = node.content { parseBoolean(text) == false } else { false }
}

/// `on`, as YAML's words for true are: the usual settings.
private func isOn(_ node: Node) -> Bool {
  if case .scalar(let text, isPlain: true) = node.content { parseBoolean(text) == true } else { false }
}

/// A mapping, `on` or `off`.
private func switched(_ schema: Schema) -> Schema { .either(schema, Schema(["enum": [true, false, "on", "off", "yes", "no"]])) }

private let expectationPattern = "^[0-9a-z][0-9a-z._@-]* +(→|->) +[^ ]+( +(tcp|udp|icmp))? +(allowed|denied)$"
private let expectation = ValueReader<Expectation>(
  "a test such as `alice → 10.20.0.5:443 allowed`", schema: .string(pattern: expectationPattern),
  help: "USER → ADDRESS[:PORT] [tcp|udp|icmp] allowed|denied"
) { Expectation($0) }
