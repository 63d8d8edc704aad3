import CSystemd
import Glibc
import Testing

@testable import SystemdIO

@Suite("A text that is sent on D-Bus") struct BusTextTests {
  /// A message of a bus that never connects.
  private func withMessage(_ body: (OpaquePointer) throws -> Void) throws {
    var ends: [Int32] = [0, 0]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { close(ends[1]) }
    var bus: OpaquePointer?
    try #require(sd_bus_new(&bus) >= 0 && sd_bus_set_fd(bus, ends[0], ends[0]) >= 0 && sd_bus_start(bus) >= 0)
    defer { sd_bus_close_unref(bus) }
    var message: OpaquePointer?
    try #require(sd_bus_message_new_signal(bus, &message, "/test", "test.Text", "Said") >= 0)
    defer { sd_bus_message_unref(message) }
    try body(try #require(message))
  }

  private func read(_ message: OpaquePointer, _ type: Unicode.Scalar) -> String? {
    var text: UnsafePointer<CChar>?
    guard sd_bus_message_read_basic(message, CChar(type.value), &text) > 0 else { return nil }
    return text.map { String(cString: $0) }
  }

  @Test("is not cut at U+0000", arguments: ["bob- lock alice", "-", "a-", "plain"]) func whole(parts: String) throws {
    // A log of tests has no such byte.
    let text = parts.replacing("-", with: "\0")
    try withMessage { message in
      #expect(BusArgument.string(text).append(to: message) >= 0)
      #expect(sd_bus_message_seal(message, 1, 0) >= 0)
      #expect(read(message, "s") == text.replacing("\0", with: "\u{fffd}"))
    }
  }

  @Test("and that is a path is refused with one") func path() throws {
    try withMessage { message in
      #expect(BusArgument.path("/a").append(to: message) >= 0)
      #expect(BusArgument.path("/a\u{0}/b").append(to: message) < 0)
    }
  }
}
