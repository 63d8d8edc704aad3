internal import KeyMemory
internal import PolicyFiles

/// A file that went into a set of policies: of policies itself, or one that those name.
package struct ReadFile: Hashable, Sendable {
  /// As the layers name it; from the root where another file names it.
  package var path: String
  private var contents: SealedBytes
  /// The files that it draws on.
  package var names: [String]

  package init(path: String, bytes: [UInt8], names: [String] = []) {
    self.path = path
    contents = SealedBytes(bytes)
    self.names = names
  }

  /// The file's bytes, which may hold keys: they are kept sealed, and opened each time that they are asked for.
  package var bytes: [UInt8] { contents.opened }
}

/// The files of a set without errors, as they were: what a file that is broken since can be replaced with. Holds
/// keys, where wg-quick files do.
package struct KeptPolicies: Hashable, Sendable {
  package struct File: Hashable, Sendable {
    package var file: ReadFile
    /// Since when this is its last known good version, in seconds since 1970.
    package var since: Int64

    package init(_ file: ReadFile, since: Int64) {
      self.file = file
      self.since = since
    }
  }

  /// By path.
  package private(set) var files: [String: File]
  /// Since when the set is as it is, in seconds since 1970.
  package private(set) var since: Int64

  package init(_ files: [File], since: Int64) {
    self.files = Dictionary(files.map { ($0.file.path, $0) }) { first, _ in first }
    self.since = since
  }

  /// The files of a set that is good now. What has not changed since the set before is as old as it was.
  init(_ read: [ReadFile], at time: Int64, after before: KeptPolicies?) {
    self.init(
      read.map { file in
        let old = before?.files[file.path]
        return File(file, since: old?.file == file ? old?.since ?? time : time)
      }, since: time)
    if let before, before.files == files { since = before.since }
  }
}

/// What is in force in the place of files with errors.
package enum PolicyFallback: Hashable, Sendable {
  /// Each by its last known good version, or not at all where it never was good; all others as they are.
  case files([StandIn])
  /// All of them as they were.
  case wholeSet(since: Int64)
}

/// A broken file's last good version, in its place.
package struct StandIn: Hashable, Sendable {
  package var path: String
  /// Where the first error of what stands there is; `nil`: it is well, but goes with one that is not.
  package var line: Int?
  /// Since when it is the last good one, in seconds since 1970; `nil`: the file never was good.
  package var since: Int64?

  package init(path: String, line: Int?, since: Int64?) {
    self.path = path
    self.line = line
    self.since = since
  }
}

extension PolicyFileSystem {
  /// These files and no others; root's alone, as those are that were trusted.
  static func only(_ kept: KeptPolicies, workingDirectory: @escaping @Sendable () -> String) -> PolicyFileSystem {
    let files = kept.files
    return PolicyFileSystem(
      names: { path in files.keys.filter { folder(of: $0) == path }.map { baseName(of: $0) } },
      status: { path throws(FileFailure) in
        if files[path] != nil { return Status(kind: .regular, mode: 0o600) }
        guard files.keys.contains(where: { folder(of: $0) == path }) else { throw FileFailure("it was not there", isMissing: true) }
        return Status(kind: .folder, mode: 0o700)
      },
      read: { path, limit throws(FileFailure) in
        guard let file = files[path]?.file else { throw FileFailure("it was not there", isMissing: true) }
        return (Array(file.bytes.prefix(limit)), Status(kind: .regular, mode: 0o600))
      }, workingDirectory: workingDirectory)
  }

  /// With these files in the place of those of their paths, and without others.
  func with(_ versions: [String: ReadFile], without hidden: Set<String>) -> PolicyFileSystem {
    var changed = self
    changed.names = { [names] path throws(FileFailure) in try names(path).filter { !hidden.contains(joined(path, $0)) } }
    changed.read = { [read] path, limit throws(FileFailure) in
      guard let version = versions[path] else { return try read(path, limit) }
      return (Array(version.bytes.prefix(limit)), Status(kind: .regular, mode: 0o600))
    }
    return changed
  }
}
