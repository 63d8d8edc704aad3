import JSON
import NetworkTypes
import Testing

@Suite struct JSONTests {
  @Test(
    "text and value are one another's inverse",
    arguments: [
      JSON.null, true, false, 0, -9_223_372_036_854_775_808, 0.1, -1.5, 1e300, 2.5e-300, "", "a \"quoted\"\n\u{1} text ✓", [],
      [1, [2, .null]],
      [:], ["b": 1, "a": ["c": "d"]],
    ])
  func roundTrip(value: JSON) throws {
    #expect(try JSON(parsing: Array(value.text().utf8)) == value)
    #expect(try JSON(parsing: Array(value.text(indented: true).utf8)) == value)
  }

  @Test("a text of many lines and all that is quoted is one another's inverse too") func long() throws {
    let text = String(repeating: "10.80.0.0/16 \"a\\b\" ✓\t\u{7f}\u{2028}\r\n", count: 100_000)
    #expect(try JSON(parsing: Array(JSON.string(text).text().utf8)) == .string(text))
  }

  @Test("members keep their order") func order() { #expect((["b": 1, "a": 2] as JSON).text() == #"{"b":1,"a":2}"#) }

  @Test("for people, short arrays are on one line, and long ones and objects are not") func indented() {
    let long = JSON((0..<40).map { "item \($0)" })
    let value: JSON = ["a": [1, 2], "b": [["c": []]], "d": [:], "long": long]
    let lines = value.text(indented: true).split(separator: "\n").map(String.init)
    #expect(lines.prefix(8) == ["{", "  \"a\": [1, 2],", "  \"b\": [", "    {", "      \"c\": []", "    }", "  ],", "  \"d\": {},"])
    #expect(lines.count == 8 + 1 + 40 + 1 + 1)
  }

  @Test(
    "what is not JSON is refused with its place",
    arguments: [
      "", "{", "{\"a\":1,\"a\":2}", "[1,]", "nul", "\"\\ud800\"", "1 2", "NaN", "Infinity", "01", "9223372036854775808", "1e999",
    ])
  func refused(text: String) { #expect(throws: JSONError.self) { try JSON(parsing: Array(text.utf8)) } }

  @Test("a fraction is not cut off, and is no whole number; a whole number may be written in any way") func numbers() throws {
    #expect(try JSON(parsing: "1.5".utf8) == .real(1.5))
    #expect(JSON.real(1.5).integer == nil && JSON.real(1000).integer == 1000 && JSON.real(1e300).integer == nil)
    #expect(try JSON(parsing: "1e3".utf8).decoded(as: Int.self) == 1000)
    #expect(throws: JSONMismatch.self) { try JSON(parsing: "1.5".utf8).decoded(as: Int.self) }
    #expect(JSON.integer(3).real == 3)
    #expect(JSON.real(.infinity).text() == "null" && JSON.real(.nan).text(indented: true) == "null")
  }

  @Test("no bytes make it trap") func garbage() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
      _ = try? JSON(parsing: bytes)
    }
    #expect(throws: JSONError.self) { try JSON(parsing: Array(repeating: UInt8(ascii: "["), count: 100_000)) }
  }

  @Test("JSON has nothing in it that steers a terminal, and means the same")
  func escapes() throws {
    let texts = [
      "\u{1b}[31m", "\u{9b}31m", "\u{7f}", "\u{202e}", "\u{200b}", "\u{2028}", "\u{e0041}", "é \u{1f600} \\ \"", "a\nb\t\r",
    ]
    let value = JSON.object([.init(key: "\u{9b}k", value: JSON(texts))])
    for text in [value.text(), value.text(indented: true)] {
      #expect(!text.unicodeScalars.contains { $0.isUnprintable && $0 != "\n" })
      #expect(try JSON(parsing: text.utf8) == value)
    }
  }

  @Test("U+0000 ends no text early: it is read as the sign for what is unreadable, and in a name refused") func nul() throws {
    let read = try JSON(parsing: Array(#"{"name": "bob\u0000 lock alice", "list": ["\u0000"], "path": "/a\\u0000"}"#.utf8))
    #expect(read["name"]?.string == "bob\u{fffd} lock alice" && read["list"] == ["\u{fffd}"] && read["path"]?.string == #"/a\u0000"#)
    #expect(try JSON(parsing: Array(JSON.string("a\u{0}b").text().utf8)) == "a\u{fffd}b")
    #expect(throws: JSONError.self) { try JSON(parsing: Array(#"{"a\u0000b": 1}"#.utf8)) }
  }
}
