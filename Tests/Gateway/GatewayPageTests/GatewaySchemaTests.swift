import GatewayCore
import GatewayPage
import Glibc
import JSON
import KernelModel
import LinuxIO
import NetworkTypes
import SchemaCheck
import TestKit
import Testing

/// The documents that administrators' programs read. Their schemas are files: what changes there breaks such a program.
@Suite struct GatewaySchemaTests {
  static let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }

  @Test("the schemas in docs/schema are those of the declarations", arguments: PublishedGatewaySchema.allCases)
  func published(schema: PublishedGatewaySchema) throws {
    let (path, text) = ("\(Self.root)/docs/schema/\(schema.file)", try schema.json().text(indented: true) + "\n")
    if getenv("UPDATE_DOCS") != nil { try TextFile.replace(path, with: Array(text.utf8), mode: 0o644) }
    let found = String(decoding: (try? TextFile.read(path)) ?? [], as: UTF8.self)
    #expect(found == text, "`UPDATE_DOCS=1 swift test --filter GatewaySchemaTests` writes \(path) anew; read what changed")
  }

  @Test("no other schema of the gateway is in docs/schema") func files() {
    let files = Folder.names(in: "\(Self.root)/docs/schema").filter { $0.hasPrefix("gateway-") }
    // Of files that declare a gateway (GatewayFileTests).
    #expect(Set(files) == Set(PublishedGatewaySchema.allCases.map(\.file)).union(["gateway-file.schema.json"]))
  }

  @Test("every member is in kebab case, and has a sentence", arguments: PublishedGatewaySchema.allCases)
  func dialect(schema: PublishedGatewaySchema) throws {
    for key in try schema.json().keysOfSchema {
      #expect(key.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-".contains($0) }, "\(key)")
    }
    try expectSentences(try schema.json(), "\(schema)")
  }

  private func expectSentences(_ schema: JSON, _ path: String) throws {
    for property in schema["properties"]?.members ?? [] {
      #expect(property.value["description"]?.string?.hasSuffix(".") == true, "\(path).\(property.key)")
      try expectSentences(property.value, "\(path).\(property.key)")
    }
    for part in (schema["anyOf"]?.array ?? []) + [schema["items"]].compactMap({ $0 }) { try expectSentences(part, path) }
  }

  @Test("documents of a gateway with all that they can show are as their schemas say") func documents() throws {
    var work = try sample()
    let bob = try #require(work.directory.user(named: try name("bob")))
    _ = try work.bind(.init(user: bob.id, device: try name("laptop"), publicKey: try key(11), factors: "password", source: "192.0.2.7"))
    try work.endSession(of: try path("bob/laptop"))
    try work.setLocked(true, try name("bob"))
    try work.change(PushedSettings(), deviceLimit: 9, for: .everybody, named: "everybody")
    var state = WireGuardState(engine: .kernel)
    state.peers = [.init(publicKey: try key(3), endpoint: Endpoint("198.51.100.2:4711"), lastHandshake: now.seconds - 10)]
    let status = GatewayStatus(directory: work.directory, isServing: true, device: state, now: now)
    let entry = AuditEntry(
      sequence: 1, time: now, record: .init(actor: "root", verb: "user lock", object: "bob", detail: "stolen"), hash: [])
    let asker = try #require(PageAsker(work.directory, from: try address("10.77.0.3"), nil, at: now))
    let question = AccessQuestion(user: bob.id, destination: try address("10.20.1.2"), transport: .tcp, port: 443)
    let added = [
      AddedDeviceReport(device: "phone", secret: true, file: "[Interface]", code: ["01"]),
      AddedDeviceReport(device: "phone", secret: false, file: "[Interface]", code: nil),
    ]
    let invitation = Invitation(user: try name("bob"), isNew: true, token: 7, until: now)
    let links = [
      LinkReport(user: try name("bob"), link: "roamward://vpn.example.com/?pin=x", code: nil),
      LinkReport(user: try name("bob"), link: "roamward://vpn.example.com/?pin=x", code: ["01"], invitation: invitation),
    ]
    let users = work.directory.users.values.map { UserReport($0, status, lock: entry, page: nil) }
    let events: [GatewayEvent] = [
      .serving(true), .store(away: nil), .store(away: "no answer"), .connected(try path("a/b"), from: nil), .disconnected(try path("a/b")),
      .moved(try path("a/b"), to: try #require(Endpoint("192.0.2.1:1"))), .audit(entry),
    ]
    let found: [(PublishedGatewaySchema, [JSON])] = [
      (.status, [JSON(encoding: status.report())]), (.sessions, [JSON(encoding: status.sessionReports)]),
      (.user, users.map { JSON(encoding: $0.document) }),
      (
        .page,
        [
          JSON(encoding: status.page(of: asker, nil)), JSON(encoding: work.directory.page(at: now, within: 10_000)),
          JSON(encoding: work.directory.page(of: question, within: 10_000)), JSON(encoding: work.directory.rules(within: 10_000)),
          JSON(encoding: AuditReport([entry], within: 10_000)),
        ] + added.map { JSON(encoding: $0) } + links.map { JSON(encoding: $0) }
      ),
      (.monitor, events.map { GatewayEventReport($0, at: now).json }),
    ]
    for (schema, documents) in found {
      for document in documents { #expect(violations(of: try schema.json(), in: document) == [], "\(document.text())") }
      // Of one command's schema, another's document is none.
      for (other, strangers) in found where other != schema {
        for document in strangers { #expect(violations(of: try schema.json(), in: document) != [], "\(schema): \(document.text())") }
      }
    }
  }
}
