import Glibc
import LinuxIO
import NetworkTypes
import TestSupport
import Testing

@Suite("The lock of a network namespace", .enabled(if: canMakeNamespaces))
struct NamespaceLockTests {
  /// A process of another user that takes names of the lock's kind, one for each argument, until it is killed: the shell that starts it
  /// ends before.
  private let squatter = """
    use IO::Socket::UNIX; $| = 1;
    push @all, IO::Socket::UNIX->new(Local => "\\0roamwardd-lock-$_", Listen => 1) // die $! for @ARGV;
    print "taken\\n"; sleep 60
    """

  @Test("keeps a second agent out, tells who holds it, and goes with its holder")
  func second() throws {
    try inNamespaces {
      #expect(NamespaceLock.holder == nil)
      var lock: NamespaceLock? = try NamespaceLock()
      #expect(NamespaceLock.holder?.process == getpid())
      let error = #expect(throws: SystemError.self) { try NamespaceLock(patience: .milliseconds(50)) }
      #expect(error?.code == EBUSY)
      #expect(error?.description.contains("process \(getpid())") == true)
      withExtendedLifetime(lock) {}
      lock = nil
      // A child that another test is just starting may share the socket until it runs its program.
      _ = try NamespaceLock(patience: .seconds(10))
    }
  }

  @Test("is each namespace's own")
  func namespaces() throws {
    let lock = try inNamespaces { try NamespaceLock() }
    try inNamespaces { _ = try NamespaceLock(patience: .zero) }
    withExtendedLifetime(lock) {}
  }

  @Test("waits for a holder that is just going")
  func going() throws {
    try inNamespaces {
      // A child that has not closed its copy of the socket yet, and goes a little after it was told to.
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      let (input, order) = (FileDescriptor(owning: ends[0]), FileDescriptor(owning: ends[1]))
      var child: Int32 = 0
      do {
        let lock = try NamespaceLock()
        child = try SpawnedProgram(
          "/bin/sh", ["sh", "-c", "read x; sleep 0.3"], environment: ["PATH=/usr/bin:/bin"],
          descriptors: [.open(input), .nothing, .nothing, .open(copy(of: lock))], company: .group
        ).start()
      }
      #expect(NamespaceLock.holder != nil)
      _ = try order.write([10])
      _ = try NamespaceLock(patience: .seconds(30))
      waitpid(child, nil, 0)
    }
  }

  private func copy(of lock: NamespaceLock) -> FileDescriptor { FileDescriptor(owning: dup(lock.descriptor)) }

  @Test(
    "is not taken by other users, however many of its names they take", .enabled(if: geteuid() == 0, "other users are root's to become"))
  func squatters() throws {
    try inNamespaces {
      let names = (0..<20).map { "\($0)" }.joined(separator: " ")
      let file = try TemporaryFolder()
      chmod(file.path, 0o755)
      try TextFile.create(file.path + "/squat", with: Array(squatter.utf8), mode: 0o644)
      let start = "setpriv --reuid 65534 --regid 65534 --clear-groups perl \(file.path)/squat \(names)"
      let wait = "for i in $(seq 200); do grep -q taken \(file.path)/out && break; sleep 0.05; done"
      let out = try shell("exec 3>\(file.path)/out; \(start) >&3 2>&1 </dev/null & \(wait); cat \(file.path)/out; echo $!")
      let lines = out.split(separator: "\n")
      #expect(lines.first == "taken")
      #expect(try shell("grep -c roamwardd-lock /proc/net/unix") == "20\n")
      #expect(NamespaceLock.holder == nil)
      let lock = try NamespaceLock(patience: .zero)
      #expect(NamespaceLock.holder?.process == getpid())
      withExtendedLifetime(lock) {}
      if let process = lines.last.flatMap({ Int32($0) }) { kill(process, SIGKILL) }
    }
  }
}
