internal import CControlGroup
internal import Glibc
package import LinuxIO

/// A program in the kernel that marks each new internet socket of a control group (BPF_PROG_TYPE_CGROUP_SOCK): four instructions.
package final class SocketMark {
  private let program: FileDescriptor

  /// Loads it, which requires CAP_BPF (before Linux 5.8: CAP_SYS_ADMIN) and CAP_NET_ADMIN.
  package init(_ mark: UInt32) throws(SystemError) {
    let number = ccontrolgroup_load_marker(mark)
    guard number >= 0 else { throw .last("load the program that marks sockets") }
    program = FileDescriptor(owning: number)
  }

  /// Attaches it to a group and all below, in place of an earlier one, until the group is removed. `yields`: a group
  /// below may have another one.
  package func attach(to group: OpenControlGroup, yields: Bool = false) throws(SystemError) {
    if ccontrolgroup_attach(group.folder.number, program.number, yields ? 1 : 0) != 0 {
      throw .last("attach the program that marks sockets")
    }
  }
}
