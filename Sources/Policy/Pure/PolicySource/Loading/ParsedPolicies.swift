internal import PolicyFiles

/// The parsed files of the last load. The next load parses only the files that have changed, or that name a file that has changed.
///
/// A file is unchanged if it and all files that it names have the version that was read (`FileVersion`). Otherwise, and whenever that is
/// uncertain, it is read again. So the result is always that of a load of everything.
package struct ParsedPolicies: Sendable {
  /// The settings that the result of parsing depends on, besides the files.
  private struct Setting: Equatable {
    let requireRootOwnership: Bool
    /// The base of relative paths.
    let workingDirectory: String
  }

  private struct Entry {
    let file: PolicyFile
    /// The version of the policy file itself.
    let version: FileVersion
  }

  /// A load without errors.
  private struct Good {
    let layers: [String]
    let lastKnownGood: LastKnownGoodPolicies
    let loaded: LoadedPolicies
  }

  private var setting: Setting?
  /// By the path of the policy file, as the layers name it.
  private var entries: [String: Entry] = [:]
  private var good: Good?

  package init() {}

  /// Begins a load. Files that were parsed with other settings are forgotten.
  mutating func begin(requireRootOwnership: Bool, workingDirectory: String) {
    let setting = Setting(requireRootOwnership: requireRootOwnership, workingDirectory: workingDirectory)
    if setting != self.setting {
      entries = [:]
      good = nil
    }
    self.setting = setting
  }

  /// Keeps the result of a load without errors, in place of a load of its files alone.
  ///
  /// The two are the same, except for a file that a policy names and that cannot be read: the reason is another.
  mutating func record(_ loaded: LoadedPolicies, of layers: [String], as lastKnownGood: LastKnownGoodPolicies) {
    let isComplete = loaded.dependencies.allSatisfy { lastKnownGood.files[$0] != nil }
    good = isComplete ? Good(layers: layers, lastKnownGood: lastKnownGood, loaded: loaded) : nil
  }

  /// The result of a load of these files alone, if it is kept.
  func result(of lastKnownGood: LastKnownGoodPolicies, layers: [String]) -> LoadedPolicies? {
    guard let good, good.layers == layers, good.lastKnownGood == lastKnownGood else { return nil }
    return good.loaded
  }

  /// The parsed file, if reading and parsing it now would return the same. `isPlain`: its name is no link, so that it can be trusted if its
  /// folder can be: it was when it was read.
  func unchangedFile(at path: String, files: PolicyFileSystem) -> (file: PolicyFile, isPlain: Bool)? {
    guard let setting, let entry = entries[path] else { return nil }
    // A link is another file than the one that it leads to.
    let isPlain = files.versionOfName(path) == entry.version
    guard isPlain || files.version(of: path) == entry.version,
      entry.file.parsed.inputs.allSatisfy({ input in
        files.version(of: input.path) == input.version
          && (!setting.requireRootOwnership || files.isTrusted(input.path) == input.isTrusted)
      })
    else { return nil }
    return (entry.file, isPlain)
  }

  /// Keeps a file for the next load, unless a change of it, or of a file that it names, might not show.
  mutating func keep(_ file: PolicyFile, version: FileVersion?) {
    guard let version, file.parsed.inputs.allSatisfy({ $0.version != nil }) else { return }
    entries[file.parsed.contents.path] = Entry(file: file, version: version)
  }

  /// Forgets files that no longer belong to the layers.
  mutating func drop(allBut candidates: [Layers.Candidate]) {
    guard entries.count > candidates.count else { return }
    let paths = Set(candidates.map(\.path))
    entries = entries.filter { paths.contains($0.key) }
  }
}

extension PolicyFileSystem {
  fileprivate func isTrusted(_ path: String) -> Bool {
    do throws(FileFailure) { return try refusal(ofPath: path) == nil } catch { return true }
  }

  fileprivate func versionOfName(_ path: String) -> FileVersion? {
    do throws(FileFailure) { return try statusOfName?(path).version } catch { return nil }
  }

  fileprivate func version(of path: String) -> FileVersion? {
    do throws(FileFailure) { return try status(path).version } catch { return nil }
  }
}
