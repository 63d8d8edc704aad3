import LinuxIO
import Testing

@Suite("Lines as they come")
struct LineBufferTests {
  @Test("are the lines of the text, wherever it is cut", arguments: 0..<50)
  func cuts(_ seed: Int) {
    var generator = SystemRandomNumberGenerator()
    let lines = (0..<Int.random(in: 1...40, using: &generator)).map { _ in
      Array(repeating: UInt8.random(in: 65...90, using: &generator), count: Int.random(in: 0...30, using: &generator))
    }
    var rest = Array(lines.map { $0 + [10] }.joined())[...]
    var buffer = LineBuffer()
    var seen: [[UInt8]] = []
    while !rest.isEmpty {
      let piece = rest.prefix(Int.random(in: 1...25, using: &generator))
      rest = rest.dropFirst(piece.count)
      buffer.append(Array(piece))
      while Bool.random(using: &generator), let line = buffer.takeLine() { seen.append(line) }
    }
    while let line = buffer.takeLine() { seen.append(line) }
    #expect(seen == lines)
    #expect((buffer.count, buffer.hasLine) == (0, false))
  }

  @Test("what is too long for a line is dropped up to its end, wherever it is cut; the lines around it are not", arguments: 1...40)
  func long(size: Int) {
    var buffer = LineBuffer(longest: 100)
    let text = Array("one\n\n\(String(repeating: "x", count: 1000))\ntwo\n\(String(repeating: "y", count: 300))".utf8)
    var seen: [String] = []
    for begin in stride(from: 0, to: text.count, by: size) {
      buffer.append(Array(text[begin..<min(begin + size, text.count)]))
      #expect(buffer.count <= 100 + size)
      seen += buffer.takeTexts()
    }
    #expect(seen == ["one", "two"] && buffer.isDropping && buffer.count == 0)
    buffer.append(Array("y\nthree\n".utf8))
    #expect(buffer.takeTexts() == ["three"] && !buffer.isDropping)
  }

  @Test("cost no more each where there are many: a million in one piece")
  func linear() {
    var buffer = LineBuffer()
    buffer.append(Array(repeating: 10, count: 1_000_000))
    var count = 0
    while buffer.takeLine() != nil { count += 1 }
    #expect(count == 1_000_000)
  }
}
