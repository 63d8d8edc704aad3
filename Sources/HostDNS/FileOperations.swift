internal import Glibc
internal import LinuxIO

/// The changes that the resolv.conf backend makes, so that a test can let the agent die at each of them.
struct FileOperations {
  /// Of the agent's own files.
  var replace: (_ path: String, _ bytes: [UInt8], ResolvConfPlace.PlainFile) throws(SystemError) -> Void
  /// Of a file that others write too, as those of `SharedFile`: false where it is not what was expected, and stays.
  var exchange:
    (_ path: String, _ bytes: [UInt8], ResolvConfPlace.PlainFile, _ isExpected: (ResolvConfPlace) -> Bool) throws(SystemError) -> Bool
  var takeAway: (_ path: String, _ isExpected: (ResolvConfPlace) -> Bool) throws(SystemError) -> Bool
  var overwrite: (_ path: String, _ bytes: [UInt8]) throws(SystemError) -> Void
  var remove: (_ path: String) throws(SystemError) -> Void
  /// Gives what came out, and was another's, its place again.
  var putBack: (_ name: String, _ path: String) throws(SystemError) -> Void

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
