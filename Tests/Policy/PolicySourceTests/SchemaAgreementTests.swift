import JSON
import RoamwardCore
import SchemaCheck
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
