internal import Glibc

/// Small files, read and written as a whole.
package enum TextFile {
  /// The suffix of the name under which `replace` writes beside the file, and which a killed agent may leave behind.
  package static let temporarySuffix = ".roamward-new"

  /// The file's bytes, at most `limit`; a larger file is an error (EFBIG).
  package static func read(_ path: String, limit: Int = 1 << 20) throws(SystemError) -> [UInt8] {
    let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { throw .last("open \(path)") }
    let file = FileDescriptor(owning: number)
    var bytes: [UInt8] = []
    // Most files are small, and freed memory is wiped: what is read at once grows with the file.
    while let part = try file.read(atMost: bytes.count < 4096 ? 4096 : 65_536), !part.isEmpty {
      bytes += part
      if bytes.count > limit { throw SystemError(code: EFBIG, operation: "read \(path)") }
    }
    return bytes
  }

  /// Replaces the file in one step (rename(2)): a reader sees the old file or the new one, and a power failure leaves one of them. The file
  /// belongs to `owner`, or to the agent's own user and group.
  package static func replace(
    _ path: String, with bytes: [UInt8], mode: UInt32, owner: (user: UInt32, group: UInt32)? = nil
  ) throws(SystemError) {
    let temporary = path + temporarySuffix
    _ = try prepare(path, with: bytes, mode: mode, owner: owner)
    guard rename(temporary, path) == 0 else {
      let error = SystemError.last("replace \(path)")
      unlink(temporary)
      throw error
    }
    syncFolder(of: path)
    FaultPoint.pass("after writing \(path)")
  }

  /// Writes the complete new file to disk, beside the one that it is to replace.
  static func prepare(
    _ path: String, with bytes: [UInt8], mode: UInt32, owner: (user: UInt32, group: UInt32)?
  ) throws(SystemError) -> FileDescriptor {
    let temporary = path + temporarySuffix
    FaultPoint.pass("before writing \(path)")
    unlink(temporary)
    let number = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard number >= 0 else { throw .last("create \(temporary)") }
    var file = FileDescriptor(owning: number)
    // The owner comes first: a change of owner clears set-user-ID bits.
    if let owner, fchown(number, owner.user, owner.group) != 0 {
      unlink(temporary)
      file = try OwnedFile.create(temporary, mode: mode, user: owner.user, group: owner.group)
    } else {
      fchmod(number, mode)
    }
    do throws(SystemError) {
      try file.writeAll(bytes)
      FaultPoint.pass("before renaming to \(path)")
      guard fsync(file.number) == 0 else { throw .last("replace \(path)") }
    } catch {
      unlink(temporary)
      throw error
    }
    return file
  }

  /// Removes the folder in which a process was killed that made a new file of another user there.
  package static func clearUnfinished(_ path: String) { OwnedFile.clear(path + temporarySuffix) }

  /// Creates a file that must not exist (EEXIST), with its mode from the first instant.
  package static func create(_ path: String, with bytes: [UInt8], mode: UInt32) throws(SystemError) {
    let number = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
    guard number >= 0 else { throw .last("create \(path)") }
    let file = FileDescriptor(owning: number)
    // The umask may have cleared some bits.
    fchmod(number, mode)
    try file.writeAll(bytes)
  }

  /// Appends to an existing file.
  package static func append(_ path: String, _ bytes: [UInt8]) throws(SystemError) {
    let number = open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
    guard number >= 0 else { throw .last("open \(path)") }
    try FileDescriptor(owning: number).writeAll(bytes)
  }

  /// Overwrites an existing file and keeps its inode: for a file that cannot be renamed over, such as a bind mount. No links are followed.
  package static func overwrite(_ path: String, with bytes: [UInt8]) throws(SystemError) {
    let file = try openAsAllowed(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW)
    FaultPoint.pass("before overwriting \(path)")
    if FaultPoint.isArmed {
      // Two writes, so that a test can kill the process between them.
      try file.writeAll(Array(bytes.prefix(bytes.count / 2)))
      FaultPoint.pass("while overwriting \(path)")
      try file.writeAll(Array(bytes.dropFirst(bytes.count / 2)))
    } else {
      try file.writeAll(bytes)
    }
    FaultPoint.pass("after overwriting \(path)")
    guard fsync(file.number) == 0 else { throw .last("write \(path)") }
  }

  /// Without CAP_DAC_OVERRIDE root opens another user's file as that user.
  private static func openAsAllowed(_ path: String, _ flags: Int32) throws(SystemError) -> FileDescriptor {
    var number = open(path, flags)
    var status = stat()
    if number < 0, errno == EACCES, geteuid() == 0, lstat(path, &status) == 0 {
      number = Privileges.asUser(status.st_uid, group: status.st_gid) { open(path, flags) } ?? -1
    }
    guard number >= 0 else { throw .last("open \(path)") }
    return FileDescriptor(owning: number)
  }

  /// Removes the file; a missing one is no error.
  package static func remove(_ path: String) throws(SystemError) {
    FaultPoint.pass("before removing \(path)")
    guard unlink(path) == 0 || errno == ENOENT else { throw .last("remove \(path)") }
    syncFolder(of: path)
    FaultPoint.pass("after removing \(path)")
  }

  /// Makes changes of names in the file's folder durable, as far as the file system can.
  static func syncFolder(of path: String) {
    let end = path.lastIndex(of: "/")
    let folder = end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let number = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard number >= 0 else { return }
    fsync(number)
    close(number)
  }
}

extension FileDescriptor {
  /// Writes everything to a file or a blocking socket.
  package func writeAll(_ bytes: [UInt8]) throws(SystemError) {
    var rest = bytes[...]
    while !rest.isEmpty { rest = rest.dropFirst(try write(rest)) }
  }
}
