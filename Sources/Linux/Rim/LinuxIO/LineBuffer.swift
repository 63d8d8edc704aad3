/// Received bytes that become lines. Each byte is examined once and moved once.
package struct LineBuffer {
  private let longest: Int
  private var bytes: [UInt8] = []
  private var start = 0
  /// The end of the first line, if it is complete; otherwise there is none up to `searched`.
  private var end: Int?
  private var searched = 0
  /// The rest of a line whose begin was dropped is dropped too.
  private var isSkipping = false

  /// `longest`: the most bytes that are kept of a line whose end has not come. A longer one is dropped, up to its end.
  package init(longest: Int = .max) { self.longest = longest }

  /// The number of bytes not yet taken.
  package var count: Int { bytes.count - start }
  package var hasLine: Bool { end != nil }
  /// Whether the line that comes is too long.
  package var isDropping: Bool { isSkipping }

  package mutating func append(_ more: [UInt8]) {
    if start > 0 {
      bytes.removeSubrange(..<start)
      searched -= start
      end = end.map { $0 - start }
      start = 0
    }
    bytes += more
    search()
  }

  /// The first line, without its line end.
  package mutating func takeLine() -> [UInt8]? {
    guard let end else { return nil }
    let line = Array(bytes[start..<end])
    go(behind: end)
    return line
  }

  /// The lines that are not empty, as text.
  package mutating func takeTexts() -> [String] {
    var texts: [String] = []
    while let line = takeLine() { if !line.isEmpty { texts.append(String(decoding: line, as: UTF8.self)) } }
    return texts
  }

  /// Everything that was not taken: once all lines were, the begin of the next one.
  package var rest: ArraySlice<UInt8> { bytes[start...] }

  /// Takes the same.
  package mutating func takeRest() -> [UInt8] {
    defer { self = LineBuffer(longest: longest) }
    return Array(rest)
  }

  private mutating func go(behind lineEnd: Int) {
    start = lineEnd + 1
    searched = start
    end = nil
    search()
    if start == bytes.count { (bytes, start, searched) = ([], 0, 0) }
  }

  private mutating func search() {
    guard end == nil else { return }
    end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n"))
    searched = end ?? bytes.count
    if isSkipping, let end {
      isSkipping = false
      go(behind: end)
    } else if end == nil, isSkipping || count > longest {
      (bytes, start, searched, isSkipping) = ([], 0, 0, true)
    }
  }
}
