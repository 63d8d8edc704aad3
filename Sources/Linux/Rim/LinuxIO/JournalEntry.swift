internal import CLinux
internal import Glibc

/// An entry with fields of its own, in the native protocol of systemd-journald
/// (<https://systemd.io/JOURNAL_NATIVE_PROTOCOL/>): one datagram.
package struct JournalEntry: Hashable, Sendable {
  package static let socket = "/run/systemd/journal/socket"

  package struct Field: Hashable, Sendable {
    package var name: String
    package var value: String
  }

  package private(set) var fields: [Field] = []

  package init() {}

  /// Adds a field. A name is capital letters, digits and underscores, and begins with a letter; other characters become underscores.
  package mutating func add(_ name: String, _ value: String) {
    let letters = name.uppercased().unicodeScalars.map { scalar in
      ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar) ? Character(scalar) : "_"
    }
    fields.append(Field(name: String(letters), value: value))
  }

  /// `NAME=value`, a line each; a value with a line feed has its length before it, in 64 bits, little-endian.
  package var datagram: [UInt8] {
    var bytes: [UInt8] = []
    for field in fields {
      bytes += field.name.utf8
      let value = Array(field.value.utf8)
      if value.contains(10) {
        bytes.append(10)
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: value.count >> ($0 * 8)) }
      } else {
        bytes.append(UInt8(ascii: "="))
      }
      bytes += value + [10]
    }
    return bytes
  }

  /// Returns whether the journal has taken it. Never blocks: a full or absent journal does not take it.
  package func send(to path: String = JournalEntry.socket) -> Bool {
    let number = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard number >= 0 else { return false }
    let socket = FileDescriptor(owning: number)
    guard clinux_unix_connect(socket.number, path) == 0 else { return false }
    let bytes = datagram
    return bytes.withUnsafeBytes { Glibc.send(socket.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) } == bytes.count
  }
}
