internal import Glibc

/// A new file of another user, made without CAP_CHOWN: as that user, in a folder beside its place.
enum OwnedFile {
  /// Creates an empty file that must not exist, with its owner and mode. Only root can.
  static func create(_ path: String, mode: UInt32, user: UInt32, group: UInt32) throws(SystemError) -> FileDescriptor {
    let folder = path + ".d"
    let made = "\(folder)/file"
    clear(path)
    guard mkdir(folder, 0o700) == 0 else { throw .last("create \(folder)") }
    defer { rmdir(folder) }
    // Sticky: what one user makes there, others cannot replace.
    guard chmod(folder, 0o1733) == 0 else { throw .last("create \(folder)") }
    let entry = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
    guard entry >= 0 else { throw .last("open \(folder)") }
    defer { close(entry) }
    // By the folder itself: the user need not come to where it is.
    let number = Privileges.asUser(user, group: group) {
      let number = openat(entry, "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      // Its owner alone may, without CAP_FOWNER.
      if number >= 0 { fchmod(number, mode) }
      return number
    }
    guard let number, number >= 0 else { throw .last("create \(path) for user \(user)") }
    let file = FileDescriptor(owning: number)
    guard rename(made, path) == 0 else {
      let error = SystemError.last("create \(path)")
      unlink(made)
      throw error
    }
    guard isSame(path, file) else {
      unlink(path)
      throw SystemError(code: EBUSY, operation: "create \(path)")
    }
    return file
  }

  /// Removes what a process has left that was killed while it made the file.
  static func clear(_ path: String) {
    unlink("\(path).d/file")
    rmdir("\(path).d")
  }

  private static func isSame(_ path: String, _ file: FileDescriptor) -> Bool {
    var (named, open) = (stat(), stat())
    return lstat(path, &named) == 0 && fstat(file.number, &open) == 0 && named.st_ino == open.st_ino && named.st_dev == open.st_dev
  }
}
