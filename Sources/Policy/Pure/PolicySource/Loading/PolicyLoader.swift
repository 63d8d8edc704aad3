internal import NetworkTypes
package import PolicyFiles
package import RoamwardCore

/// All policy files of some layers as one set, and all findings of the load.
package struct LoadedPolicies: Sendable {
  /// Do not act on this while `hasErrors`, unless there is a `lastKnownGoodUse`: it contains only the readable part.
  package var policies = PolicySet()
  package var diagnostics: [Diagnostic] = []
  /// Absolute paths of the wg-quick files and SSID lists, readable or not; sorted. Reload the policies when one of them changes.
  package var dependencies: [String] = []
  /// The active policy files, as the layers name them, in their order. Files that only mask others are not among them.
  package var files: [String] = []
  package var ignored: [IgnoredFile] = []
  /// The programs and secrets that policies name.
  package var named: [NamedFile] = []
  /// The files that this user may not look at; empty unless the files are a person's (`PolicyFileSystem.leavesUnread`).
  package var unread: [UnreadFile] = []
  /// All files that were read, including those that only mask others.
  package var read: [ReadFile] = []
  /// The replacement of files with errors; `policies` then contains it.
  package var lastKnownGoodUse: LastKnownGoodUse?
  /// The last known good set for the next load; `nil` if it was not requested or nothing is good.
  package var lastKnownGood: LastKnownGoodPolicies?

  /// No files and no problems.
  package init() {}

  package var hasErrors: Bool { diagnostics.contains { $0.severity == .error } }
}

/// Reads the policies of folders and single files; later `layers` replace earlier ones by file name. It never fails: errors are in the
/// result.
///
/// With `requireRootOwnership`, files and folders that users other than root could have written are refused.
package func loadPolicies(
  layers: [String], files: PolicyFileSystem = .linux, requireRootOwnership: Bool
) -> LoadedPolicies {
  var parsed = ParsedPolicies()
  return loadPolicies(layers: layers, files: files, requireRootOwnership: requireRootOwnership, reusing: &parsed)
}

/// The same, without parsing the files again that are unchanged since they were parsed. `parsed` then contains the files of this load.
package func loadPolicies(
  layers paths: [String], files: PolicyFileSystem = .linux, requireRootOwnership: Bool, reusing parsed: inout ParsedPolicies
) -> LoadedPolicies {
  var loaded = LoadedPolicies()
  let layers = Layers(paths, files: files)
  loaded.ignored = layers.ignored
  for (path, failure) in layers.failures { loaded.add(failure, of: path, files) }
  parsed.begin(requireRootOwnership: requireRootOwnership, workingDirectory: files.workingDirectory())
  var parts: [PolicyFile] = []
  parts.reserveCapacity(layers.candidates.count)
  var folders = TrustedFolders(files: files)
  for candidate in layers.candidates {
    do throws(FileFailure) {
      let file = try load(candidate, files: files, requireRootOwnership: requireRootOwnership, reusing: &parsed, &folders)
      loaded.read.append(file.parsed.contents)
      if file.parsed.isEmpty {
        loaded.ignored.append(IgnoredFile(path: candidate.path, reason: "empty: it only masks files of its name", isMask: true))
        continue
      }
      parts.append(file)
    } catch {
      loaded.add(error, of: candidate.path, files)
    }
    loaded.files.append(candidate.path)
  }
  parsed.drop(allBut: layers.candidates)
  loaded.merge(&parts)
  return loaded
}

private func load(
  _ candidate: Layers.Candidate, files: PolicyFileSystem, requireRootOwnership: Bool, reusing parsed: inout ParsedPolicies,
  _ folders: inout TrustedFolders
) throws(FileFailure) -> PolicyFile {
  if requireRootOwnership, let status = candidate.folderStatus, !status.isTrusted,
    let refusal = status.refusal(of: candidate.folder, called: "its folder \(candidate.folder)")
  {
    throw refusal
  }
  if let (file, isPlain) = parsed.unchangedFile(at: candidate.path, files: files) {
    guard requireRootOwnership else { return file }
    let refusal = isPlain ? try folders.refusal(of: candidate.folder) : try files.refusal(ofPath: files.absolute(candidate.path))
    if let refusal { throw refusal }
    return file
  }
  let (bytes, status) = try files.readTrusted(candidate.path, requireRootOwnership: requireRootOwnership)
  let surroundings = Surroundings(files: files, folder: files.absolute(candidate.folder), requireRootOwnership: requireRootOwnership)
  let file = readPolicyFile(candidate.path, bytes: bytes, surroundings: surroundings)
  parsed.keep(file, version: status.version)
  return file
}

/// Whether the files of a folder can be trusted, as far as the folder and all above it decide: looked at once in a load.
private struct TrustedFolders {
  let files: PolicyFileSystem
  private var refusals: [String: FileFailure?] = [:]

  init(files: PolicyFileSystem) { self.files = files }

  mutating func refusal(of folder: String) throws(FileFailure) -> FileFailure? {
    if let known = refusals[folder] { return known }
    let refusal = try files.refusal(ofFilesIn: files.absolute(folder))
    refusals[folder] = .some(refusal)
    return refusal
  }
}

private func wholeFile(_ path: String, _ failure: FileFailure) -> Diagnostic {
  Diagnostic(.error, "this file cannot be used: \(failure.reason)", help: failure.cure, at: SourceLocation(file: path, line: 1, column: 1))
}

extension PolicyFile {
  fileprivate var hasFindings: Bool { !problems.isEmpty || !parsed.otherDiagnostics.isEmpty }
}

extension LoadedPolicies {
  /// The policy files, and folders of such, that this user may not look at.
  package var unreadPolicies: [String] { unread.filter { $0.kind == .policy }.map(\.path) }

  /// A sentence about the files that this user may not look at; `nil`: there are none.
  package var unreadNote: String? { unread.isEmpty ? nil : needsRoot(unread.map(\.path)) }

  fileprivate mutating func add(_ failure: FileFailure, of path: String, _ files: PolicyFileSystem) {
    if files.leavesUnread, failure.cause == .denied {
      unread.append(UnreadFile(path: path, kind: .policy))
    } else {
      diagnostics.append(wholeFile(path, failure))
    }
  }

  fileprivate mutating func merge(_ parts: inout [PolicyFile]) {
    policies = mergePolicies(&parts, isComplete: unread.isEmpty)
    var told: Set<Diagnostic> = []
    for part in parts where part.hasFindings {
      diagnostics += part.problems.sorted
      diagnostics += part.parsed.otherDiagnostics.filter { told.insert($0).inserted }
    }
    dependencies = Set(parts.flatMap(\.parsed.dependencies)).sorted()
    read += parts.flatMap(\.parsed.others)
    named += parts.flatMap(\.parsed.named)
    unread += parts.flatMap(\.parsed.unread).uniqued()
    let used = Set(dependencies)
    ignored.removeAll { used.contains($0.path) }
  }
}
