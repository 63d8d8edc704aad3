import Glibc

extension PolicyFileSystem {
  /// The files of this machine. A fifo or device in a policy folder never blocks and is never read.
  package static let linux = linux { wallClock() }

  /// The same for a person who asks, and who may be no root: the agent reads what this user may not.
  package static var person: PolicyFileSystem {
    var files = linux
    files.leavesUnread = geteuid() != 0
    return files
  }

  /// The same with a clock of its own, which tells if a file's version is settled; in nanoseconds since 1970.
  package static func linux(now: @escaping @Sendable () -> Int64) -> PolicyFileSystem {
    var system = PolicyFileSystem(
      names: { folder throws(FileFailure) in try namesInFolder(folder) },
      status: { path throws(FileFailure) in
        var buffer = stat()
        guard stat(path, &buffer) == 0 else { throw FileFailure(errno: errno) }
        return Status(buffer, at: now())
      },
      read: { path, limit throws(FileFailure) in try readFile(path, limit: limit, at: now()) },
      workingDirectory: {
        guard let path = getcwd(nil, 0) else { return "/" }
        defer { free(path) }
        return String(cString: path)
      })
    system.statusOfName = { path throws(FileFailure) in try statusOfLink(path, at: now()).status }
    system.way = { path throws(FileFailure) in try wayTo(path, at: now()) }
    return system
  }
}

/// Follows the path as path_resolution(7) does.
private func wayTo(_ path: String, at now: Int64) throws(FileFailure) -> [PolicyFileSystem.Waypoint] {
  var rest = path.split(separator: "/").map(String.init)[...]
  var folder = ""
  var points = [PolicyFileSystem.Waypoint(path: "/", status: try statusOfLink("/", at: now).status)]
  var links = 0
  while let name = rest.popFirst() {
    if name == "." { continue }
    if name == ".." {
      folder = folder.lastIndex(of: "/").map { String(folder[..<$0]) } ?? ""
      continue
    }
    let next = "\(folder)/\(name)"
    let (status, isLink) = try statusOfLink(next, at: now)
    points.append(.init(path: next, status: status, isLink: isLink))
    guard isLink else {
      folder = next
      continue
    }
    links += 1
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink(next, &buffer, buffer.count)
    guard count > 0, links <= 40 else { throw FileFailure(errno: count > 0 ? ELOOP : errno) }
    let target = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    if target.hasPrefix("/") { folder = "" }
    rest = target.split(separator: "/").map(String.init)[...] + rest
  }
  return points
}

private func statusOfLink(_ path: String, at now: Int64) throws(FileFailure) -> (status: PolicyFileSystem.Status, isLink: Bool) {
  var buffer = stat()
  guard lstat(path, &buffer) == 0 else { throw FileFailure(errno: errno) }
  return (PolicyFileSystem.Status(buffer, at: now), buffer.st_mode & S_IFMT == S_IFLNK)
}

/// The user whose number stands for all that have none in this user namespace (user_namespaces(7)): root outside of it is one of them, and
/// cannot be told from others. `nil`: every user has a number.
private let userWithoutNumber: UInt32? = {
  // By the plain calls: the status of a file asks for this user.
  let words = { (path: String) -> [String] in
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return [] }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = read(descriptor, &bytes, bytes.count)
    return bytes.prefix(max(0, count)).split { $0 == 0x20 || $0 == 0x0a }.map { String(decoding: $0, as: UTF8.self) }
  }
  if words("/proc/self/uid_map") == ["0", "0", "4294967295"] { return nil }
  return words("/proc/sys/kernel/overflowuid").first.flatMap { UInt32($0) }
}()

private func wallClock() -> Int64 {
  var now = timespec()
  clock_gettime(CLOCK_REALTIME, &now)
  return now.nanoseconds
}

private func namesInFolder(_ folder: String) throws(FileFailure) -> [String] {
  guard let stream = opendir(folder) else { throw FileFailure(errno: errno) }
  defer { closedir(stream) }
  var names: [String] = []
  errno = 0
  while let entry = readdir(stream) {
    // `d_name` ends in a NUL. Names that are not UTF-8 are repaired, so they can never be opened.
    let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    if name != ".", name != ".." { names.append(name) }
  }
  return names
}

private func readFile(_ path: String, limit: Int, at now: Int64) throws(FileFailure) -> (bytes: [UInt8], status: PolicyFileSystem.Status) {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
  guard descriptor >= 0 else { throw FileFailure(errno: errno) }
  defer { close(descriptor) }
  var buffer = stat()
  guard fstat(descriptor, &buffer) == 0 else { throw FileFailure(errno: errno) }
  let status = PolicyFileSystem.Status(buffer, at: now)
  guard status.kind == .regular else { return ([], status) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 65_536)
  while bytes.count < limit {
    let wanted = min(chunk.count, limit - bytes.count)
    let count = read(descriptor, &chunk, wanted)
    if count < 0, errno == EINTR { continue }
    guard count >= 0 else { throw FileFailure(errno: errno) }
    if count == 0 { break }
    bytes += chunk[..<count]
  }
  return (bytes, status)
}

extension PolicyFileSystem.Status {
  fileprivate init(_ buffer: stat, at now: Int64) {
    let kind: PolicyFileSystem.Kind =
      switch buffer.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .folder
      // makedev(1, 3) of linux/Documentation/admin-guide/devices.txt.
      case S_IFCHR where buffer.st_rdev == 0x103: .null
      default: .other
      }
    let version = kind == .regular ? FileVersion(buffer, settledAt: now) : nil
    let owner = buffer.st_uid == userWithoutNumber ? 0 : buffer.st_uid
    self.init(kind: kind, owner: owner, mode: buffer.st_mode & 0o7777, version: version)
  }
}

extension FileVersion {
  /// `nil` if the file has changed so recently that another change may leave the same times.
  fileprivate init?(_ buffer: stat, settledAt now: Int64) {
    self.init(
      device: UInt64(buffer.st_dev), inode: UInt64(buffer.st_ino), size: Int64(buffer.st_size), modified: buffer.st_mtim.nanoseconds,
      changed: buffer.st_ctim.nanoseconds)
    guard isSettled(at: now) else { return nil }
  }
}

extension timespec {
  fileprivate var nanoseconds: Int64 { Int64(tv_sec) &* 1_000_000_000 &+ Int64(tv_nsec) }
}

extension FileFailure {
  fileprivate init(errno code: Int32) {
    let cause: Cause =
      switch code {
      case ENOENT, ENOTDIR: .missing
      case EACCES, EPERM: .denied
      default: .other
      }
    self.init(String(cString: strerror(code)), cause: cause)
  }
}
