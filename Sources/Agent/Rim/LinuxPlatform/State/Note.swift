import AgentCore
internal import ControlProtocol
internal import JSON
internal import LinuxIO

/// The format of a note on disk: a title line with a checksum, then a line of JSON.
///
/// The checksum covers the note's name as well, so a misplaced note counts as damaged, like one with a flipped bit. A file is replaced
/// whole (rename(2) after fsync(2)); only the disk can tear it, and the checksum detects that too.
enum Note {
  private static let title = "roamward note 1 crc32 "

  static func encode(_ content: JSON, name: String) -> [UInt8] {
    let body = Array((content.text() + "\n").utf8)
    return Array((title + checksum(of: body, name: name) + "\n").utf8) + body
  }

  /// `nil` if this type never wrote it under that name.
  static func decode(_ bytes: [UInt8], name: String) -> JSON? {
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let body = Array(bytes[(end + 1)...])
    guard body.last == UInt8(ascii: "\n"), bytes[..<end].elementsEqual((title + checksum(of: body, name: name)).utf8) else {
      return nil
    }
    return try? JSON(parsing: body)
  }

  private static func checksum(of body: [UInt8], name: String) -> String { Checksum.text(of: Array(name.utf8) + [0] + body) }
}
