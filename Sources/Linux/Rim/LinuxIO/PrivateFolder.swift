internal import Glibc

/// A folder in /tmp for a child of this program alone. It is removed with the value; what a program that was killed has left is removed by
/// the next one of its user.
package final class PrivateFolder {
  package let path: String
  private let lock: FileDescriptor

  /// A folder whose name begins with `prefix`; `files` by their names.
  package init(_ prefix: String, _ files: [String: [UInt8]] = [:]) throws(SystemError) {
    Self.removeLeftovers(prefix)
    (path, lock) = try Self.make(prefix)
    for (name, bytes) in files { try TextFile.create("\(path)/\(name)", with: bytes, mode: 0o600) }
  }

  deinit { Self.remove(path) }

  /// In /tmp, because providers have no folder of their own; mkdtemp(3) makes it for this user alone, under a name that was free, and /tmp
  /// lets no other user rename or remove it. Another program of this user may take a new folder for a leftover before it is locked.
  private static func make(_ prefix: String) throws(SystemError) -> (String, FileDescriptor) {
    for _ in 0..<10 {
      var template = Array("/tmp/\(prefix)XXXXXX".utf8CString)
      guard mkdtemp(&template) != nil else { throw .last("make a folder in /tmp") }
      let path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
      if let held = locked(path), access(path, F_OK) == 0 { return (path, held) }
    }
    throw SystemError(code: EBUSY, operation: "make a folder in /tmp")
  }

  /// The locks of programs that were killed are free.
  private static func removeLeftovers(_ prefix: String) {
    for name in Folder.names(in: "/tmp", withPrefix: prefix) {
      var status = stat()
      guard lstat("/tmp/\(name)", &status) == 0, status.st_uid == geteuid(), let held = locked("/tmp/\(name)") else { continue }
      remove("/tmp/\(name)")
      withExtendedLifetime(held) {}
    }
  }

  private static func remove(_ path: String) {
    for name in Folder.names(in: path) { unlink("\(path)/\(name)") }
    rmdir(path)
  }

  private static func locked(_ path: String) -> FileDescriptor? {
    let number = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(owning: number)
    return flock(number, LOCK_EX | LOCK_NB) == 0 ? file : nil
  }
}
