import LinuxIO
import Testing

/// Comments begin with the thing that they are about, and messages and documents have the words of the glossary.
@Suite struct PlainWordsTests {
  private static let openers: Set = [
    "What", "Whatever", "Whoever", "Who", "Whom", "Whose", "Where", "Wherever", "How", "Why",
  ]

  /// The comment blocks of a file that begin with a question word.
  static func riddles(in text: String) -> [String] {
    var (found, isInside): ([String], Bool) = ([], false)
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let code = line.drop { $0 == " " }
      let isComment = code.hasPrefix("//")
      if isComment, !isInside {
        let words = code.drop { $0 == "/" || $0 == " " }
        if openers.contains(String(words.prefix { $0.isLetter })) { found.append(String(code)) }
      }
      isInside = isComment
    }
    return found
  }

  @Test("no comment begins with a question word", arguments: ["Sources", "Tests", "Benchmarks", "examples"])
  func comments(folder: String) throws {
    for file in swiftFiles(in: "\(PureRingsTests.root)/\(folder)") where !file.hasSuffix("/PlainWordsTests.swift") {
      #expect(Self.riddles(in: String(decoding: try TextFile.read(file), as: UTF8.self)) == [], "\(file)")
    }
  }

  /// Words for which the glossary has another one: drift, manual override, blocks, last known good, on-link, no problems found, reconnect.
  private static let avoided = [
    "held up by hand", "holds back", "keeps the resolver", "kept apart", "good last", "nothing is wrong", "things are well", "forgiven",
    "begins anew", "as the policies want it", "the firewall is open",
  ]

  /// The avoided words of a text without what stands between backticks.
  static func slips(in text: String) -> [String] {
    let prose = text.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 0 }
      .map { $0.element.lowercased() }.joined(separator: " ")
    return avoided.filter { prose.contains($0) }
  }

  @Test("messages have the words of the glossary") func messages() {
    for file in allSources() {
      for line in file.text.split(separator: "\n") where !line.drop(while: { $0 == " " }).hasPrefix("//") {
        let literals = line.split(separator: "\"", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
        for literal in literals { #expect(Self.slips(in: String(literal.element)) == [], "\(file.name): \(line)") }
      }
    }
  }

  @Test("so have documents") func documents() throws {
    let folders = ["docs", "docs/how-to", "docs/man", "docs/decisions"]
    let names = folders.flatMap { folder in
      Folder.names(in: "\(PureRingsTests.root)/\(folder)").filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
    }
    #expect(names.count > 60)
    for name in names + ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
      #expect(Self.slips(in: String(decoding: try TextFile.read("\(PureRingsTests.root)/\(name)"), as: UTF8.self)) == [], "\(name)")
    }
  }

  @Test("the check sees an opener, and an avoided word") func detector() {
    let text = "/// What it is.\nlet a = 1\n/// A thing,\n/// Where it is.\n  // How so\n"
    #expect(Self.riddles(in: text) == ["/// What it is."])
    #expect(Self.riddles(in: text + "let b = 2\n  // How so\n") == ["/// What it is.", "// How so"])
    #expect(Self.slips(in: "The tunnel is Held up by hand; `begins anew`") == ["held up by hand"])
  }
}
