internal import CLinux
internal import Glibc

/// The privileges of this process in its network namespace, and those of other processes over this one.
package enum Privileges {
  /// Disables core dumps and access by other processes of its user (ptrace(2)), because keys are in its memory.
  package static func forbidDumps() { _ = clinux_forbid_dumps() }

  /// Whether it has CAP_NET_ADMIN there: in its own user namespace alone it would have no effect.
  package static var canChangeNetwork: Bool {
    guard clinux_has_capability(12 /* CAP_NET_ADMIN */) == 1 else { return false }
    let number = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { return true }
    let socket = FileDescriptor(owning: number)
    return clinux_set_mark(socket.number, 1) == 0
  }
}
