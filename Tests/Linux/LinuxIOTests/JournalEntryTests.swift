import CLinux
import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite("Entries of the journal")
struct JournalEntryTests {
  @Test("fields are lines; a value of several lines has its length before it") func datagram() {
    var entry = JournalEntry()
    entry.add("MESSAGE", "held back")
    entry.add("roamward-guards", "a\nb=c")
    let expected = Array("MESSAGE=held back\nROAMWARD_GUARDS\n".utf8) + [5, 0, 0, 0, 0, 0, 0, 0] + Array("a\nb=c\n".utf8)
    #expect(entry.datagram == expected)
  }

  @Test("the journal's socket gets it whole; where there is none, or it is full, nobody waits") func send() throws {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/socket"
    var entry = JournalEntry()
    entry.add("MESSAGE", "held back")
    #expect(!entry.send(to: path))
    let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    try #require(number >= 0 && clinux_unix_bind(number, path) == 0)
    defer { close(number) }
    #expect(entry.send(to: path))
    var bytes = [UInt8](repeating: 0, count: 100)
    let count = recv(number, &bytes, bytes.count, 0)
    #expect(Array(bytes.prefix(max(0, count))) == entry.datagram)
    var sent = 0
    while entry.send(to: path), sent < 10_000 { sent += 1 }
    #expect(sent < 10_000)
  }
}
