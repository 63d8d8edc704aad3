internal import CLinux
internal import Glibc

/// What this process may do to its network namespace, and others to this process.
package enum Privileges {
  /// Keys are in its memory: it leaves no core dump, and no other process of its user may look into it (ptrace(2)).
  package static func forbidDumps() { _ = clinux_forbid_dumps() }

  /// Whether it has CAP_NET_ADMIN there: in its own user namespace alone it would be of no use.
  package static var canChangeNetwork: Bool {
    guard clinux_has_capability(12 /* CAP_NET_ADMIN */) == 1 else { return false }
    let number = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { return true }
    let socket = FileDescriptor(owning: number)
    return clinux_set_mark(socket.number, 1) == 0
  }
}
