import ControlProtocol
import Glibc
import JSON
import LinuxIO
import SchemaCheck
import Testing

/// The documents that people's programs read, as files: what changes here breaks them.
@Suite struct GoldenTests {
  static let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }

  /// With `UPDATE_DOCS=1` in the environment the file is written anew instead of compared.
  static func compare(_ text: String, with path: String) throws {
    let path = "\(root)/\(path)"
    if getenv("UPDATE_DOCS") != nil { try TextFile.replace(path, with: Array(text.utf8), mode: 0o644) }
    let found = try String(decoding: TextFile.read(path), as: UTF8.self)
    #expect(found == text, "`UPDATE_DOCS=1 swift test --filter ControlProtocolTests` writes \(path) anew; read what changed")
  }

  /// The documents of one file: each as text, or all as lines.
  private func check<Document: Codable & Equatable>(_ name: String, _ documents: [Document], asLines: Bool = false) throws {
    let texts = documents.map { (document: Document) -> String in JSON(encoding: document).text(indented: !asLines) + "\n" }
    let path = "Tests/Agent/ControlProtocolTests/Golden/\(name).json"
    try Self.compare(texts.joined(), with: path)
    let file = try String(decoding: TextFile.read("\(Self.root)/\(path)"), as: UTF8.self)
    let read = asLines ? file.split(separator: "\n").map(String.init) : [file]
    let decoded = try read.map { (text: String) -> Document in try JSON(parsing: text.utf8).decoded() }
    #expect(decoded == documents)
  }

  @Test("status") func status() throws { try check("status", [Golden.status]) }
  @Test("status without an agent") func statusWithoutAgent() throws { try check("status-without-agent", [Golden.statusWithoutAgent]) }
  @Test("monitor") func monitor() throws { try check("monitor", Golden.events, asLines: true) }
  @Test("evaluate") func evaluate() throws { try check("evaluate", [Golden.evaluation]) }
  @Test("plan") func plan() throws { try check("plan", [Golden.plan]) }
  @Test("state") func state() throws { try check("state", [Golden.state]) }
  @Test("list") func list() throws { try check("list", [Golden.list]) }
  @Test("doctor") func doctor() throws { try check("doctor", [Golden.doctor]) }
  @Test("check") func check() throws { try check("check", [Golden.check]) }
  @Test("diff") func diff() throws { try check("diff", [Golden.diff]) }
  @Test("dns") func dns() throws { try check("dns", [Golden.dns]) }
  @Test("explain") func explain() throws { try check("explain", [Golden.explanation]) }
  @Test("explain --to") func explainPacket() throws { try check("explain-packet", [Golden.packet]) }
  @Test("import") func imports() throws { try check("import", [Golden.imports]) }
  @Test("network") func network() throws { try check("network", [try Golden.network()]) }
  @Test("simulate") func simulate() throws { try check("simulate", Golden.simulated, asLines: true) }
}

@Suite struct SchemaTests {
  @Test("the schemas in docs/schema are those of the declarations", arguments: PublishedSchema.allCases)
  func published(schema: PublishedSchema) throws {
    try GoldenTests.compare(try schema.json().text(indented: true) + "\n", with: "docs/schema/\(schema.rawValue).schema.json")
  }

  @Test("no other schema is in docs/schema") func files() {
    let agents = Folder.names(in: "\(GoldenTests.root)/docs/schema").filter { !$0.hasPrefix("gateway-") }
    #expect(Set(agents) == Set(PublishedSchema.allCases.map { "\($0.rawValue).schema.json" }))
  }

  static func documents(_ schema: PublishedSchema) throws -> [JSON] {
    let names =
      switch schema {
      case .status: ["status", "status-without-agent"]
      case .explain: ["explain", "explain-packet"]
      default: [schema.rawValue]
      }
    return try names.flatMap { name -> [JSON] in
      let text = String(
        decoding: try TextFile.read("\(GoldenTests.root)/Tests/Agent/ControlProtocolTests/Golden/\(name).json"), as: UTF8.self)
      let texts = schema == .monitor || schema == .simulate ? text.split(separator: "\n").map(String.init) : [text]
      return try texts.map { try JSON(parsing: $0.utf8) }
    }
  }

  @Test(
    "every golden file is as its schema says, and together they show every member that the schema has", arguments: PublishedSchema.allCases)
  func golden(schema: PublishedSchema) throws {
    let json = try JSON(parsing: try TextFile.read("\(GoldenTests.root)/docs/schema/\(schema.rawValue).schema.json"))
    let documents = try Self.documents(schema)
    #expect(!documents.isEmpty)
    for document in documents { #expect(violations(of: json, in: document) == []) }
    let shown = documents.reduce(into: Set<String>()) { $0.formUnion(keys(of: $1)) }
    #expect(json.keysOfSchema.subtracting(shown) == [])
  }

  @Test("the schema of one document is not that of another") func others() throws {
    for schema in PublishedSchema.allCases {
      for other in PublishedSchema.allCases where other != schema {
        for document in try Self.documents(other) { #expect(violations(of: try schema.json(), in: document) != [], "\(schema), \(other)") }
      }
    }
  }

  @Test("every member is in kebab case, and has a sentence", arguments: PublishedSchema.allCases)
  func dialect(schema: PublishedSchema) throws {
    for key in try schema.json().keysOfSchema {
      #expect(key.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-".contains($0) }, "\(key)")
    }
    try expectSentences(try schema.json(), "\(schema)")
  }

  private func expectSentences(_ schema: JSON, _ path: String) throws {
    for property in schema["properties"]?.members ?? [] {
      let about = property.value["description"]?.string ?? ""
      #expect(about.hasSuffix("."), "\(path).\(property.key)")
      try expectSentences(property.value, "\(path).\(property.key)")
    }
    let parts = (schema["anyOf"]?.array ?? []) + [schema["items"], schema["additionalProperties"]].compactMap({ $0 })
    for part in parts { try expectSentences(part, path) }
  }

  private func keys(of json: JSON) -> Set<String> {
    switch json {
    case .object(let members): members.reduce(into: []) { $0.formUnion(keys(of: $1.value).union([$1.key])) }
    case .array(let items): items.reduce(into: []) { $0.formUnion(keys(of: $1)) }
    default: []
    }
  }
}
