internal import Glibc

/// Small files, whole.
package enum TextFile {
  /// The file's bytes, at most `limit`; a larger file is an error (EFBIG).
  package static func read(_ path: String, limit: Int = 1 << 20) throws(SystemError) -> [UInt8] {
    let number = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { throw .last("open \(path)") }
    let file = FileDescriptor(owning: number)
    var bytes: [UInt8] = []
    while let part = try file.read(), !part.isEmpty {
      bytes += part
      if bytes.count > limit { throw SystemError(code: EFBIG, operation: "read \(path)") }
    }
    return bytes
  }

  /// Puts the bytes in the place of whatever stood there, in one step (rename(2)): a reader sees the old file or the new one.
  package static func replace(_ path: String, with bytes: [UInt8], mode: UInt32) throws(SystemError) {
    let temporary = path + ".roamward-new"
    unlink(temporary)
    let number = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard number >= 0 else { throw .last("create \(temporary)") }
    let file = FileDescriptor(owning: number)
    do throws(SystemError) {
      fchmod(number, mode)
      try file.writeAll(bytes)
      guard fsync(number) == 0, rename(temporary, path) == 0 else { throw .last("replace \(path)") }
    } catch {
      unlink(temporary)
      throw error
    }
  }

  /// Writes over the file that stands there, keeping its inode: for a file that cannot be renamed over, as a bind mount.
  package static func overwrite(_ path: String, with bytes: [UInt8]) throws(SystemError) {
    let number = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)
    guard number >= 0 else { throw .last("open \(path)") }
    let file = FileDescriptor(owning: number)
    try file.writeAll(bytes)
    guard fsync(number) == 0 else { throw .last("write \(path)") }
  }

  /// Removes the file; one that is not there is as good.
  package static func remove(_ path: String) throws(SystemError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw .last("remove \(path)") }
  }
}

extension FileDescriptor {
  /// Writes everything to a file or a blocking socket.
  package func writeAll(_ bytes: [UInt8]) throws(SystemError) {
    var rest = bytes[...]
    while !rest.isEmpty { rest = rest.dropFirst(try write(rest)) }
  }
}
