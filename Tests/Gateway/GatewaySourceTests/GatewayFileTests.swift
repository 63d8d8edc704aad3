import GatewayCore
import GatewayLogin
import Glibc
import JSON
import LinuxIO
import NetworkTypes
import SchemaCheck
import SeededRandom
import Testing

@testable import GatewaySource
@testable import PolicySource

/// Files that declare a gateway: text → values, and back.
@Suite struct GatewayFileTests {
  static let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }

  /// All keys.
  static let whole = """
    version: 1
    gateway: { endpoint: vpn.example.com, link: wg-gateway, name: paris, forwarding: false }
    pools:
      staff: { prefix: 10.77.0.0/24, masquerade: true }
      roaming: { prefix: fd77::/64, everywhere: true }
    groups:
      staff: { precedence: 10, members: [alice, bob] }
      admins:
      engineers: { precedence: 5 }
    users:
      alice:
      bob: { until: 2027-01-31 }
    settings:
      everybody: { routes: [10.20.0.0/16, fd20::/32], dns: 10.20.0.53, search: corp.example, devices: 3 }
      groups:
        staff: { mtu: 1380, routes: [] }
      users:
        alice: { keepalive: 25 }
      devices:
        alice/phone: { keepalive: 0 }
    access:
      - deny: printers
        from: everybody
        to: 10.20.9.0/24
      - { allow: web, from: group:staff, to: [10.20.0.0/16, 10.30.0.0/16], protocol: tcp, ports: [443, 8000-8100] }
      - { allow: friends, from: user:alice, to: group:staff }
      - { allow: rest, from: group:admins, to: everything }
    logins:
      banner: Members only
      openid:
        issuer: https://login.example.com/realms/corp
        client-id: roamward
        client-secret-file: /etc/roamward-gateway/secret
        authority-file: /etc/ssl/corp.pem
        user-claim: email
        groups-claim: realm_access.roles
        scopes: [profile, email]
        groups: { engineers: Engineering }
        create-users: true
      pam: { service: roamward, create-users: true, timeout: 5 }
    relay: { port: 8443 }
    page: { port: 8080, administrators: admins, operators: staff, title: Example Corp, names: [gateway.corp.example] }
    store: { stale-after: 24h }
    expect:
      - alice → 10.20.0.5:443 allowed
      - alice -> 10.20.9.5 denied
      - "bob → [fd20::1]:53 udp denied"

    """

  private func read(_ text: String) -> ParsedGatewayFile { readGatewayFile("/etc/roamward-gateway/gateway.yaml", bytes: Array(text.utf8)) }

  private func errors(_ text: String) -> [String] {
    read("version: 1\n" + text).diagnostics.filter { $0.severity == .error }.map { fault in
      // FILE:LINE:COLUMN
      "\(fault.rendered().split(separator: ":")[1]): \(fault.message)"
    }
  }

  @Test("all keys are read, each with its value and its place") func keys() throws {
    let parsed = read(Self.whole)
    #expect(parsed.diagnostics == [] && !parsed.isEmpty)
    let file = parsed.file
    #expect(file.declaration.site?.value.endpoint == Endpoint("vpn.example.com:51820"))
    #expect(file.declaration.pools?.value.map(\.value.isEverywhere) == [false, true])
    #expect(file.declaration.groups.map(\.value.members?.count) == [2, nil, nil])
    #expect(file.declaration.users.map(\.value.until) == [nil, Timestamp("2027-01-31T00:00:00.000Z")])
    #expect(file.declaration.settings.map(\.value.scope.text) == ["everybody", "group staff", "user alice", "device alice/phone"])
    #expect(file.declaration.settings[1].value.pushed.routes == [])
    #expect(file.declaration.rules?.value.map(\.value.name.description) == ["printers", "web", "friends", "rest"])
    #expect(file.declaration.rules?.value[1].place.line == 25)
    #expect(file.host.openID?.scopes == ["openid", "profile", "email"] && file.host.pam?.seconds == 5)
    #expect(file.host.page?.port == 8080 && file.host.texts[.relay]?.value == "8443\n")
    #expect(file.host.texts[.staleAfter]?.value == "86400\n" && file.host.texts[.forwarding]?.value == "off\n")
    #expect(
      file.expectations.map(\.value.description) == [
        "alice → 10.20.0.5:443 allowed", "alice → 10.20.9.5 denied", "bob → [fd20::1]:53 udp denied",
      ])
  }

  @Test("`off` is the end of a service; a key that is absent declares nothing") func off() {
    let host = read("version: 1\nlogins: off\nrelay: off\npage: off\n").file.host
    #expect(host.logins?.value == false && Set(host.texts.keys) == [.relay, .page])
    #expect(host.texts.values.allSatisfy { $0.value == nil })
    #expect(read("version: 1\n").file == GatewayFile())
    #expect(read("").isEmpty && read("# nothing\n").isEmpty)
  }

  @Test("bad values name their place and the cure") func faults() {
    #expect(errors("users: { Alice: }") == ["2: \"Alice\" cannot be the name of a user"])
    #expect(errors("groups: { \"a b\": }") == ["2: \"a b\" cannot be the name of a group"])
    #expect(errors("access: [ { from: everybody, to: everything } ]") == ["2: a rule has one of `allow` and `deny`, with its name"])
    #expect(errors("access: [ { allow: a, deny: b, from: everybody, to: everything } ]").count == 1)
    #expect(errors("access: [ { allow: a, from: everybody, to: everything, ports: 80 } ]") == ["2: ports need a protocol"])
    #expect(errors("access: [ { allow: a, from: everybody, to: [everything, 10.0.0.0/8] } ]") == ["2: only prefixes go together in `to`"])
    #expect(errors("access: [ { allow: a, from: everybody, to: [] } ]").count == 1)
    #expect(errors("access: [ { allow: a, from: everybody, to: ~ } ]").count == 1)
    #expect(errors("settings: { devices: { alice/phone: { devices: 3 } } }") == ["2: a device has no devices"])
    #expect(errors("expect: [ alice may pass ]").count == 1)
    #expect(errors("pools: { a: { prefix: 10.0.0.0/33 } }").count == 1)
    #expect(errors("gateway: { link: x }") == ["2: `endpoint` is missing in `gateway`"])
    #expect(errors("gatewai: { endpoint: x }") == ["2: unknown key \"gatewai\" in a file of a gateway"])
    #expect(errors("logins: { openid: { issuer: http://x, client-id: a } }").count == 1)
  }

  @Test("what is printed is read as the same") func round() throws {
    let file = read(Self.whole).file
    let text = file.text
    let again = read(text)
    #expect(again.diagnostics == [], "\(text)")
    #expect(again.file.text == text)
    #expect(again.file.declaration.withoutPlaces == file.declaration.withoutPlaces)
    #expect(again.file.host.texts.mapValues(\.value) == file.host.texts.mapValues(\.value))
  }

  @Test("the example of each key is read without an error", arguments: KeyTable.gateway.indices) func examples(index: Int) {
    let table = KeyTable.gateway[index]
    for key in table.keys {
      let errors = table.read("\(key.name): \(key.example)", nil).filter { $0.severity == .error && !$0.message.contains("is missing in") }
      #expect(errors == [], "\(table.subject), \(key.name): \(errors.map { $0.rendered() })")
      #expect(key.about.hasSuffix("."), "\(key.name)")
    }
  }

  @Test("the schema and the reference are those of the declarations") func documents() throws {
    try compare(gatewayFileSchema(), with: "docs/schema/gateway-file.schema.json")
    var parts = try Self.text("docs/gateway-reference.md").components(separatedBy: "<!-- keys of ")
    var seen: [String] = []
    for i in parts.indices.dropFirst() {
      let subject = String(parts[i].prefix { $0 != ">" }.dropLast(3))
      let table = try #require(KeyTable.gateway.first { $0.subject == subject }, "\(subject)")
      seen.append(subject)
      let end = try #require(parts[i].firstRange(of: "<!-- end -->"))
      parts[i] = "\(subject) -->\n\(table.markdown)" + parts[i][end.lowerBound...]
    }
    #expect(Set(seen) == Set(KeyTable.gateway.map(\.subject)))
    try compare(parts.joined(separator: "<!-- keys of "), with: "docs/gateway-reference.md")
  }

  /// Values that the reader takes are as the schema says, and the reverse for single changes.
  @Test("the schema agrees with the reader on changed files", arguments: 0..<20) func schema(seed: UInt64) throws {
    let checker = SchemaChecker(try JSON(parsing: Array(gatewayFileSchema().utf8)))
    var random = SplitMix64(seed: seed)
    let lines = Self.whole.split(separator: "\n").map(String.init)
    let words = ["~", "true", "0", "99999999", "[]", "{}", "\"\"", "off", "x", "[1, 2]", "10.0.0.0/8", "{ a: 1 }", "-1", "group:x"]
    for _ in 0..<40 {
      var changed = lines
      let place = Int(random.next() % UInt64(lines.count))
      if random.next() % 3 == 0 {
        changed.remove(at: place)
      } else if let colon = changed[place].firstIndex(of: ":") {
        changed[place] = changed[place][...colon] + " " + words[Int(random.next() % UInt64(words.count))]
      }
      let text = changed.joined(separator: "\n") + "\n"
      let source = SourceText(file: "x", bytes: Array(text.utf8))
      guard let root = readYAML(source).root, !readYAML(source).diagnostics.hasErrors else { continue }
      let faults = read(text).diagnostics.filter { $0.severity == .error }
      let violations = checker.violations(in: root.asEditorsRead)
      // Rules that no schema of this kind says: names that are declared twice, what goes together in a rule, and limits of other files.
      let others = ["one of `allow`", "ports need", "go together", "openid:", "pam:", "at most", "a test such as", "is missing in"]
      if faults.isEmpty { #expect(violations == [], "\(changed[min(place, changed.count - 1)])") }
      if violations.isEmpty {
        #expect(faults.filter { fault in !others.contains { fault.message.contains($0) } }.map(\.message) == [], "\(text)")
      }
    }
  }

  private static func text(_ path: String) throws -> String { String(decoding: try TextFile.read("\(root)/\(path)"), as: UTF8.self) }

  private func compare(_ text: String, with path: String) throws {
    if getenv("UPDATE_DOCS") != nil { try TextFile.replace("\(Self.root)/\(path)", with: Array(text.utf8), mode: 0o644) }
    #expect(((try? Self.text(path)) ?? "") == text, "run the tests with UPDATE_DOCS=1 and read what changed")
  }
}

extension KeyTable {
  static let gateway = [
    KeyTable(gatewayFileKeys), KeyTable(siteKeys), KeyTable(poolKeys), KeyTable(groupKeys), KeyTable(userKeys), KeyTable(scopeKeys),
    KeyTable(settingKeys), KeyTable(accessKeys), KeyTable(loginKeys), KeyTable(openIDKeys), KeyTable(pamKeys), KeyTable(relayKeys),
    KeyTable(pageKeys), KeyTable(storeKeys),
  ]
}

extension Node {
  /// The value with null for nothing.
  fileprivate var asEditorsRead: JSON {
    switch content {
    case .null: .null
    case .sequence(let nodes): .array(nodes.map(\.asEditorsRead))
    case .mapping(let entries): .object(entries.map { JSON.Member(key: $0.key, value: $0.value.asEditorsRead) })
    case .scalar, .refused: JSON(self)
    }
  }
}

extension Declaration {
  /// All values, in their order.
  fileprivate var withoutPlaces: [String] {
    [site.map { "\($0.value)" } ?? ""] + (pools?.value.map { "\($0.value)" } ?? []) + groups.map { "\($0.value)" }
      + users.map { "\($0.value)" } + settings.map { "\($0.value)" } + (rules?.value.map { "\($0.value)" } ?? [])
  }
}

extension String {
  fileprivate func components(separatedBy separator: String) -> [String] {
    var parts: [String] = []
    var rest = self[...]
    while let place = rest.firstRange(of: separator) {
      parts.append(String(rest[..<place.lowerBound]))
      rest = rest[place.upperBound...]
    }
    return parts + [String(rest)]
  }
}
