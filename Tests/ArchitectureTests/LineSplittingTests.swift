import Testing

/// Received bytes become lines in one place (`LineBuffer` of LinuxIO), which knows how long a line may be.
@Suite struct LineSplittingTests {
  /// Whether a text looks for a line end and then cuts off what is before it.
  static func splits(_ text: String) -> Bool {
    text.firstMatch(of: /firstIndex\(of: (?:10|UInt8\(ascii: "\\n"\))\)[^}]{0,300}removeSubrange\(\.\.\.end\)/) != nil
  }

  @Test("no file splits lines by itself") func sources() {
    for file in allSources() where !file.name.hasSuffix("/LineBuffer.swift") { #expect(!Self.splits(file.text), "\(file.name)") }
  }

  @Test("the check sees both ways to write it") func detector() {
    for end in ["10", "UInt8(ascii: \"\\n\")"] {
      let text = "while let end = unread.firstIndex(of: \(end)) {\n  let line = unread[..<end]\n  unread.removeSubrange(...end)\n}"
      #expect(Self.splits(text))
    }
    #expect(!Self.splits("let end = bytes.firstIndex(of: 10) ?? bytes.count"))
  }
}
