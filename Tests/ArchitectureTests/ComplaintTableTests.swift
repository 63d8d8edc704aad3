import LinuxIO
import Testing

/// `docs/complaints.md` names a test for every row. A table that names tests which are not there is worth nothing.
@Suite struct ComplaintTableTests {
  /// A row by its number, and the tests that it names.
  struct Row {
    let number: String
    let cells: [String]
    let tests: [(file: String, name: String)]
  }

  static func rows(of text: String) -> [Row] {
    text.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| |") }.map { line in
      let cells = line.split(separator: "|").map(trimmed)
      let spans = (cells.last ?? "").split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map(
        \.element)
      return Row(
        number: cells.first ?? "", cells: cells,
        tests: spans.map { span in
          let parts = span.split(separator: ":", maxSplits: 1)
          return (String(parts.first ?? ""), parts.count == 2 ? trimmed(parts[1]) : "")
        })
    }
  }

  /// Whether a file has a test, or in a script a function, of this name.
  static func has(_ name: String, in text: String, isSwift: Bool) -> Bool {
    guard !name.isEmpty else { return false }
    guard isSwift else { return text.split(separator: "\n").contains { $0.hasPrefix("\(name)() ") } }
    // The function follows its attribute, which may be several lines before it.
    guard let function = text.firstRange(of: "func \(name)(") else { return false }
    let before = text[..<function.lowerBound]
    guard let attribute = before.lastRange(of: "@Test(") else { return false }
    return !before[attribute.upperBound...].contains("func ")
  }

  @Test("every row has its four parts, and the tests that it names are there; no number comes twice")
  func table() throws {
    let rows = Self.rows(of: try text("docs/complaints.md"))
    #expect(rows.count > 20)
    var numbers = Set<String>()
    for row in rows {
      #expect(numbers.insert(row.number).inserted, "\(row.number) stands there twice")
      #expect(row.cells.count == 4 && row.cells.allSatisfy { !$0.isEmpty }, "row \(row.number)")
      #expect(!row.tests.isEmpty, "row \(row.number) names no test")
      for (file, name) in row.tests {
        let text = try? text(file)
        #expect(text != nil, "row \(row.number): there is no \(file)")
        #expect(Self.has(name, in: text ?? "", isSwift: file.hasSuffix(".swift")), "row \(row.number): \(file) has no test \(name)")
      }
    }
  }

  @Test("the check sees a test that is gone, a helper that is none, and a row without any")
  func detector() throws {
    let rows = Self.rows(of: "| | what |\n|---|---|\n| 1 | a | b | `Tests/A.swift: one`, `Tests/VM/a: two` |\n| F2 | a | b | none |\n")
    #expect(rows.map(\.number) == ["1", "F2"] && rows[0].tests.map(\.name) == ["one", "two"] && rows[1].tests.isEmpty)
    let text = "@Test(\n  \"x\"\n)\nfunc one(_ a: Int) {}\nfunc helper() {}\n  @Test(\"y\") func two() {}\n"
    #expect(Self.has("one", in: text, isSwift: true) && Self.has("two", in: text, isSwift: true))
    #expect(
      !Self.has("helper", in: text, isSwift: true) && !Self.has("three", in: text, isSwift: true) && !Self.has("", in: text, isSwift: true))
    #expect(Self.has("walk", in: "walk() {\n}\n", isSwift: false) && !Self.has("wal", in: "walk() {\n}\n", isSwift: false))
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try TextFile.read("\(PureRingsTests.root)/\(path)"), as: UTF8.self)
  }
}

extension StringProtocol {
  fileprivate func lastRange(of other: String) -> Range<Index>? {
    var found: Range<Index>?
    var rest = self[...]
    while let range = rest.firstRange(of: other) {
      found = range
      rest = rest[range.upperBound...]
    }
    return found
  }
}

private func trimmed(_ text: some StringProtocol) -> String {
  var text = text[...]
  while text.first == " " { text.removeFirst() }
  while text.last == " " { text.removeLast() }
  return String(text)
}
