package import PolicyFiles

extension PolicyFileSystem {
  /// The same files, where those of a folder are read as if they stood in another: what they name is sought beside them first, and then
  /// in that folder.
  package func reading(_ folder: String, asIfIn home: String?) -> PolicyFileSystem {
    guard let home = home.map(absolute) else { return self }
    let folder = absolute(folder)
    var files = self
    files.pathOfNamed = { [status] place, name in
      let beside = joined(place, name)
      guard place == folder else { return beside }
      do throws(FileFailure) { if !name.contains("/"), try status(beside).kind != .folder { return beside } } catch {}
      return joined(home, name)
    }
    return files
  }

  /// The absolute path; `..`, and `.` within it, are left to the kernel.
  package func absolute(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    let directory = workingDirectory()
    if path == "." { return directory }
    return (directory.hasSuffix("/") ? directory : directory + "/") + (path.hasPrefix("./") ? String(path.dropFirst(2)) : path)
  }

  /// Reads a regular file, at most one byte more than `limit`. If required, only root may be able to write it, or to put another in its
  /// place.
  package func readTrusted(
    _ path: String, requireRootOwnership: Bool, limit: Int = fileSizeLimit
  ) throws(FileFailure) -> (bytes: [UInt8], status: Status) {
    let (bytes, status) = try read(path, limit + 1)
    if status.kind != .null, status.kind != .regular { throw FileFailure("it is not a regular file") }
    guard requireRootOwnership else { return (bytes, status) }
    if let refusal = status.refusal(of: path, called: "it") { throw refusal }
    if way != nil, let refusal = try refusal(ofPath: absolute(path)) { throw refusal }
    return (bytes, status)
  }
}

func folder(of path: String) -> String {
  guard let slash = path.lastIndex(of: "/") else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}

func baseName(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

func joined(_ folder: String, _ name: String) -> String { folder.hasSuffix("/") ? folder + name : folder + "/" + name }
