import CConfined
import Glibc
import ProbeWorker
import ProcessConfinement
import Testing

/// The promises about a compromised probe process (docs/security-processes.md), tried on a process that has confined itself by its filter.
@Suite("Confinement of the probes' process")
struct ProbeConfinementTests {
  /// These work nearly everywhere without confinement, so their failure tells something. The others take a
  /// privilege, or a kernel that has them.
  private static let ordinary: Set<String> = [
    "mmap, to be written and executed", "mmap, to be executed", "mmap of a file in memory, to be executed", "mprotect, to be executed",
    "mprotect, to be written and executed", "shmat, to be executed", "memfd_create", "mmap under READ_IMPLIES_EXEC", "execve",
    "execveat of an open file", "clone", "a thread", "kill", "process_vm_readv", "process_vm_writev", "F_SETOWN", "F_SETSIG",
    "a UDP socket", "a TCP socket", "a netlink socket", "a unix socket", "socketpair", "connect", "bind", "openat", "openat, to be written",
    "readlink", "setuid", "personality", "PR_SET_DUMPABLE", "ioctl: SIOCGIFFLAGS", "SO_BINDTODEVICE", "ptrace", "seccomp",
    "sendto another address", "sendmsg to another address", "sendmmsg to another address", "unlink", "accept", "a raised limit",
  ]

  /// Compiled before anything forks. No process of the test has the number 0.
  private static let filter = try? SystemCallFilter(ProbeFilter.rules(process: 0))

  @Test("refuses what a program that has been taken over would try", arguments: 0..<cconfined_count())
  func attempt(number: Int32) throws {
    _ = try #require(Self.filter)
    let name = String(cString: cconfined_name(number))
    let free = cconfined_try(number, nil)
    let confined = cconfined_try(number) { ProbeConfinementTests.filter?.load() ?? EINVAL }
    if Self.ordinary.contains(name) { #expect(free == CCONFINED_DONE, "\(name), unconfined: \(free)") }
    switch name {
    // Numbers of another architecture end the process.
    case _ where name.hasPrefix("the numbers of"): #expect(confined == CCONFINED_KILLED, "\(name): \(confined); unconfined: \(free)")
    // Nothing connects; libcurl hears that it has begun.
    case "connect": #expect(confined == EINPROGRESS, "\(name): \(confined)")
    default: #expect(confined == EPERM, "\(name): \(confined); unconfined: \(free)")
    }
    if name.hasPrefix("TCP Fast Open") { #expect(free != EPERM, "\(name), unconfined") }
  }

  @Test("every attempt that is expected to succeed unconfined is there") func names() {
    let names = Set((0..<cconfined_count()).map { String(cString: cconfined_name($0)) })
    #expect(Self.ordinary.subtracting(names) == [])
  }

  @Test("a filter with a call that does not exist, or with three tests, is refused") func filters() {
    #expect(throws: (any Error).self) { try SystemCallFilter([.allow("no_such_call")]) }
    let test = SystemCallFilter.Test(0, equals: 1)
    #expect(throws: (any Error).self) { try SystemCallFilter([.allow("read", where: test, test, test)]) }
  }
}
