/// The file operations that policies need, as closures, so that loading can be tested in memory. `.linux` is the real one.
package struct PolicyFileSystem: Sendable {
  package enum Kind: Hashable, Sendable {
    case regular, folder
    /// `/dev/null`, or a link to it.
    case null
    case other
  }

  /// The status of a folder or file, with links followed.
  package struct Status: Hashable, Sendable {
    package var kind: Kind
    package var owner: UInt32
    /// The lowest twelve bits of `st_mode`.
    package var mode: UInt32
    /// The version of a regular file; `nil` if the file system does not tell, or if a change might not show.
    package var version: FileVersion?

    package init(kind: Kind, owner: UInt32 = 0, mode: UInt32 = 0o644, version: FileVersion? = nil) {
      self.kind = kind
      self.owner = owner
      self.mode = mode
      self.version = version
    }
  }

  /// The names in a folder, in any order, without `.` and `..`.
  package var names: @Sendable (_ folder: String) throws(FileFailure) -> [String]
  package var status: @Sendable (_ path: String) throws(FileFailure) -> Status
  /// Reads at most `limit` bytes, and the status of the same file. Reads nothing of a file that is not regular. Must not block.
  package var read: @Sendable (_ path: String, _ limit: Int) throws(FileFailure) -> (bytes: [UInt8], status: Status)
  /// The status of a file with a secret, of which no copy is kept; `nil`: as of any other file.
  package var statusOfSecret: (@Sendable (_ path: String) throws(FileFailure) -> Status)?
  /// The path of a file that a policy in this folder names by a relative path; `nil`: it begins at the folder.
  package var pathOfNamed: (@Sendable (_ folder: String, _ name: String) -> String)?
  /// All that the kernel passes on the way to an absolute path, from `/` on: folders, symbolic links, and last the file; `nil`: only the
  /// file itself is known.
  package var way: (@Sendable (_ path: String) throws(FileFailure) -> [Waypoint])?
  /// The status of a name itself: of a symbolic link, not of where it leads; `nil`: not known.
  package var statusOfName: (@Sendable (_ path: String) throws(FileFailure) -> Status)?
  /// Whether a file that this user may not read stays unread, instead of being an error: for a person's questions, never for an agent.
  package var leavesUnread = false
  /// The base of relative paths.
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

/// The version of a file: as long as it is the same, so are the file's bytes, its owner and its mode.
package struct FileVersion: Hashable, Sendable {
  package var device: UInt64
  package var inode: UInt64
  /// In bytes.
  package var size: Int64
  /// The time of the last change of the bytes (`st_mtim`), in nanoseconds since 1970.
  package var modified: Int64
  /// The time of the last change of the bytes, the owner or the mode (`st_ctim`), in nanoseconds since 1970. No program can set it.
  package var changed: Int64

  package init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64) {
    self.device = device
    self.inode = inode
    self.size = size
    self.modified = modified
    self.changed = changed
  }

  /// Whether any later change has another time than this one. The times have the granularity of the kernel's tick, or of the file system:
  /// two seconds at most (FAT).
  package func isSettled(at now: Int64) -> Bool { changed < now - 2_000_000_000 }
}

/// The reason why a file or folder cannot be used.
package struct FileFailure: Error, Equatable, Sendable {
  package enum Cause: Hashable, Sendable {
    /// The name does not exist.
    case missing
    /// This user may not look at it.
    case denied
    case other
  }

  /// The system's error text: `No such file or directory`.
  package var reason: String
  package var cure: String?
  package var cause: Cause

  package init(_ reason: String, cure: String? = nil, isMissing: Bool = false) {
    self.init(reason, cure: cure, cause: isMissing ? .missing : .other)
  }

  package init(_ reason: String, cure: String? = nil, cause: Cause) {
    self.reason = reason
    self.cure = cure
    self.cause = cause
  }

  package var isMissing: Bool { cause == .missing }
}
