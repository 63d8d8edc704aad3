internal import CLinux
internal import Glibc

/// Changes a file that others change too: between a read and a change, another program may have put something there that must stay.
///
/// rename(2) would replace it. So the two files are exchanged (`RENAME_EXCHANGE` of renameat2(2)), and the previous one is checked. If it
/// is another program's, it is put back. For an instant it is not at its path.
package enum SharedFile {
  /// Like `TextFile.replace`, if the previous file is one that `isExpected` accepts, which gets the path where it is readable now; or if
  /// there was none. Returns false if it was another program's, which stays. Without exchange in the file system, the check is made just
  /// before.
  package static func replace(
    _ path: String, with bytes: [UInt8], mode: UInt32, owner: (user: UInt32, group: UInt32)? = nil, ifThere isExpected: (String) -> Bool
  ) throws(SystemError) -> Bool {
    let temporary = path + TextFile.temporarySuffix
    let file = try TextFile.prepare(path, with: bytes, mode: mode, owner: owner)
    let isDone: Bool
    do throws(SystemError) {
      isDone = try put(temporary, file, at: path, isExpected)
    } catch {
      unlink(temporary)
      throw error
    }
    unlink(temporary)
    TextFile.syncFolder(of: path)
    FaultPoint.pass("after writing \(path)")
    return isDone
  }

  private static func put(_ temporary: String, _ file: FileDescriptor, at path: String, _ isExpected: (String) -> Bool) throws(SystemError)
    -> Bool
  {
    if clinux_exchange(temporary, path) == 0 {
      FaultPoint.pass("before looking at what stood at \(path)")
      if isExpected(temporary) { return true }
      giveBack(temporary, to: path, inPlaceOf: Identity(file))
      return false
    }
    if errno == ENOENT {
      if clinux_rename_to_new(temporary, path) == 0 { return true }
      if errno == EEXIST { return false }
    }
    guard errno == EINVAL || errno == ENOSYS else { throw .last("replace \(path)") }
    guard access(path, F_OK) != 0 || isExpected(path) else { return false }
    guard rename(temporary, path) == 0 else { throw .last("replace \(path)") }
    return true
  }

  /// Removes the file if `isExpected` accepts it; returns false if it was another program's, which stays.
  package static func remove(_ path: String, ifThere isExpected: (String) -> Bool) throws(SystemError) -> Bool {
    let temporary = path + TextFile.temporarySuffix
    FaultPoint.pass("before removing \(path)")
    guard rename(path, temporary) == 0 else {
      if errno == ENOENT { return true }
      throw .last("remove \(path)")
    }
    let isOurs = isExpected(temporary)
    // A new file by now is the one that other programs want.
    if !isOurs, clinux_rename_to_new(temporary, path) != 0, errno == EINVAL || errno == ENOSYS { rename(temporary, path) }
    unlink(temporary)
    TextFile.syncFolder(of: path)
    FaultPoint.pass("after removing \(path)")
    return isOurs
  }

  /// Puts the file back: exchanges until the result is the file put there just before: another program may meanwhile put another file
  /// there, which then stays.
  private static func giveBack(_ temporary: String, to path: String, inPlaceOf ours: Identity?) {
    var before = ours
    for _ in 0..<100 {
      let going = Identity(temporary)
      guard clinux_exchange(temporary, path) == 0 else {
        // It was removed meanwhile: the file at hand is older than that.
        return
      }
      if Identity(temporary) == before { return }
      before = going
    }
  }

  private struct Identity: Equatable {
    let device: UInt
    let number: UInt

    init?(_ path: String) {
      var status = stat()
      guard lstat(path, &status) == 0 else { return nil }
      (device, number) = (UInt(status.st_dev), UInt(status.st_ino))
    }

    init?(_ file: FileDescriptor) {
      var status = stat()
      guard fstat(file.number, &status) == 0 else { return nil }
      (device, number) = (UInt(status.st_dev), UInt(status.st_ino))
    }
  }
}
