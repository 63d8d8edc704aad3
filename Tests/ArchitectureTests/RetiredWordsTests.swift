import Testing

/// One thing has one word (docs/glossary.md): no declaration has a word that another one has replaced.
@Suite struct RetiredWordsTests {
  /// Words of names, in lower case, and the words to use instead.
  private static let retired = [
    "rehearsal": "warm up", "rehearse": "warm up", "rehearsed": "warmed up",
    "grain": "answer interval",
    "desk": "table, queue or service",
    "kept policies": "last known good policies", "last good": "last known good", "policy fallback": "last known good use",
    "stand in": "replaced file", "stand ins": "replaced files",
    "standing orders": "plan inputs", "standings": "current tunnels",
    "firewall release": "kill switch suspension",
  ]

  private static let kinds: Set = ["struct", "class", "enum", "protocol", "actor", "typealias", "func", "var", "let", "case"]

  /// The words of a name: `isStandIn` has `is`, `stand` and `in`.
  static func words(of name: some StringProtocol) -> [String] {
    var words: [String] = []
    var isInWord = false
    for letter in name {
      guard letter.isLetter else {
        isInWord = false
        continue
      }
      if isInWord, letter.isLowercase {
        words[words.count - 1] += String(letter)
      } else {
        words.append(letter.lowercased())
      }
      isInWord = true
    }
    return words
  }

  /// The declared names of a text that have a retired word, with the words to use instead.
  static func slips(in text: String) -> [String] {
    text.split(separator: "\n").flatMap { line -> [String] in
      let code = line.drop { $0 == " " }
      if code.hasPrefix("//") { return [] }
      let parts = code.split(separator: " ")
      return zip(parts, parts.dropFirst()).filter { kinds.contains(String($0.0)) }.flatMap { _, declared -> [String] in
        if code.contains("func note"), notesAnew(code) { return ["\(declared.prefix { $0 != "(" }): record"] }
        let name = declared.drop { $0 == "`" }.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        let phrase = " \(words(of: name).joined(separator: " ")) "
        return retired.sorted { $0.key < $1.key }.filter { phrase.contains(" \($0.key) ") }.map { "\(name): \($0.value)" }
      }
    }
  }

  /// Whether a function keeps something in mind: a note is a file, and a function that is named after one makes its name or its text.
  private static func notesAnew(_ code: some StringProtocol) -> Bool {
    String(code).firstMatch(of: /func note[A-Z(<]/) != nil && !code.contains("-> String") && !code.contains("-> JSON")
  }

  @Test("no declaration has a retired word") func sources() {
    for file in allSources() { #expect(Self.slips(in: file.text) == [], "\(file.name)") }
  }

  @Test("the check sees types, functions, properties and cases") func detector() {
    #expect(Self.slips(in: "package struct LoginDesk {") == ["LoginDesk: table, queue or service"])
    #expect(Self.slips(in: "  mutating func rehearse() {") == ["rehearse: warm up"])
    #expect(Self.slips(in: "  private let slowGrain = 3") == ["slowGrain: answer interval"])
    #expect(Self.slips(in: "    case standIns = \"stand-ins\"") == ["standIns: replaced files"])
    #expect(Self.slips(in: "  mutating func noteSleep() -> Bool {") == ["noteSleep: record"])
    #expect(Self.slips(in: "  private func note(_ name: String) -> String {") == [])
    #expect(Self.slips(in: "final class DesktopMenu {\n  // the desk\n  let standInside = desk") == [])
  }
}
