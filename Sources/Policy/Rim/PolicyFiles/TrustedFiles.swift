extension PolicyFileSystem.Status {
  /// True if only root could have written this file.
  package var isTrusted: Bool { kind == .null || owner == 0 && mode & 0o022 == 0 }

  /// The reason why an agent that runs as root must not trust this file: users other than root could have written it.
  package func refusal(of path: String, called subject: String) -> FileFailure? {
    if isTrusted { return nil }
    if owner != 0 { return FileFailure("\(subject) is not owned by root, but by uid \(owner)", cure: "chown root \(path)") }
    let who = mode & 0o002 != 0 ? "everyone" : "its group"
    return FileFailure("\(subject) can be written by \(who)", cure: "chmod go-w \(shellWord(path))")
  }
}

extension PolicyFileSystem {
  /// A file, folder or symbolic link that the kernel passes on the way to a file.
  package struct Waypoint: Hashable, Sendable {
    package var path: String
    package var status: Status
    package var isLink: Bool

    package init(path: String, status: Status, isLink: Bool = false) {
      self.path = path
      self.status = status
      self.isLink = isLink
    }

    /// Of a folder or a link on the way. In a sticky folder of root's, such as /tmp, nobody replaces what is root's.
    fileprivate var refusal: FileFailure? {
      if isLink {
        return status.owner == 0
          ? nil : FileFailure("the link \(path) is not owned by root, but by uid \(status.owner)", cure: "chown -h root \(path)")
      }
      if status.owner == 0, status.mode & 0o1000 != 0 { return nil }
      return status.refusal(of: path, called: "its folder \(path)")
    }
  }

  /// The reason why an agent that runs as root must neither read nor run the file: users other than root could have written it, or could
  /// put another one in its place. Every folder and symbolic link on the way counts. An absolute path.
  package func refusal(ofPath path: String) throws(FileFailure) -> FileFailure? {
    guard let way else { return try status(path).refusal(of: path, called: "it") }
    let points = try way(path)
    for point in points.dropLast() { if let refusal = point.refusal { return refusal } }
    return points.last.flatMap { $0.status.refusal(of: $0.path, called: "it") }
  }

  /// The same for what the kernel passes on the way to any file of a folder: the folder and all above it. An absolute path.
  package func refusal(ofFilesIn folder: String) throws(FileFailure) -> FileFailure? {
    for point in try way?(folder) ?? [] { if let refusal = point.refusal { return refusal } }
    return nil
  }

  /// The path of a program, as the kernel and a search on PATH find it: a name with a slash is a path. `nil`: there is none.
  package func program(named name: String, on folders: [String] = standardPath) -> String? {
    if name.contains("/") { return name }
    return folders.lazy.map { "\($0)/\(name)" }.first { path in
      do throws(FileFailure) { return try status(path).isProgram } catch { return false }
    }
  }

  /// The folders in which the agent's unit looks for programs (systemd.exec(5)).
  package static let standardPath = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
}

extension PolicyFileSystem.Status {
  /// Whether it can be executed by anybody.
  package var isProgram: Bool { kind == .regular && mode & 0o111 != 0 }
}
