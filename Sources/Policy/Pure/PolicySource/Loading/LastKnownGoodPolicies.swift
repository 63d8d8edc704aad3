internal import PolicyFiles

/// The files of the last known good set. They replace files with errors. They contain keys if wg-quick files do.
package struct LastKnownGoodPolicies: Equatable, Sendable {
  package struct File: Hashable, Sendable {
    package var file: ReadFile
    /// The time since which this is the last known good version, in seconds since 1970.
    package var since: Int64

    package init(_ file: ReadFile, since: Int64) {
      self.file = file
      self.since = since
    }
  }

  /// The time since which the set is unchanged, in seconds since 1970. It is compared before the files.
  package private(set) var since: Int64
  /// The files by path.
  package private(set) var files: [String: File]

  package init(_ files: [File], since: Int64) {
    self.files = Dictionary(files.map { ($0.file.path, $0) }) { first, _ in first }
    self.since = since
  }

  /// The files of a set that is good now. Files that have not changed since the set before keep their time.
  init(_ read: [ReadFile], at time: Int64, after before: LastKnownGoodPolicies?) {
    guard let before else {
      self.init(read.map { File($0, since: time) }, since: time)
      return
    }
    self = before
    var paths: Set<String> = Set(minimumCapacity: read.count)
    for file in read where paths.insert(file.path).inserted && files[file.path]?.file != file {
      files[file.path] = File(file, since: time)
      since = time
    }
    if files.count > paths.count {
      files = files.filter { paths.contains($0.key) }
      since = time
    }
  }

  /// The difference to another set.
  package func changes(since other: LastKnownGoodPolicies) -> LastKnownGoodChanges {
    let changed = files.values.filter { other.files[$0.file.path] != $0 }
    let common = files.count - changed.count { other.files[$0.file.path] == nil }
    let removed = common < other.files.count ? other.files.keys.filter { files[$0] == nil } : []
    return LastKnownGoodChanges(files: changed, removed: removed, since: since)
  }

  /// The set with these changes.
  package func applying(_ changes: LastKnownGoodChanges) -> LastKnownGoodPolicies {
    var result = self
    for path in changes.removed { result.files[path] = nil }
    for file in changes.files { result.files[file.file.path] = file }
    result.since = changes.since
    return result
  }
}

/// The difference between two last known good sets.
package struct LastKnownGoodChanges: Equatable, Sendable {
  /// New files, and files that changed.
  package var files: [LastKnownGoodPolicies.File]
  /// The paths of files that do not belong to the set any more.
  package var removed: [String]
  /// The time since which the newer set is unchanged, in seconds since 1970.
  package var since: Int64

  package init(files: [LastKnownGoodPolicies.File], removed: [String], since: Int64) {
    self.files = files
    self.removed = removed
    self.since = since
  }

  package var count: Int { files.count + removed.count }
}

/// The replacement of files with errors.
package enum LastKnownGoodUse: Equatable, Sendable {
  /// Each broken file by its last known good version, or absent if it was never good; all other files as they are.
  case files([ReplacedFile])
  /// The whole last known good set.
  case wholeSet(since: Int64)
}

/// The last known good version of a broken file, in its place.
package struct ReplacedFile: Hashable, Sendable {
  package var path: String
  /// The line of the first error in the file on disk; `nil`: it has no errors, but belongs to a file that has.
  package var line: Int?
  /// The time since which the version is the last known good one, in seconds since 1970; `nil`: the file was never good.
  package var since: Int64?

  package init(path: String, line: Int?, since: Int64?) {
    self.path = path
    self.line = line
    self.since = since
  }
}

extension PolicyFileSystem {
  /// A file system with only these files, owned by root, as trusted files are.
  func only(_ lastKnownGood: LastKnownGoodPolicies) -> PolicyFileSystem {
    let files = lastKnownGood.files
    var system = PolicyFileSystem(
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
    system.pathOfNamed = pathOfNamed
    // The set was good with it; it is looked at again when a tunnel starts.
    system.statusOfSecret = { _ in Status(kind: .regular, mode: 0o600) }
    return system
  }

  /// A file system in which these files replace those of their paths, and the hidden files are absent.
  func with(_ versions: [String: ReadFile], without hidden: Set<String>) -> PolicyFileSystem {
    var changed = self
    changed.names = { [names] path throws(FileFailure) in try names(path).filter { !hidden.contains(joined(path, $0)) } }
    // The version of the file on disk is not that of its replacement.
    changed.status = { [status] path throws(FileFailure) in
      var found = try status(path)
      if versions[path] != nil { found.version = nil }
      return found
    }
    changed.statusOfName = nil
    if let way {
      changed.way = { path throws(FileFailure) in
        if versions[path] != nil { return [.init(path: path, status: Status(kind: .regular, mode: 0o600))] }
        return try way(path)
      }
    }
    changed.read = { [read] path, limit throws(FileFailure) in
      guard let version = versions[path] else { return try read(path, limit) }
      return (Array(version.bytes.prefix(limit)), Status(kind: .regular, mode: 0o600))
    }
    return changed
  }
}
