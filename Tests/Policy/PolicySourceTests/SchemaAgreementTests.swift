import JSON
import RoamwardCore
import SeededRandom
import Testing

@testable import PolicySource

/// docs/policy.schema.json, which editors use, against `check`: what one refuses the other refuses, but for what no schema can say.
@Suite struct SchemaAgreementTests {
  /// Errors about several keys, several tunnels, or other files.
  private static let beyondSchema = [
    "cannot be used", "there is no network", "there is no tunnel", "a kill switch needs", "cannot be acted on", "would block",
    "needs `match-domains`", "needs servers", "there is no time between", "under `action: disconnect`", "goes through itself",
    "no link to go through", "would go through another tunnel", "so `mtu`", "names itself", "that name themselves", "as the tunnel",
    "the options of", "looks like a secret", "never holds", "is in use", "would take", "there are",
  ]

  @Test("10,000 changed documents: the schema and `check` agree") func agree() throws {
    let schema = try JSON(parsing: policySchema().utf8)
    let checker = SchemaChecker(schema)
    var random = SplitMix64(seed: 14)
    let files = MemoryFiles(["/etc/p/corp.conf": Samples.wireGuard, "/etc/p/trusted.ssids": "Home\n"])
    let originals = try [Samples.policy, Samples.wholeLanguage].map {
      try #require(readYAML(SourceText(file: "p", bytes: Array($0.utf8))).root)
    }
    var (accepted, refused) = (0, 0)
    for number in 0..<10_000 {
      var document = random.pick(originals)
      for _ in 0..<Int.random(in: 1...2, using: &random) { random.change(&document) }
      let text = document.flow
      var all = files
      all["/etc/p/10.yaml"] = text
      let loaded = all.load()
      let found = checker.violations(in: document.asEditorsRead)
      let errors = loaded.diagnostics.filter { $0.severity == .error }.map(\.message)
      if errors.isEmpty {
        accepted += 1
        #expect(found == [], "\(number): check accepts \(text)")
      } else if found.isEmpty {
        #expect(errors.allSatisfy { error in Self.beyondSchema.contains { error.contains($0) } }, "\(number): \(errors) of \(text)")
      } else {
        refused += 1
      }
    }
    #expect(accepted > 500 && refused > 5000, "\(accepted) accepted, \(refused) refused")
  }

  @Test("patterns of ranges take each number of the range, and no other") func ranges() throws {
    for range in [0...0, 0...9, 1...32, 7...1234, 576...65535, 0...1000, 1...8784, 64...262_144] {
      let pattern = try Regex("^(\(SchemaPattern.number(range)))$")
      for number in Set(
        [0, range.lowerBound - 1, range.upperBound + 1] + (0..<3000).map { range.lowerBound + $0 * max(1, range.count / 2999) })
      {
        #expect((String(number).wholeMatch(of: pattern) != nil) == range.contains(number), "\(number) of \(range)")
      }
    }
  }
}

extension Node {
  /// As a YAML reader by the core schema of YAML 1.2 sees it: numbers and booleans are no texts.
  fileprivate var asEditorsRead: JSON {
    switch content {
    case .null, .refused: .null
    case .sequence(let items): .array(items.map(\.asEditorsRead))
    case .mapping(let entries): .object(entries.map { JSON.Member(key: $0.key, value: $0.value.asEditorsRead) })
    case .scalar(let text, false): .string(text)
    case .scalar(let text, true):
      switch text {
      case "null", "Null", "NULL": .null
      case "true", "True", "TRUE": true
      case "false", "False", "FALSE": false
      default:
        if let number = Int64(text) {
          .integer(number)
        } else if let number = Double(text), text.allSatisfy({ "0123456789.-+eE".contains($0) }) {
          .real(number)
        } else {
          .string(text)
        }
      }
    }
  }

  /// In one line.
  fileprivate var flow: String {
    switch content {
    case .null, .refused: "~"
    case .scalar(let text, let isPlain): isPlain && text.mayBePlain ? text : JSON.string(text).text()
    case .sequence(let items): "[\(items.map(\.flow).joined(separator: ", "))]"
    case .mapping(let entries): "{ \(entries.map { "\(JSON.string($0.key).text()): \($0.value.flow)" }.joined(separator: ", ")) }"
    }
  }
}

extension String {
  fileprivate var mayBePlain: Bool {
    guard let first, let last, first.isLetter || first.isNumber || "-+./~".contains(first), last != ":" else { return false }
    return (first != "-" || count > 1) && allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "_.~/:+-".contains($0)) }
  }
}

extension SplitMix64 {
  private static let words = [
    "~", "0", "1", "-1", "576", "1420", "70000", "1.5", "007", "true", "True", "FALSE", "yes", "off", "x y", "10.0.0.0/8", "10.0.0.0/33",
    "010.0.0.1", "2001:db8::/32", "fe80::1", "::ffff:192.0.2.1", "1::2::3", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7::", "12345::", "192.0.2.1",
    "256.1.1.1", "192.0.2.1/24", "corp.example", "corp.example.", ".corp.example", "corp..example", "*.corp.example", "*", ".", "..",
    "default", "5s", "0s", "00h", "8784h", "8785h", "99999999999ms", "24:00", "24:30", "23:59", "7:5", "mon-fri", "mon-", "connect",
    "disconnect", "evaluate-connection", "connect-if-needed", "never-connect", "tun0", "br0", "a/b", "a:b", "sixteen_letters_x", "none",
    "02:00:5e:10:00:01", "02-00-5e-10-00-01", "02:00:5e:10:00", "https://a.example/", "HTTP://a.example:8080?x", "ftp://a.example/",
    "https://a.example:0/", "https://[2001:db8::1]:443/x", "https://u:p@a.example/", "https://a.example/#x", "a.example:443",
    "10.0.0.80:3128", "1.2.3:80", "a.example:65536", "hex:00ff", "hex:0", "hex:", "17.*", "17.300.*", "1.2.3.4.*", "8MiB", "1KiB", "400d",
    "7d", "hashed", "always", "on", "enterprise", "vpn.service", "-x.service", ".service", "accept", "corp.conf", "line\nline", "",
    "a longer text than any name of Wi-Fi", "ends with a space ", "1e3", "match", "no-match", "capture", "refuse", "home", "corp", "lab",
  ]

  /// Changes one place of a document.
  fileprivate mutating func change(_ node: inout Node) {
    let place = node.location
    switch node.content {
    case .mapping(var entries) where !entries.isEmpty && chance(0.92):
      let i = Int.random(in: entries.indices, using: &self)
      if chance(0.8) {
        var value = entries[i].value
        change(&value)
        entries[i] = Node.Entry(key: entries[i].key, keyLocation: place, value: value)
      } else if chance(0.5) {
        entries.remove(at: i)
      } else {
        let key = pick(KeyTable.policy.flatMap(\.keys))
        let example = readYAML(SourceText(file: "example", bytes: Array(key.example.utf8))).root ?? word(place)
        let name = chance(0.1) ? pick(["bogus", "-a", ".b", "a b", "1", "two words "]) : key.name
        if !entries.contains(where: { $0.key == name }) { entries.append(Node.Entry(key: name, keyLocation: place, value: example)) }
      }
      node = Node(content: .mapping(entries), location: place)
    case .sequence(var items) where !items.isEmpty && chance(0.85):
      let i = Int.random(in: items.indices, using: &self)
      if chance(0.8) { change(&items[i]) } else { items.remove(at: i) }
      node = Node(content: .sequence(items), location: place)
    default:
      switch Int.random(in: 0..<12, using: &self) {
      case 0: node = Node(content: .null, location: place)
      case 1: node = Node(content: .sequence([]), location: place)
      case 2: node = Node(content: .mapping([]), location: place)
      case 3: node = Node(content: .sequence([node]), location: place)
      case 4: node = Node(content: .sequence([word(place), word(place)]), location: place)
      default: node = word(place)
      }
    }
  }

  private mutating func word(_ place: Place) -> Node {
    let text = pick(Self.words)
    let isPlain = text.mayBePlain && chance(0.8)
    return Node(content: text == "~" && isPlain ? .null : .scalar(text, isPlain: isPlain), location: place)
  }
}

/// JSON Schema, draft 7, as far as policies need it.
private final class SchemaChecker {
  private let root: JSON
  private var patterns: [String: Regex<AnyRegexOutput>] = [:]
  /// The texts are few.
  private var matched: [String: [String: Bool]] = [:]

  init(_ root: JSON) { self.root = root }

  func violations(in value: JSON) -> [String] { violations(of: root, in: value, at: "") }

  private func holds(_ schema: JSON, _ value: JSON) -> Bool { violations(of: schema, in: value, at: "").isEmpty }

  private func violations(of schema: JSON, in value: JSON, at path: String) -> [String] {
    if case .bool(let holds) = schema { return holds ? [] : ["\(path): nothing is allowed"] }
    if let reference = schema["$ref"]?.string, let name = reference.split(separator: "/").last {
      guard let definition = root["definitions"]?[String(name)] else { return ["\(path): no definition \(name)"] }
      return violations(of: definition, in: value, at: path)
    }
    return (schema.members ?? []).flatMap { keyword in self.violations(of: keyword, of: schema, in: value, at: path) }
  }

  private func violations(of keyword: JSON.Member, of schema: JSON, in value: JSON, at path: String) -> [String] {
    func expect(_ holds: Bool) -> [String] { holds ? [] : ["\(path): \(keyword.key) \(keyword.value.text().prefix(80))"] }
    switch (keyword.key, keyword.value) {
    case ("$schema", _), ("title", _), ("description", _), ("default", _), ("examples", _), ("definitions", _), ("then", _), ("else", _):
      return []
    case ("type", let types):
      return expect((types.array?.compactMap(\.string) ?? [types.string ?? ""]).contains { value.types.contains($0) })
    case ("enum", .array(let words)): return expect(words.contains(value))
    case ("const", let word): return expect(word == value)
    case ("pattern", .string(let pattern)): return expect(value.string.map { matches($0, pattern) } ?? true)
    case ("minimum", let least): return expect(value.integer.map { $0 >= least.integer ?? 0 } ?? true)
    case ("maximum", let most): return expect(value.integer.map { $0 <= most.integer ?? 0 } ?? true)
    case ("minItems", let count): return expect(value.array.map { $0.count >= count.integer ?? 0 } ?? true)
    case ("maxItems", let count): return expect(value.array.map { $0.count <= count.integer ?? 0 } ?? true)
    case ("minProperties", let count): return expect(value.members.map { $0.count >= count.integer ?? 0 } ?? true)
    case ("maxProperties", let count): return expect(value.members.map { $0.count <= count.integer ?? 0 } ?? true)
    case ("required", .array(let names)):
      return expect(value.members.map { members in names.allSatisfy { name in members.contains { $0.key == name.string } } } ?? true)
    case ("properties", .object(let properties)):
      return (value.members ?? []).flatMap { member in
        properties.first { $0.key == member.key }.map { violations(of: $0.value, in: member.value, at: "\(path).\(member.key)") } ?? []
      }
    case ("patternProperties", .object(let properties)):
      return (value.members ?? []).flatMap { member in
        properties.filter { matches(member.key, $0.key) }.flatMap {
          violations(of: $0.value, in: member.value, at: "\(path).\(member.key)")
        }
      }
    case ("additionalProperties", let rest):
      let known = Set((schema["properties"]?.members ?? []).map(\.key))
      let forms = (schema["patternProperties"]?.members ?? []).map(\.key)
      return (value.members ?? []).filter { member in !known.contains(member.key) && !forms.contains { matches(member.key, $0) } }
        .flatMap { violations(of: rest, in: $0.value, at: "\(path).\($0.key)") }
    case ("items", .array(let first)):
      let items = value.array ?? []
      return zip(first, items).flatMap { violations(of: $0, in: $1, at: path) }
        + items.dropFirst(first.count).flatMap { violations(of: schema["additionalItems"] ?? true, in: $0, at: path) }
    case ("items", let item): return (value.array ?? []).flatMap { violations(of: item, in: $0, at: "\(path)[]") }
    case ("additionalItems", _): return []
    case ("anyOf", .array(let schemas)): return expect(schemas.contains { holds($0, value) })
    case ("oneOf", .array(let schemas)): return expect(schemas.count { holds($0, value) } == 1)
    case ("allOf", .array(let schemas)): return schemas.flatMap { violations(of: $0, in: value, at: path) }
    case ("not", let other): return expect(!holds(other, value))
    case ("if", let condition):
      let branch = holds(condition, value) ? schema["then"] : schema["else"]
      return branch.map { violations(of: $0, in: value, at: path) } ?? []
    default: return ["\(path): `\(keyword.key)` is not checked here"]
    }
  }

  private func matches(_ text: String, _ pattern: String) -> Bool {
    if let known = matched[pattern]?[text] { return known }
    let isMatch = isMatch(text, pattern)
    matched[pattern, default: [:]][text] = isMatch
    return isMatch
  }

  private func isMatch(_ text: String, _ pattern: String) -> Bool {
    if patterns[pattern] == nil { patterns[pattern] = try? Regex(pattern).matchingSemantics(.unicodeScalar) }
    return patterns[pattern].map { text.firstMatch(of: $0) != nil } ?? false
  }
}

extension JSON {
  fileprivate var types: [String] {
    switch self {
    case .null: ["null"]
    case .bool: ["boolean"]
    case .integer: ["integer", "number"]
    case .real: ["number"]
    case .string: ["string"]
    case .array: ["array"]
    case .object: ["object"]
    }
  }
}
