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
