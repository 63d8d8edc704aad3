import Glibc

extension PolicyFileSystem {
  /// The files of this machine. A fifo or device in a policy folder never blocks and is never read.
  package static let linux = PolicyFileSystem(
    names: { folder throws(FileFailure) in try namesInFolder(folder) },
    status: { path throws(FileFailure) in
      var buffer = stat()
      guard stat(path, &buffer) == 0 else { throw FileFailure(errno: errno) }
      return Status(buffer)
    },
    read: { path, limit throws(FileFailure) in try readFile(path, limit: limit) },
    workingDirectory: {
      guard let path = getcwd(nil, 0) else { return "/" }
      defer { free(path) }
      return String(cString: path)
    })
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

private func readFile(_ path: String, limit: Int) throws(FileFailure) -> (bytes: [UInt8], status: PolicyFileSystem.Status) {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
  guard descriptor >= 0 else { throw FileFailure(errno: errno) }
  defer { close(descriptor) }
  var buffer = stat()
  guard fstat(descriptor, &buffer) == 0 else { throw FileFailure(errno: errno) }
  let status = PolicyFileSystem.Status(buffer)
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
  fileprivate init(_ buffer: stat) {
    let kind: PolicyFileSystem.Kind =
      switch buffer.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .folder
      // makedev(1, 3) of linux/Documentation/admin-guide/devices.txt.
      case S_IFCHR where buffer.st_rdev == 0x103: .null
      default: .other
      }
    self.init(kind: kind, owner: buffer.st_uid, mode: buffer.st_mode & 0o7777)
  }
}

extension FileFailure {
  fileprivate init(errno code: Int32) { self.init(String(cString: strerror(code)), isMissing: code == ENOENT || code == ENOTDIR) }
}
