package import FlightRecord
internal import Glibc
package import KeyMemory
package import LinuxIO
internal import NetworkTypes
internal import RoamwardCore

/// The files of the record: segments that only grow, and the key of its digests. Only root may read them: they name places.
///
/// Nothing here waits for the disk: lines are in the kernel when a call returns, and the kernel writes them in its own time. So an agent
/// that is killed loses nothing, and a machine that loses its power loses the last seconds.
package final class HistoryFolder {
  private static let suffix = ".log"
  private static let keyName = "key"

  /// The room that stays free on the disk, for the notes of a recovery: they matter more than the record.
  private static let reserve: UInt64 = 16 << 10

  package let path: String
  private var open: (number: Int, file: FileDescriptor)?

  package init(path: String) { self.path = path }

  /// The folder in the agent's state folder.
  package static func path(in stateDirectory: String) -> String { stateDirectory + "/history" }

  /// Whether an agent uses the state folder: it has its lock.
  package static func isInUse(_ stateDirectory: String) -> Bool {
    let number = Glibc.open(stateDirectory + "/lock", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { return false }
    let lock = FileDescriptor(owning: number)
    return flock(lock.number, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }

  /// The segments by their names, `NUMBER-MILLISECONDS-NAMES.log`.
  package var segments: [SegmentList.Segment] {
    Folder.names(in: path).compactMap { name in
      guard let parts = Self.parts(of: name) else { return nil }
      var status = stat()
      guard lstat("\(path)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
      return SegmentList.Segment(
        number: parts.number, begins: Timestamp(milliseconds: parts.begins), names: parts.names, size: Int(clamping: status.st_size))
    }
  }

  private static func parts(of name: String) -> (number: Int, begins: Int64, names: HistorySettings.Names)? {
    guard name.hasSuffix(suffix) else { return nil }
    let parts = name.dropLast(suffix.count).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, let number = Int(parts[0]), number > 0, let begins = Int64(parts[1]),
      let names = HistorySettings.Names(rawValue: String(parts[2]))
    else { return nil }
    return (number, begins, names)
  }

  private func file(of segment: SegmentList.Segment) -> String {
    let digits = String(segment.number)
    let number = String(repeating: "0", count: max(0, 8 - digits.utf8.count)) + digits
    return "\(path)/\(number)-\(segment.begins.milliseconds)-\(segment.names.rawValue)\(Self.suffix)"
  }

  /// The bytes of all segments, oldest first. A segment that cannot be read is left out and named.
  package func read() -> (segments: [[UInt8]], unreadable: [String]) {
    var contents: [[UInt8]] = []
    var unreadable: [String] = []
    for segment in SegmentList(segments).segments {
      do throws(SystemError) { contents.append(try TextFile.read(file(of: segment), limit: 1 << 28)) } catch {
        unreadable.append("\(error)")
      }
    }
    return (contents, unreadable)
  }

  /// The key of the record's digests; `nil`: there is none.
  package var digest: KeyedDigest? { (try? TextFile.read("\(path)/\(Self.keyName)", limit: 64)).flatMap { KeyedDigest(key: $0) } }

  /// The key, which is made if there is none.
  package func makeDigest() throws(SystemError) -> KeyedDigest {
    if let digest { return digest }
    try leaveRoom()
    try Folder.make(path, mode: 0o700)
    let random = Glibc.open("/dev/urandom", O_RDONLY | O_CLOEXEC)
    guard random >= 0 else { throw .last("open /dev/urandom") }
    let key = try FileDescriptor(owning: random).read(atMost: KeyedDigest.keyLength) ?? []
    guard let digest = KeyedDigest(key: key) else { throw .last("read /dev/urandom") }
    try TextFile.remove("\(path)/\(Self.keyName)")
    try TextFile.create("\(path)/\(Self.keyName)", with: key, mode: 0o600)
    return digest
  }

  /// Appends to a segment, which is created if it is missing. After a failure the segment may end within a line.
  package func append(_ bytes: [UInt8], to segment: SegmentList.Segment) throws(SystemError) {
    if open?.number != segment.number {
      let path = file(of: segment)
      let number = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard number >= 0 else { throw .last("open \(path)") }
      open = (segment.number, FileDescriptor(owning: number))
      fchmod(number, 0o600)
    }
    do throws(SystemError) {
      try leaveRoom()
      try open?.file.writeAll(bytes)
    } catch {
      open = nil
      throw error
    }
  }

  /// Throws ENOSPC if the disk has no more than the reserve.
  private func leaveRoom() throws(SystemError) {
    var disk = statvfs()
    guard statvfs(Folder.parent(of: path), &disk) == 0, UInt64(disk.f_bavail) * UInt64(disk.f_frsize) <= Self.reserve else { return }
    throw SystemError(code: ENOSPC, operation: "write \(path)")
  }

  package func remove(_ segments: [SegmentList.Segment]) throws(SystemError) {
    for segment in segments {
      if open?.number == segment.number { open = nil }
      guard unlink(file(of: segment)) == 0 || errno == ENOENT else { throw .last("remove \(file(of: segment))") }
    }
  }

  /// Removes the record, its key and the folder.
  package func removeAll() throws(SystemError) {
    try remove(segments)
    unlink("\(path)/\(Self.keyName)")
    guard rmdir(path) == 0 || [ENOENT, ENOTEMPTY, EEXIST].contains(errno) else { throw .last("remove \(path)") }
  }
}
