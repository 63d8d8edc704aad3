import CConfined
import CWireGuardIO
import Glibc
import Testing

/// The promises about a compromised engine (docs/security-processes.md), tried on a process that has confined itself as the engine does.
@Suite("Confinement")
struct ConfinementTests {
  /// These work nearly everywhere without confinement, so their failure tells something. The others take a
  /// privilege, or a kernel that has them.
  private static let ordinary: Set<String> = [
    "mmap, to be written and executed", "mmap, to be executed", "mmap of a file in memory, to be executed", "mprotect, to be executed",
    "mprotect, to be written and executed", "shmat, to be executed", "memfd_create", "mmap under READ_IMPLIES_EXEC", "execve",
    "execveat of an open file", "clone", "a thread", "kill", "process_vm_readv", "process_vm_writev", "F_SETOWN", "F_SETSIG",
    "a UDP socket",
    "a TCP socket", "a netlink socket", "a unix socket", "socketpair", "connect", "bind", "openat", "readlink", "setuid", "personality",
    "PR_SET_DUMPABLE", "ioctl: SIOCGIFFLAGS", "SO_BINDTODEVICE", "ptrace", "seccomp", "openat, to be written", "unlink", "a raised limit",
  ]

  /// An engine's work.
  private static let allowed: Set<String> = [
    "sendto another address", "sendmsg to another address", "sendmmsg to another address", "accept",
  ]

  @Test("refuses what a program that has been taken over would try", arguments: 0..<cconfined_count())
  func attempt(number: Int32) {
    let name = String(cString: cconfined_name(number))
    let free = cconfined_try(number, nil)
    let confined = cconfined_try(number, cwg_confine)
    if Self.ordinary.contains(name) { #expect(free == CCONFINED_DONE, "\(name), unconfined") }
    if Self.allowed.contains(name) { return #expect(confined == CCONFINED_DONE, "\(name): \(confined)") }
    // Numbers of another architecture end the process; everything else fails with EPERM.
    if name.hasPrefix("the numbers of") {
      #expect(confined == CCONFINED_KILLED, "\(name): \(confined); unconfined: \(free)")
    } else {
      #expect(confined == EPERM, "\(name): \(confined); unconfined: \(free)")
    }
    if name.hasPrefix("TCP Fast Open") { #expect(free != EPERM, "\(name), unconfined") }
  }
}
