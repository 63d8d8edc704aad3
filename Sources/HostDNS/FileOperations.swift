internal import LinuxIO

/// The changes that the resolv.conf backend makes, so that a test can let the agent die at each of them.
struct FileOperations {
  var replace: (_ path: String, _ bytes: [UInt8], ResolvConfPlace.PlainFile) throws(SystemError) -> Void
  var overwrite: (_ path: String, _ bytes: [UInt8]) throws(SystemError) -> Void
  var remove: (_ path: String) throws(SystemError) -> Void

  static var real: FileOperations {
    FileOperations(
      replace: { path, bytes, file throws(SystemError) in
        try TextFile.replace(path, with: bytes, mode: file.mode, owner: (file.user, file.group))
      },
      overwrite: { path, bytes throws(SystemError) in try TextFile.overwrite(path, with: bytes) },
      remove: { path throws(SystemError) in try TextFile.remove(path) })
  }
}
