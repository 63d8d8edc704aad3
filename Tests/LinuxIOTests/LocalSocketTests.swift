import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite("A local socket")
struct LocalSocketTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/s.sock" }

  init() throws { folder = try TemporaryFolder() }

  @Test("has the asked mode from its beginning, whatever the umask", arguments: [0o600, 0o660, 0o666])
  func mode(mode: UInt32) throws {
    let server = try FileDescriptor.listen(at: path, mode: mode)
    var status = stat()
    #expect(lstat(path, &status) == 0)
    #expect(status.st_mode & 0o777 == mode)
    withExtendedLifetime(server) {}
  }

  @Test("tells who connected, and carries bytes both ways")
  func credentials() throws {
    let server = try FileDescriptor.listen(at: path, mode: 0o600)
    #expect(try server.accept() == nil)
    let client = try FileDescriptor.connect(to: path)
    let accepted = try #require(try server.accept())
    let peer = try #require(accepted.peer)
    #expect((peer.user, peer.group, peer.process) == (geteuid(), getegid(), getpid()))
    #expect(try accepted.read() == nil)
    try client.writeAll([1, 2, 3])
    #expect(try accepted.read() == [1, 2, 3])
    #expect(try accepted.write([9]) == 1)
    #expect(try client.read() == [9])
  }

  @Test("a dead socket's place is taken, a live one's is not")
  func place() throws {
    do { _ = try FileDescriptor.listen(at: path, mode: 0o600) }
    let second = try FileDescriptor.listen(at: path, mode: 0o600)
    let error = #expect(throws: SystemError.self) { try FileDescriptor.listen(at: path, mode: 0o600) }
    #expect(error?.code == EADDRINUSE)
    withExtendedLifetime(second) {}
  }

  @Test("writing to one that has gone is an error, not a signal")
  func brokenPipe() throws {
    let server = try FileDescriptor.listen(at: path, mode: 0o600)
    let client = try FileDescriptor.connect(to: path)
    do { _ = try server.accept() }
    let error = #expect(throws: SystemError.self) { try client.writeAll([1]) }
    #expect(error?.code == EPIPE)
  }

  @Test("a path that does not fit is an error")
  func longPath() {
    let error = #expect(throws: SystemError.self) { try FileDescriptor.connect(to: "/" + String(repeating: "x", count: 200)) }
    #expect(error?.code == ENAMETOOLONG)
  }
}
