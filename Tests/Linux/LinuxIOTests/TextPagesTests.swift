import CTextPages
import LinuxIO
import Testing

/// Code that is unmapped is mapped again when it runs.
@Suite struct TextPagesTests {
  @Test("pages of code and constants are given back, and everything still runs") func release() throws {
    _ = try resident()
    let before = try resident()
    let released = ctextpages_release()
    let after = try resident()
    #expect(released >= before.code * 1024)
    // Other tests run meanwhile, and the code that reads this is mapped again.
    #expect(after.code < before.code, "\(before.code) kB before, \(after.code) kB after")
    // Data that the loader or the program has written is not among them.
    #expect(before.written > 0 && after.written >= before.written / 2)
    for number in 0..<1000 { #expect("\(number)".utf8.allSatisfy { (48...57).contains($0) }) }
  }

  /// Kilobytes of this process: mapped code of files, and anonymous memory of files' mappings.
  private func resident() throws -> (code: Int, written: Int) {
    var (code, written) = (0, 0)
    var isCode = false
    var isFile = false
    for line in String(decoding: try TextFile.read("/proc/self/smaps", limit: 1 << 24), as: UTF8.self).split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count >= 5, words[0].contains("-"), !words[0].hasSuffix(":") {
        isFile = words.count > 5 && words[5].hasPrefix("/")
        isCode = isFile && words[1].hasPrefix("r-x")
      } else if words.count >= 2, let number = Int(words[1]) {
        if words[0] == "Rss:", isCode { code += number }
        if words[0] == "Anonymous:", isFile { written += number }
      }
    }
    return (code, written)
  }
}
