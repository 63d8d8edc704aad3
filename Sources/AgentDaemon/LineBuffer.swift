import AgentCore
import LinuxPlatform

/// Bytes as they come, lines as they are taken. Each byte is looked at once and moved once.
package struct LineBuffer {
  private var bytes: [UInt8] = []
  private var start = 0
  /// The end of the first line, if one is there; otherwise nothing before this place is one.
  private var end: Int?
  private var searched = 0

  package init() {}

  /// Bytes that have not been taken yet.
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

  /// The first line, without its end.
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
