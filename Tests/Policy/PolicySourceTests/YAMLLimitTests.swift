import RoamwardCore
import Testing

@testable import PolicySource

@Suite struct YAMLLimitTests {
  private func problems(_ bytes: [UInt8]) -> [String] {
    readYAML(SourceText(file: "f", bytes: bytes)).diagnostics.sorted.map { "\($0.location.line):\($0.location.column) \($0.message)" }
  }

  @Test("1 MiB is read, a byte more is not")
  func size() {
    let line = "# " + String(repeating: "x", count: 61) + "\n"
    let full = Array(String(repeating: line, count: (1 << 20) / 64).utf8)
    #expect(full.count == 1 << 20 && problems(full) == [])
    #expect(problems(full + [10]) == ["16385:1 the file is larger than 1 MiB"])
    #expect(MemoryFiles(["/etc/p/10.yaml": String(decoding: full + [10, 10, 10], as: UTF8.self)]).load().hasErrors)
  }

  @Test("nesting")
  func depth() {
    func nested(_ depth: Int) -> [UInt8] { Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8) }
    #expect(problems(nested(32)) == [])
    #expect(problems(nested(33)) == ["1:33 this is nested more than 32 levels deep"])
    #expect(problems(nested(500_000)) == ["1:33 this is nested more than 32 levels deep"])
    #expect(problems(Array(String(repeating: "- ", count: 500_000).utf8)) == ["1:65 this is nested more than 32 levels deep"])
    #expect(problems(Array(String(repeating: "? ", count: 500_000).utf8)).count == 1)
    #expect(problems(Array(String(repeating: "{a: ", count: 200_000).utf8)).count == 1)
    #expect(
      problems(Array((0..<700).map { String(repeating: " ", count: $0) + "a:\n" }.joined().utf8)) == [
        "32:32 this is nested more than 32 levels deep"
      ])
  }

  @Test("number of values")
  func nodes() {
    func list(_ count: Int) -> [UInt8] { Array("[\(String(repeating: "a,", count: count))]".utf8) }
    #expect(problems(list(199_999)) == [])
    #expect(problems(list(200_000)) == ["1:400000 the file holds more than 200,000 values"])
  }

  @Test("the billion laughs never expand")
  func bomb() {
    var text = "a: &a [\"lol\"]\n"
    for (name, before) in zip("bcdefghi", "abcdefgh") {
      text += "\(name): &\(name) [\(Array(repeating: "*\(before)", count: 9).joined(separator: ","))]\n"
    }
    let items = problems(Array(text.utf8))
    #expect(items.count == 9 + 8 * 9)
    #expect(items.allSatisfy { $0.hasSuffix("anchors and aliases are not allowed") })
    #expect(problems(Array("&a [*a]".utf8)).count == 2)
  }

  @Test(
    "no text at all",
    arguments: [
      ([0xff], "1:1 this is not UTF-8 text"), (Array("a: \u{e9}b".utf8) + [0xc3], "1:6 this is not UTF-8 text"),
      (Array("a\nb".utf8) + [0], "2:2 a NUL byte is not allowed here"),
      (Array("a: \u{1b}".utf8), "1:4 a control character is not allowed here"),
      (Array("a\u{85}b".utf8), "1:2 a control character is not allowed here"),
      (Array("é\u{2028}b".utf8), "1:2 a control character is not allowed here"),
      (Array("a: \u{feff}".utf8), "1:4 a control character is not allowed here"), ([0xed, 0xa0, 0x80], "1:1 this is not UTF-8 text"),
      ([0xfe, 0xff, 0, 0x61], "1:1 this is not UTF-8 text"),
    ])
  func notText(bytes: [UInt8], problem: String) { #expect(problems(bytes).first == problem) }

  @Test(
    "nothing, comments and an empty document are no document",
    arguments: ["", "\n", "# only this\n", "\u{feff}", "---\n", "--- ~\n", "%YAML 1.1\n---\n"])
  func nothing(text: String) {
    let (root, problems) = readYAML(SourceText(file: "f", bytes: Array(text.utf8)))
    #expect((root.map { $0.content == .null } ?? true) && !problems.hasErrors)
  }

  @Test("columns count characters, from 1, after a byte order mark too")
  func columns() throws {
    let (root, _) = readYAML(SourceText(file: "f", bytes: Array("\u{feff}\"日本é\": x".utf8)))
    guard case .mapping(let entries)? = root?.content else { throw Unexpected() }
    #expect(entries[0].key == "日本é" && entries[0].keyLocation.column == 1 && entries[0].value.location.column == 8)
  }
}
