import GatewayCore
import GatewayLogin
import JSON
import NetworkTypes
import PolicySource
import RoamwardCore

// The parts of a file: mappings of single values.

extension ValueReader where Value == GatewayName {
  /// A name as a file has it: in lower case.
  static let gatewayName = ValueReader(
    "a name of letters, digits, `.`, `_`, `-` and `@`", schema: .text(pattern: gatewayNamePattern)
  ) { text in GatewayName(text).flatMap { $0.description == text ? $0 : nil } }
}

extension ValueReader where Value == Endpoint {
  /// A host with a port, or without one: that of WireGuard's documents.
  static let gatewayEndpoint = ValueReader(
    "a name or an address, with a port or without, such as vpn.example.com:51820", schema: .text(pattern: "^[^ /]+$")
  ) { text in
    if let endpoint = Endpoint(text) { return endpoint }
    if let address = IPAddress(text) { return Endpoint(host: .address(address), port: 51820) }
    return Endpoint("\(text):51820")
  }
}

extension ValueReader where Value == InterfaceName {
  /// A link whose name a rule of the firewall can have.
  static let gatewayLink = ValueReader(
    "a link name of 1 to 15 letters, digits, `.`, `_` and `-`", schema: .text(pattern: "^[0-9a-zA-Z][0-9a-zA-Z._-]{0,14}$")
  ) { text in GatewayName(text) == nil ? nil : InterfaceName(text) }
}

extension ValueReader where Value == IPAddress {
  static let nameServer = ValueReader("an IP address such as 192.0.2.1 or 2001:db8::1", schema: .definition("address")) { IPAddress($0) }
}

struct SiteDraft: Sendable {
  var forwards = true
  var endpoint: Endpoint?
  var link: InterfaceName?
  var name: GatewayName?
}

let siteKeys = Mapping(
  subject: "`gateway`", draft: SiteDraft(),
  keys: [
    Key(required: "endpoint", .gatewayEndpoint, "The name or address for clients, and the UDP port (51820).", example: "vpn.example.com") {
      $0.endpoint = $1
    },
    Key("link", .gatewayLink, "The name of the WireGuard link.", standard: "wg-gateway", example: "wg0") {
      $0.link = $1
    },
    Key("name", .gatewayName, "The name of this gateway among several.", standard: "main", example: "paris") { $0.name = $1 },
    Key(
      "forwarding", .boolean, "Whether the kernel's forwarding of packets is enabled for the pools.", standard: "true", example: "false"
    ) { $0.forwards = $1 },
  ])

struct PoolDraft: Sendable {
  var prefix: IPPrefix?
  var isTranslated = false
  var isEverywhere = false
}

let poolKeys = Mapping(
  subject: "a pool", draft: PoolDraft(),
  keys: [
    Key(required: "prefix", .prefix, "The prefix: IPv4 /8 to /30, IPv6 /64 to /126.", example: "10.77.0.0/24") { $0.prefix = $1 },
    Key("masquerade", .boolean, "Whether packets to other networks carry the gateway's address.", standard: "false", example: "true") {
      $0.isTranslated = $1
    },
    Key("everywhere", .boolean, "Whether the pool is at all gateways of the store.", standard: "false", example: "true") {
      $0.isEverywhere = $1
    },
  ])

struct GroupDraft: Sendable {
  var precedence: Int64 = 100
  var members: [GatewayName]?
}

let groupKeys = Mapping(
  subject: "a group", draft: GroupDraft(),
  keys: [
    Key(
      "precedence", .number(0...1_000_000), "Of two groups of a user, settings of the one with the lower number win.", standard: "100",
      example: "10"
    ) { $0.precedence = Int64($1) },
    Key("members", .oneOrMore(.gatewayName), "All users of the group; absent: commands and logins decide.", example: "[alice, bob]") {
      $0.members = $1
    },
  ])

struct UserDraft: Sendable { var until: Timestamp? }

let userKeys = Mapping(
  subject: "a user", draft: UserDraft(),
  keys: [
    Key("until", .time, "The end of the account: a day, at whose beginning (UTC) it ends, or a time.", example: "2027-01-31") {
      $0.until = $1
    }
  ])

extension ValueReader where Value == Timestamp {
  static let time = ValueReader(
    "a time such as 2027-01-31 or 2027-01-31T18:00:00.000Z", schema: .text(pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]+Z)?$")
  ) { User.end($0) }
}

let settingKeys = Mapping(
  subject: "settings", draft: Declaration.ScopeSettings(scope: .everybody, pushed: PushedSettings()),
  keys: [
    Key("routes", .oneOrMore(.prefix), "The prefixes that clients send into the tunnel.", example: "[10.20.0.0/16]") {
      $0.pushed.routes = $1
    },
    Key("dns", .oneOrMore(.nameServer), "Name servers.", example: "[10.20.0.53]") { $0.pushed.dns = $1 },
    Key("search", .oneOrMore(.domain), "Search domains, which are names of split DNS too.", example: "[corp.example]") {
      $0.pushed.search = $1
    },
    Key("mtu", .number(1280...9000), "The MTU in bytes.", example: "1380") { $0.pushed.mtu = $1 },
    Key("keepalive", .number(0...65535), "Seconds between keepalives; 0 is off.", example: "25") { $0.pushed.keepalive = UInt16($1) },
    Key("devices", .number(0...10_000), "The number of devices that a user may add.", standard: "10", example: "3") {
      $0.deviceLimit = Int64($1)
    },
  ])

struct ScopeDraft: Sendable { var settings: [Declaration.Placed<Declaration.ScopeSettings>] = [] }

let scopeKeys = Mapping(
  subject: "`settings`", draft: ScopeDraft(),
  keys: [
    Key("everybody", expects: "settings", schema: settingKeys.schema, "Of everybody.", example: "{ dns: 10.20.0.53 }") {
      entry, draft, reading in add(entry, .everybody, &draft, &reading)
    },
    Key(
      "groups", expects: "settings by group", schema: .named(gatewayNamePattern, .either(settingKeys.schema, .null)), "Of groups.",
      example: "{ staff: { mtu: 1380 } }"
    ) { entry, draft, reading in
      for scope in entries(of: entry, "settings by group", &reading) {
        if let name = name(of: scope, "a group", &reading) { add(scope, .group(name), &draft, &reading) }
      }
    },
    Key(
      "users", expects: "settings by user", schema: .named(gatewayNamePattern, .either(settingKeys.schema, .null)), "Of users.",
      example: "{ alice: { devices: 3 } }"
    ) { entry, draft, reading in
      for scope in entries(of: entry, "settings by user", &reading) {
        if let name = name(of: scope, "a user", &reading) { add(scope, .user(name), &draft, &reading) }
      }
    },
    Key(
      "devices", expects: "settings by device", schema: .named("^[0-9a-z._@-]+/[0-9a-z._@-]+$", .either(settingKeys.schema, .null)),
      "Of devices, as `user/device`.", example: "{ alice/phone: { keepalive: 25 } }"
    ) { entry, draft, reading in
      for scope in entries(of: entry, "settings by device", &reading) {
        guard let path = DevicePath(scope.key), path.description == scope.key else {
          reading.error(
            "\(quoted(scope.key)) cannot be a device", help: "a device is USER/DEVICE, in lower case", at: scope.keyLocation)
          continue
        }
        add(scope, .device(path), &draft, &reading)
      }
    },
  ])

private func add(_ entry: Node.Entry, _ scope: Declaration.Scope, _ draft: inout ScopeDraft, _ reading: inout Reading) {
  guard var settings = settingKeys.read(entry.value, as: "settings of \(scope.text)", &reading) else { return }
  settings.scope = scope
  if case .device = scope, settings.deviceLimit != nil {
    return reading.error("a device has no devices", help: "limit them for a user, a group or everybody", at: entry.keyLocation)
  }
  draft.settings.append(Declaration.Placed(settings, at: place(entry.keyLocation)))
}

// Rules.

struct AccessDraft: Sendable {
  var name: (name: GatewayName, isAllowing: Bool)?
  var isTwice = false
  var source: Declaration.Party?
  var goals: [Declaration.Goal] = []
  var transport = Transport.any
  var ports: [PortRange] = []

  fileprivate mutating func set(_ name: GatewayName, isAllowing: Bool) {
    isTwice = self.name != nil
    self.name = (name, isAllowing)
  }
}

extension ValueReader where Value == Declaration.Party {
  static let party = ValueReader(
    "`everybody`, `user:NAME` or `group:NAME`", schema: .string(pattern: "^(everybody|(user|group):[0-9a-z][0-9a-z._@-]{0,63})$")
  ) { Declaration.Party($0) }
}

extension ValueReader where Value == Declaration.Goal {
  static let goal = ValueReader(
    expected: "prefixes, `group:NAME` (its devices) or `everything`",
    schema: .either(.words(["everything"]), .string(pattern: "^group:[0-9a-z][0-9a-z._@-]{0,63}$"), .definition("prefix"))
  ) { node, reading in
    guard case .scalar(let text, _) = node.content else {
      reading.expected("prefixes, `group:NAME` or `everything`", at: node)
      return nil
    }
    if text == "everything" { return .everything }
    if text.hasPrefix("group:"), let name = GatewayName(String(text.dropFirst(6))) { return .group(name) }
    return ValueReader<IPPrefix>.prefix.read(node, &reading).map { .prefixes([$0]) }
  }
}

extension ValueReader where Value == [Declaration.Goal] {
  /// At least one: a rule without a destination would be none.
  static let goals: ValueReader = {
    let goal = ValueReader<Declaration.Goal>.goal
    let expected = "prefixes, `group:NAME` (its devices) or `everything`"
    let some = ValueReader<[Declaration.Goal]>.oneOrMore(goal)
    let list = Schema(["type": "array", "items": goal.schema.value, "minItems": 1])
    return ValueReader(expected: expected, schema: .either(goal.schema, list)) { node, reading in
      switch node.content {
      case .null, .sequence([]):
        reading.expected(expected, at: node)
        return nil
      default: return some.read(node, &reading)
      }
    }
  }()
}

extension ValueReader where Value == PortRange {
  static let port = ValueReader("a port or a range, such as 443 or 8000-8100", schema: .text(pattern: "^[0-9]{1,5}(-[0-9]{1,5})?$")) {
    PortRange($0)
  }
}

let accessKeys = Mapping(
  subject: "a rule of access", draft: AccessDraft(),
  keys: [
    Key("allow", .gatewayName, "The name of a rule that allows.", example: "web") { $0.set($1, isAllowing: true) },
    Key("deny", .gatewayName, "The name of a rule that denies.", example: "printers") { $0.set($1, isAllowing: false) },
    Key(required: "from", .party, "Whose devices the rule is about.", example: "group:staff") { $0.source = $1 },
    Key(required: "to", .goals, "Prefixes, the devices of a group, or everything.", example: "[10.20.0.0/16, 10.30.0.0/16]") {
      $0.goals = $1
    },
    Key("protocol", ValueReader<Transport>.word(), "The protocol.", standard: "any", example: "tcp") { $0.transport = $1 },
    Key("ports", .oneOrMore(.port), "Destination ports.", example: "[443, 8000-8100]") { $0.ports = $1 },
  ])

func readAccessRule(_ node: Node, _ reading: inout Reading) -> Declaration.Placed<Declaration.Rule>? {
  guard let draft = accessKeys.read(node, &reading) else { return nil }
  guard let (name, isAllowing) = draft.name, !draft.isTwice else {
    reading.error("a rule has one of `allow` and `deny`, with its name", help: "write `- allow: web`", at: node.location)
    return nil
  }
  guard let source = draft.source, !draft.goals.isEmpty else { return nil }
  if !draft.ports.isEmpty, !draft.transport.hasPorts {
    reading.error("ports need a protocol", help: "add `protocol: tcp` or `protocol: udp`", at: node.location)
    return nil
  }
  guard let goal = Declaration.Goal.together(draft.goals) else {
    reading.error("only prefixes go together in `to`", help: "write a rule for each of the others", at: node.location)
    return nil
  }
  let rule = Declaration.Rule(
    name: name, isAllowing: isAllowing, source: source, destination: goal, transport: draft.transport, ports: draft.ports)
  return Declaration.Placed(rule, at: place(node.location))
}
