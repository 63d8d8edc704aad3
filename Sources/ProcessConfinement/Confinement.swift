internal import CConfinement
internal import Glibc
package import LinuxIO

/// How a program of ours gives up, for good, what its work does not need. To be done by the program itself,
/// before it reads what strangers send.
package enum Confinement {
  /// Becomes a user without rights, where root started it, and leaves the starter's folder; in any case drops all capabilities
  /// and the right to gain any, leaves no core dump, and cannot be traced by other processes of its user. Where the user does
  /// not exist it becomes `nobody`.
  package static func giveUpPrivileges(becoming name: String) throws(SystemError) {
    guard chdir("/") == 0 else { throw .last("go to /") }
    cconfinement_drop_bounds()
    if getuid() == 0 {
      let account = getpwnam(name) ?? getpwnam("nobody")
      let (user, group) = account.map { ($0.pointee.pw_uid, $0.pointee.pw_gid) } ?? (65_534, 65_534)
      // In a user namespace or under a service manager's limits there may be no other user to become: then no capabilities it is.
      guard cconfinement_become(user, group) == 0 || errno == EPERM || errno == EINVAL else { throw .last("become another user") }
    }
    guard cconfinement_drop_capabilities() == 0 else { throw .last("drop capabilities") }
    guard cconfinement_forbid_privileges() == 0 else { throw .last("forbid privileges") }
  }

  /// The kernel kills this process when its parent's thread ends. To be said after `giveUpPrivileges`: a change of the user takes it back.
  package static func endWithParent() throws(SystemError) {
    guard cconfinement_end_with_parent() == 0 else { throw .last("end with the parent") }
  }

  /// At most so many open descriptors and so many bytes of memory that is no file's. No file grows.
  package static func limit(descriptors: Int, memory: Int) throws(SystemError) {
    guard cconfinement_limit(UInt64(descriptors), UInt64(memory)) == 0 else { throw .last("limit resources") }
  }
}
