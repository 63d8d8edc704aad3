internal import Glibc
internal import LinuxIO

/// The file operations of the resolv.conf backend, replaceable so that a test can kill the agent at each of them.
struct FileOperations {
  /// Replaces one of the agent's own files.
  var replace: (_ path: String, _ bytes: [UInt8], ResolvConfPlace.PlainFile) throws(SystemError) -> Void
  /// Replaces a file that others write too, as in `SharedFile`: returns false, without a change, if it is not the expected one.
  var exchange:
    (_ path: String, _ bytes: [UInt8], ResolvConfPlace.PlainFile, _ isExpected: (ResolvConfPlace) -> Bool) throws(SystemError) -> Bool
  var takeAway: (_ path: String, _ isExpected: (ResolvConfPlace) -> Bool) throws(SystemError) -> Bool
  var overwrite: (_ path: String, _ bytes: [UInt8]) throws(SystemError) -> Void
  var remove: (_ path: String) throws(SystemError) -> Void
  /// Puts another program's file back in its place after an exchange.
  var putBack: (_ name: String, _ path: String) throws(SystemError) -> Void
  /// Lets another program go on with a file that it is writing.
  var wait: () -> Void = { usleep(5_000) }

  static var real: FileOperations {
    FileOperations(
      replace: { path, bytes, file throws(SystemError) in
        try TextFile.replace(path, with: bytes, mode: file.mode, owner: (file.user, file.group))
      },
      exchange: { path, bytes, file, isExpected throws(SystemError) in
        try SharedFile.replace(path, with: bytes, mode: file.mode, owner: (file.user, file.group)) { isExpected(ResolvConfPlace($0)) }
      },
      takeAway: { path, isExpected throws(SystemError) in try SharedFile.remove(path) { isExpected(ResolvConfPlace($0)) } },
      overwrite: { path, bytes throws(SystemError) in try TextFile.overwrite(path, with: bytes) },
      remove: { path throws(SystemError) in try TextFile.remove(path) },
      putBack: { name, path throws(SystemError) in
        guard rename(name, path) == 0 else { throw .last("put \(path) back") }
      })
  }
}
