/// The files as far as policies need them, as closures, so that loading can be tried in memory. `.linux` is the real one.
package struct PolicyFileSystem: Sendable {
  package enum Kind: Hashable, Sendable {
    case regular, folder
    /// `/dev/null`, or a link to it.
    case null
    case other
  }

  /// What a folder or a file says about itself, links followed.
  package struct Status: Hashable, Sendable {
    package var kind: Kind
    package var owner: UInt32
    /// The lowest twelve bits of `st_mode`.
    package var mode: UInt32

    package init(kind: Kind, owner: UInt32 = 0, mode: UInt32 = 0o644) {
      self.kind = kind
      self.owner = owner
      self.mode = mode
    }
  }

  /// The names in a folder, in any order, without `.` and `..`.
  package var names: @Sendable (_ folder: String) throws(FileFailure) -> [String]
  package var status: @Sendable (_ path: String) throws(FileFailure) -> Status
  /// At most so many bytes, and the status of that very file. Nothing is read of what is not a regular file. Must not block.
  package var read: @Sendable (_ path: String, _ limit: Int) throws(FileFailure) -> (bytes: [UInt8], status: Status)
  /// Where relative paths begin.
  package var workingDirectory: @Sendable () -> String

  package init(
    names: @escaping @Sendable (_ folder: String) throws(FileFailure) -> [String],
    status: @escaping @Sendable (_ path: String) throws(FileFailure) -> Status,
    read: @escaping @Sendable (_ path: String, _ limit: Int) throws(FileFailure) -> (bytes: [UInt8], status: Status),
    workingDirectory: @escaping @Sendable () -> String
  ) {
    self.names = names
    self.status = status
    self.read = read
    self.workingDirectory = workingDirectory
  }
}

/// Why a file or folder cannot be used.
package struct FileFailure: Error, Hashable, Sendable {
  /// In the words of the system: `No such file or directory`.
  package var reason: String
  package var cure: String?
  /// There is nothing of that name.
  package var isMissing: Bool

  package init(_ reason: String, cure: String? = nil, isMissing: Bool = false) {
    self.reason = reason
    self.cure = cure
    self.isMissing = isMissing
  }
}

extension PolicyFileSystem {
  /// The path from the root; `..`, and `.` within it, are left to the kernel.
  func absolute(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    let directory = workingDirectory()
    if path == "." { return directory }
    return (directory.hasSuffix("/") ? directory : directory + "/") + (path.hasPrefix("./") ? String(path.dropFirst(2)) : path)
  }

  /// A regular file of at most 1 MiB and one byte, whose owner is above doubt where that is asked for.
  func readTrusted(_ path: String, requireRootOwnership: Bool) throws(FileFailure) -> (bytes: [UInt8], status: Status) {
    let (bytes, status) = try read(path, fileSizeLimit + 1)
    if status.kind != .null, status.kind != .regular { throw FileFailure("it is not a regular file") }
    if requireRootOwnership, let refusal = status.refusal(of: path, called: "it") { throw refusal }
    return (bytes, status)
  }
}

extension PolicyFileSystem.Status {
  /// Why an agent that runs as root must not trust this: others than root could have written it.
  func refusal(of path: String, called subject: String) -> FileFailure? {
    if kind == .null { return nil }
    if owner != 0 { return FileFailure("\(subject) is not owned by root, but by uid \(owner)", cure: "chown root \(path)") }
    if mode & 0o022 == 0 { return nil }
    let who = mode & 0o002 != 0 ? "everyone" : "its group"
    return FileFailure("\(subject) can be written by \(who)", cure: "chmod go-w \(path)")
  }
}

func folder(of path: String) -> String {
  guard let slash = path.lastIndex(of: "/") else { return "." }
  return slash == path.startIndex ? "/" : String(path[..<slash])
}

func baseName(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

func joined(_ folder: String, _ name: String) -> String { folder.hasSuffix("/") ? folder + name : folder + "/" + name }
