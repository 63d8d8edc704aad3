internal import CLinux
internal import Glibc

/// Changes of a file that others change too: between a look and a change somebody may have put something else
/// there, which is not ours to replace.
///
/// rename(2) would replace it. So the two change places (`RENAME_EXCHANGE` of renameat2(2)), and what comes out is looked at; where it is
/// another's, it goes back. For an instant it does not stand there.
package enum SharedFile {
  /// As `TextFile.replace`, where what stood there is what `isExpected` knows, which is given the path at which that can be seen
  /// now; nothing is as good. False where it was another's, and stands there as before. A file system that cannot exchange is
  /// looked at just before instead.
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

  /// Removes it where it is what `isExpected` knows; false where it was another's, and stands there as before.
  package static func remove(_ path: String, ifThere isExpected: (String) -> Bool) throws(SystemError) -> Bool {
    let temporary = path + TextFile.temporarySuffix
    FaultPoint.pass("before removing \(path)")
    guard rename(path, temporary) == 0 else {
      if errno == ENOENT { return true }
      throw .last("remove \(path)")
    }
    let isOurs = isExpected(temporary)
    // Where there is something new by now, that is what others want.
    if !isOurs, clinux_rename_to_new(temporary, path) != 0, errno == EINVAL || errno == ENOSYS { rename(temporary, path) }
    unlink(temporary)
    TextFile.syncFolder(of: path)
    FaultPoint.pass("after removing \(path)")
    return isOurs
  }

  /// Until what comes out is what went in just before: somebody may put another there meanwhile, and then that is what belongs there.
  private static func giveBack(_ temporary: String, to path: String, inPlaceOf ours: Identity?) {
    var before = ours
    for _ in 0..<100 {
      let going = Identity(temporary)
      guard clinux_exchange(temporary, path) == 0 else {
        // Removed meanwhile: what is in our hands was there before that.
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
