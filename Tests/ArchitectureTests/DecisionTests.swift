import LinuxIO
import Testing

/// docs/decisions has one document for each subject, all in one form, and an index. Mentions of decisions lead to documents.
@Suite struct DecisionTests {
  /// The names of the documents, without the index.
  static let documents = Folder.names(in: "\(PureRingsTests.root)/docs/decisions").filter { $0.hasSuffix(".md") && $0 != "README.md" }

  /// Files and folders that mention decisions.
  static let places = [
    "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "Package.swift", "README.md", "Sources", "Tests", "docs", "examples", "packaging",
    "scripts",
  ]

  @Test("a document has the headings of a decision, and the name of its number and title", arguments: documents)
  func form(name: String) throws {
    let lines = try text("docs/decisions/\(name)").split(separator: "\n").map(String.init)
    let first = try #require(lines.first)
    let number = try #require(Int(name.prefix(4)))
    #expect(first.hasPrefix("# \(number). "), "\(name)")
    #expect(name == Self.fileName(number: number, title: Self.title(of: first)))
    let headings = lines.filter { $0.hasPrefix("#") && $0 != first }
    let needed = ["## Context", "## Decision", "## Consequences"]
    let isInForm = headings == needed || headings == needed + ["## Alternatives"]
    #expect(isInForm, "\(name): \(headings)")
  }

  @Test("a file name has four digits and the words of the title") func names() {
    #expect(Self.title(of: "# 7. DNS, a name's way: 2.0") == "DNS, a name's way: 2.0")
    #expect(Self.fileName(number: 7, title: "DNS, a name's way: 2.0") == "0007-dns-a-name-s-way-2-0.md")
  }

  @Test("the index has each decision once, with its title, and there are at most 45") func index() throws {
    #expect(Self.documents.count > 30 && Self.documents.count <= 45)
    var expected: [String] = []
    for name in Self.documents {
      let lines = try text("docs/decisions/\(name)").split(separator: "\n").map(String.init)
      let first = try #require(lines.first)
      let number = try #require(Int(name.prefix(4)))
      expected.append("| \(number) | [\(Self.title(of: first))](\(name)) | accepted |")
    }
    let lines = try text("docs/decisions/README.md").split(separator: "\n").map(String.init)
    let rows = lines.filter { $0.hasPrefix("| ") && $0.contains("](") }
    #expect(rows.sorted() == expected.sorted())
  }

  @Test("each mention of a decision leads to a document", arguments: places) func mentions(place: String) {
    // This file mentions decisions that are not there.
    for file in files(at: place) where !file.hasSuffix("/DecisionTests.swift") {
      guard let bytes = try? TextFile.read("\(PureRingsTests.root)/\(file)") else { continue }
      let text = String(decoding: bytes, as: UTF8.self)
      guard text.contains("ecision") else { continue }
      let faults = Self.faults(in: text, isDecision: file.hasPrefix("docs/decisions/"))
      #expect(faults.isEmpty, "\(file): \(faults)")
    }
  }

  @Test("a mention that leads nowhere is noticed, by its number, its name or its link") func noticed() throws {
    let name = try #require(Self.documents.first { $0.hasPrefix("0003-") })
    let good = "decision 3, docs/decisions/0003. [Decision\n3](../decisions/\(name)) [table](decisions/\(name)) decisions 3"
    #expect(Self.faults(in: good, isDecision: false) == [])
    #expect(Self.faults(in: "[decision 3](\(name))", isDecision: true) == [])
    #expect(Self.faults(in: "decision 9998", isDecision: false) == ["decision 9998"])
    #expect(Self.faults(in: "(docs/decisions/9998)", isDecision: false) == ["decisions/9998"])
    #expect(Self.faults(in: "[x](decisions/0003-other.md)", isDecision: false) == ["decisions/0003-other"])
    #expect(Self.faults(in: "[x](0003-other.md)", isDecision: true) == ["decisions/0003-other"])
    #expect(Self.faults(in: "[decision 4](decisions/\(name))", isDecision: false) == ["decision 4 is \(name)"])
  }

  /// The mentions in a text that lead to no document, or to another one than their label says. In a decision, links to others have no
  /// folder.
  static func faults(in text: String, isDecision: Bool) -> [String] {
    let words = text.split { $0.isWhitespace }.joined(separator: " ")
    var faults: [String] = []
    for part in words.split(separator: "ecision", omittingEmptySubsequences: false).dropFirst() {
      let rest = part.hasPrefix("s ") ? part.dropFirst(2) : part.hasPrefix(" ") ? part.dropFirst(1) : ""
      guard let number = Int(String(rest.prefix { isDigit($0) })) else { continue }
      let start = "\(fourDigits(number))-"
      if !documents.contains(where: { $0.hasPrefix(start) }) { faults.append("decision \(number)") }
    }
    var mentioned: [String] = []
    for part in words.split(separator: "decisions/", omittingEmptySubsequences: false).dropFirst() {
      mentioned.append(stem(of: String(part)))
    }
    let parts = words.split(separator: "](", omittingEmptySubsequences: false).map(String.init)
    for (label, rest) in zip(parts, parts.dropFirst()) {
      let target = String(rest.prefix { $0 != ")" })
      let isInFolder = target.contains("decisions/")
      guard isInFolder || isDecision, let file = target.split(separator: "/").last.map(String.init) else { continue }
      guard let linked = Int(String(file.prefix(4))) else { continue }
      if !isInFolder { mentioned.append(stem(of: file)) }
      let last = label.split { $0 == " " || $0 == "[" }.last.map(String.init) ?? ""
      if let number = Int(last), number != linked { faults.append("decision \(number) is \(file)") }
    }
    for name in mentioned where Int(String(name.prefix(4))) != nil {
      let isThere = documents.contains { name.count == 4 ? $0.hasPrefix("\(name)-") : $0 == "\(name).md" }
      if !isThere { faults.append("decisions/\(name)") }
    }
    return faults
  }

  /// The letters, digits and hyphens at the start of a text: a file name without its suffix.
  private static func stem(of text: String) -> String {
    String(text.prefix { $0 == "-" || isDigit($0) || ($0.isASCII && $0.isLetter) })
  }

  private static func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }

  private static func fourDigits(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }

  /// The first line of a document without its mark and number.
  private static func title(of line: String) -> String {
    line.split(separator: " ", omittingEmptySubsequences: false).dropFirst(2).joined(separator: " ")
  }

  private static func fileName(number: Int, title: String) -> String {
    let words = title.lowercased().split { !$0.isASCII || !($0.isLetter || $0.isNumber) }
    return "\(fourDigits(number))-\(words.joined(separator: "-")).md"
  }

  /// The file at a path of the repository, or all files below a folder.
  private func files(at path: String) -> [String] {
    let names = Folder.names(in: "\(PureRingsTests.root)/\(path)")
    return names.isEmpty ? [path] : names.flatMap { files(at: "\(path)/\($0)") }
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try TextFile.read("\(PureRingsTests.root)/\(path)"), as: UTF8.self)
  }
}
