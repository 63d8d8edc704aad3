import LinuxIO
import Testing

/// Each case of an enumeration with texts has a sentence of its own: users write or see it, or a protocol carries it.
@Suite struct DocumentedCasesTests {
  /// The cases without a sentence, and those that share a line.
  static func faults(in text: String) -> (cases: Int, faults: [String]) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    var (count, faults): (Int, [String]) = (0, [])
    for (start, line) in lines.enumerated() {
      let words = line.split(separator: " ")
      guard let place = words.firstIndex(of: "enum"), words.count > place + 2, words[place + 1].hasSuffix(":"), place > 0,
        ["public", "package"].contains(words[0]), words[place + 2].filter({ $0 != "," }) == "String"
      else { continue }
      let indent = line.prefix { $0 == " " }
      let body = lines[(start + 1)...].prefix { $0 != "\(indent)}" }
      for index in body.indices where body[index].hasPrefix("\(indent)  case ") {
        count += 1
        if !lines[index - 1].hasPrefix("\(indent)  /// ") { faults.append("no sentence: \(body[index])") }
        if body[index].prefix(while: { $0 != "(" && $0 != "=" }).contains(",") { faults.append("one case a line: \(body[index])") }
      }
    }
    return (count, faults)
  }

  /// Enumerations without texts that users write or see in other ways.
  static let others = [("KernelModel/Steps/Step", "Step"), ("RoamwardCore/FactTable/Condition", "Condition")]

  @Test("each case with a text has a sentence") func cases() throws {
    var count = 0
    for file in allSources() {
      let found = Self.faults(in: file.text)
      count += found.cases
      #expect(found.faults == [], "\(file.name)")
    }
    #expect(count > 400)
  }

  @Test("so has each case of others that users write or see", arguments: others)
  func cases(file: String, name: String) throws {
    let path = sources(of: String(file.prefix { $0 != "/" }))
    let text = String(decoding: try TextFile.read("\(path)/\(file.drop { $0 != "/" }).swift"), as: UTF8.self)
    let start = try #require(text.firstRange(of: "enum \(name): ")).lowerBound
    let found = Self.faults(in: "package enum \(name): String {" + text[start...].drop { $0 != "\n" })
    #expect(found.cases > 3 && found.faults == [])
  }

  @Test("the check sees a case without a sentence, and two on a line") func detector() {
    let text = "  package enum A: String, Sendable {\n    /// A.\n    case a\n    case b\n    /// C.\n    case c, d\n  }\n"
    #expect(Self.faults(in: text).cases == 3)
    #expect(Self.faults(in: text).faults == ["no sentence:     case b", "one case a line:     case c, d"])
  }
}
