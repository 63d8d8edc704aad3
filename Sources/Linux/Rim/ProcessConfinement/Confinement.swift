internal import CConfinement
internal import Glibc
package import LinuxIO

/// Irrevocably drops the privileges and resources that a program does not need. Each program calls it for itself, before it reads untrusted
/// input.
package enum Confinement {
  /// Drops all capabilities and the right to gain any, disables core dumps, and prevents tracing by other processes of its user. If root
  /// started it, also changes to an unprivileged user, or to `nobody` if that does not exist. Changes the working folder to `/`.
  package static func giveUpPrivileges(becoming name: String) throws(SystemError) {
    guard chdir("/") == 0 else { throw .last("go to /") }
    cconfinement_drop_bounds()
    if getuid() == 0 {
      let account = getpwnam(name) ?? getpwnam("nobody")
      let (user, group) = account.map { ($0.pointee.pw_uid, $0.pointee.pw_gid) } ?? (65_534, 65_534)
      // In a user namespace or under a service manager's limits there may be no other user. Then only the capabilities are dropped.
      guard cconfinement_become(user, group) == 0 || errno == EPERM || errno == EINVAL else { throw .last("become another user") }
    }
    guard cconfinement_drop_capabilities() == 0 else { throw .last("drop capabilities") }
    guard cconfinement_forbid_privileges() == 0 else { throw .last("forbid privileges") }
  }

  /// The kernel kills this process when its parent's thread ends. Call it after `giveUpPrivileges`: a change of the user resets it.
  package static func endWithParent() throws(SystemError) {
    guard cconfinement_end_with_parent() == 0 else { throw .last("end with the parent") }
  }

  /// Leaves of all files those below these folders, to be read, where the kernel has Landlock. Call it after `giveUpPrivileges`, on the
  /// only thread.
  package static func readFiles(below folders: [String]) throws(SystemError) {
    let paths = folders.map { strdup($0) }
    defer { for path in paths { free(path) } }
    let pointers = paths.map { UnsafePointer<CChar>($0) }
    let result = pointers.withUnsafeBufferPointer { cconfinement_read_below($0.baseAddress, $0.count) }
    guard result == 0 else { throw .last("confine the reading of files") }
  }

  /// Limits the number of open descriptors and the bytes of anonymous memory. No file can grow.
  package static func limit(descriptors: Int, memory: Int) throws(SystemError) {
    guard cconfinement_limit(UInt64(descriptors), UInt64(memory)) == 0 else { throw .last("limit resources") }
  }
}
