import AgentCore
import LinuxPlatform

/// A buffer of received bytes that returns lines. Each byte is examined once and moved once.
package struct LineBuffer {
  private var bytes: [UInt8] = []
  private var start = 0
  /// The end of the first line, if it is complete; otherwise the position up to which there is none.
  private var end: Int?
  private var searched = 0

  package init() {}

  /// The number of bytes not yet taken.
  package var count: Int { bytes.count - start }
  package var hasLine: Bool { end != nil }

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
    start = end + 1
    searched = start
    self.end = nil
    search()
    if start == bytes.count { self = LineBuffer() }
    return line
  }

  private mutating func search() {
    guard end == nil else { return }
    end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n"))
    searched = end ?? bytes.count
  }
}
