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
    // A child that another test is just starting may share it until it runs its program.
    for _ in 0..<1000 {
      if FileDescriptor.isDeadSocket(path) { break }
      usleep(10_000)
    }
    let second = try FileDescriptor.listen(at: path, mode: 0o600)
    let error = #expect(throws: SystemError.self) { try FileDescriptor.listen(at: path, mode: 0o600) }
    #expect(error?.code == EADDRINUSE)
    withExtendedLifetime(second) {}
  }

  @Test("listens from the moment that its file is there")
  func atOnce() async throws {
    for round in 0..<400 {
      let path = "\(folder.path)/\(round).sock"
      async let refusal = Task.detached { () -> Int32 in
        while true {
          do throws(SystemError) {
            _ = try FileDescriptor.connect(to: path)
            return 0
          } catch  where error.code == ENOENT {
            sched_yield()
          } catch { return error.code }
        }
      }.value
      let server = try FileDescriptor.listen(at: path, mode: 0o600)
      #expect(await refusal == 0, "round \(round)")
      withExtendedLifetime(server) {}
    }
  }

  @Test("writing to one that has gone is an error, not a signal")
  func brokenPipe() throws {
    let server = try FileDescriptor.listen(at: path, mode: 0o600)
    let client = try FileDescriptor.connect(to: path)
    do { _ = try server.accept() }
    // A child that another test is just starting may share its end until it runs its program.
    let error = #expect(throws: SystemError.self) {
      for _ in 0..<1000 {
        try client.writeAll([1])
        usleep(10_000)
      }
    }
    #expect(error?.code == EPIPE)
  }

  @Test("a path that does not fit is an error")
  func longPath() {
    let error = #expect(throws: SystemError.self) { try FileDescriptor.connect(to: "/" + String(repeating: "x", count: 200)) }
    #expect(error?.code == ENAMETOOLONG)
  }
}

@Suite("The identity of a peer")
struct PeerIdentityTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test("is its start time and its groups") func own() throws {
    let listener = try FileDescriptor.listen(at: folder.path + "/s", mode: 0o600)
    let client = try FileDescriptor.connect(to: folder.path + "/s")
    let identity = try #require(try listener.accept()?.peerIdentity)
    #expect(identity.credentials.process == getpid() && identity.groups.contains(getegid()))
    #expect(identity.startTime == PeerIdentity.startTime(of: getpid()) && identity.startTime != nil)
    withExtendedLifetime(client) {}
  }

  @Test("of a process that has ended has no start time, whatever has its number now") func ended() throws {
    let listener = try FileDescriptor.listen(at: folder.path + "/s", mode: 0o600)
    // The client ends before its connection is looked at.
    _ = try shell("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\(folder.path)/s\")'")
    let identity = try #require(try listener.accept()?.peerIdentity)
    #expect(identity.startTime == nil && identity.credentials.user == geteuid())
  }

  @Test("a name in parentheses does not shift the fields of a process") func name() throws {
    let path = folder.path + "/) 1 2 (x"
    _ = try shell("cp /bin/sleep '\(path)'; '\(path)' 60 & echo $! > \(folder.path)/pid; wait -n 2>/dev/null & sleep 0.05")
    let process = try #require(Int32(String(decoding: try TextFile.read(folder.path + "/pid").dropLast(), as: UTF8.self)))
    defer { kill(process, SIGKILL) }
    let start = try #require(PeerIdentity.startTime(of: process))
    #expect(start >= (PeerIdentity.startTime(of: getpid()) ?? .max))
  }

  @Test("the local group is found by its name alone") func groups() throws {
    let path = folder.path + "/group"
    try TextFile.create(path, with: Array("root:x:0:\nroamward-x:x:5:\nroamward:x:977:a,b\nbroken\n".utf8), mode: 0o600)
    #expect(LocalGroup("roamward", in: path).identifier == 977)
    #expect(LocalGroup("broken", in: path).identifier == nil && LocalGroup("roam", in: path).identifier == nil)
    #expect(LocalGroup("roamward", in: folder.path + "/none").identifier == nil)
  }

  @Test("the local group is what its file says now: made, written anew, changed, and gone") func changedGroup() throws {
    let path = folder.path + "/group"
    let group = LocalGroup("roamward", in: path)
    #expect(group.identifier == nil)
    for number in 100..<120 {
      let text = Array("roamward:x:\(number):\n".utf8)
      if number % 2 == 0 { try TextFile.replace(path, with: text, mode: 0o600) } else { try TextFile.overwrite(path, with: text) }
      for _ in 0..<2 { #expect(group.identifier == UInt32(number)) }
      // A file's times are those of the kernel's last tick.
      usleep(20_000)
    }
    try TextFile.replace(path, with: Array("root:x:0:\n".utf8), mode: 0o600)
    #expect(group.identifier == nil)
    try TextFile.remove(path)
    #expect(group.identifier == nil)
  }
}
