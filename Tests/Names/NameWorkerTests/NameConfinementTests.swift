import CConfined
import Glibc
import NameWorker
import ProcessConfinement
import Testing

/// The promises about a compromised name server's process (docs/security-processes.md), tried on a process that has confined itself by its
/// filter.
@Suite("Confinement of the name server's process")
struct NameConfinementTests {
  /// These work nearly everywhere without confinement, so their failure tells something.
  private static let ordinary: Set<String> = [
    "mmap, to be written and executed", "mprotect, to be executed", "memfd_create", "execve", "clone", "a thread", "kill",
    "process_vm_readv", "F_SETOWN", "F_SETSIG", "a UDP socket", "a UDP socket of IPv6", "a TCP socket", "a netlink socket", "a unix socket",
    "socketpair", "connect", "bind", "openat", "openat, to be written", "readlink", "setuid", "personality", "PR_SET_DUMPABLE",
    "ioctl: SIOCGIFFLAGS", "SO_BINDTODEVICE", "ptrace", "seccomp", "unlink", "a raised limit",
  ]

  /// The calls that it needs: answers to clients and questions to name servers, and connections of clients.
  private static let needed: Set<String> = ["sendmsg to another address", "sendmmsg to another address", "accept"]

  /// Compiled before anything forks. No process of the test has the number 0.
  private static let filter = try? SystemCallFilter(NameFilter.rules(process: 0))

  @Test("refuses what a program that has been taken over would try", arguments: 0..<cconfined_count())
  func attempt(number: Int32) throws {
    _ = try #require(Self.filter)
    let name = String(cString: cconfined_name(number))
    let free = cconfined_try(number, nil)
    let confined = cconfined_try(number) { NameConfinementTests.filter?.load() ?? EINVAL }
    if Self.ordinary.contains(name) { #expect(free == CCONFINED_DONE, "\(name), unconfined: \(free)") }
    switch name {
    // Numbers of another architecture end the process.
    case _ where name.hasPrefix("the numbers of"): #expect(confined == CCONFINED_KILLED, "\(name): \(confined); unconfined: \(free)")
    case _ where Self.needed.contains(name): #expect(confined == CCONFINED_DONE, "\(name): \(confined)")
    default: #expect(confined == EPERM, "\(name): \(confined); unconfined: \(free)")
    }
  }

  @Test("every attempt that is named here is there") func names() {
    let names = Set((0..<cconfined_count()).map { String(cString: cconfined_name($0)) })
    #expect(Self.ordinary.union(Self.needed).subtracting(names) == [])
  }
}
