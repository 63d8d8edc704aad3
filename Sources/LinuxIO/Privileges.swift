internal import CLinux
internal import Glibc

/// The privileges of this process in its network namespace, and those of other processes over this one.
package enum Privileges {
  /// Disables core dumps and access by other processes of its user (ptrace(2)), because keys are in its memory.
  package static func forbidDumps() { _ = clinux_forbid_dumps() }

  /// Sends SIGKILL to a process that this one has started and that has become another user, `nobody` if there is none of this name. Without
  /// CAP_KILL, root does so as that user, on a program's only thread. Returns whether the signal was sent.
  package static func kill(_ process: Int32, of user: String) -> Bool {
    if Glibc.kill(process, SIGKILL) == 0 { return true }
    guard errno == EPERM, geteuid() == 0 else { return false }
    guard seteuid((getpwnam(user) ?? getpwnam("nobody"))?.pointee.pw_uid ?? 65_534) == 0 else { return false }
    let isSent = Glibc.kill(process, SIGKILL) == 0
    // The real user is still root: this cannot be refused, and the capabilities return.
    guard seteuid(0) == 0 else { abort() }
    return isSent
  }

  /// Whether it has CAP_NET_ADMIN there: in its own user namespace alone it would have no effect.
  package static var canChangeNetwork: Bool {
    guard clinux_has_capability(12 /* CAP_NET_ADMIN */) == 1 else { return false }
    let number = Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard number >= 0 else { return true }
    let socket = FileDescriptor(owning: number)
    return clinux_set_mark(socket.number, 1) == 0
  }
}
