internal import NetworkTypes
package import PolicyFiles
internal import RoamwardCore

/// Loads policies like `loadPolicies`, but replaces files with errors by their last known good versions, if `lastKnownGood` has them.
///
/// Files without errors and removed files count as they are. The whole last known good set is used in two cases. Either the result would
/// not be a valid set, or it would lose a tunnel that may only have been moved into a broken file. A mistake in a file must not remove a
/// tunnel.
package func loadPolicies(
  layers: [String], files: PolicyFileSystem = .linux, requireRootOwnership: Bool, lastKnownGood: LastKnownGoodPolicies?, at time: Int64
) -> LoadedPolicies {
  var parsed = ParsedPolicies()
  return loadPolicies(
    layers: layers, files: files, requireRootOwnership: requireRootOwnership, lastKnownGood: lastKnownGood, at: time, reusing: &parsed)
}

/// The same, without parsing the files again that are unchanged since they were parsed.
package func loadPolicies(
  layers: [String], files: PolicyFileSystem = .linux, requireRootOwnership: Bool, lastKnownGood: LastKnownGoodPolicies?, at time: Int64,
  reusing parsed: inout ParsedPolicies
) -> LoadedPolicies {
  var loaded = loadPolicies(layers: layers, files: files, requireRootOwnership: requireRootOwnership, reusing: &parsed)
  guard loaded.hasErrors else {
    let good = LastKnownGoodPolicies(loaded.read, at: time, after: lastKnownGood)
    loaded.lastKnownGood = good
    parsed.record(loaded, of: layers, as: good)
    return loaded
  }
  guard let lastKnownGood else { return loaded }
  let whole =
    parsed.result(of: lastKnownGood, layers: layers)
    ?? loadPolicies(
      layers: layers, files: files.only(lastKnownGood), requireRootOwnership: requireRootOwnership)
  if whole.hasErrors { return loaded }
  var repair = LastKnownGoodSearch(of: loaded, by: lastKnownGood)
  let mended = repair.mend { versions, hidden in
    loadPolicies(
      layers: layers, files: files.with(versions, without: hidden), requireRootOwnership: requireRootOwnership, reusing: &parsed)
  }
  if let mended, !mended.loses(tunnelsOf: whole.policies, without: repair.hidden, files) {
    loaded.take(mended)
    let good = LastKnownGoodPolicies(mended.read, at: time, after: lastKnownGood)
    loaded.lastKnownGood = good
    parsed.record(mended, of: layers, as: good)
    loaded.lastKnownGoodUse = .files(repair.replacedFiles(for: loaded))
  } else {
    loaded.take(whole)
    loaded.lastKnownGood = lastKnownGood
    loaded.lastKnownGoodUse = .wholeSet(since: lastKnownGood.since)
  }
  return loaded
}

/// The search for the files to replace until no file has errors.
private struct LastKnownGoodSearch {
  let lastKnownGood: LastKnownGoodPolicies
  private(set) var replaced: Set<String> = []
  /// Files that were never good: they are treated as absent.
  private(set) var hidden: Set<String> = []
  private var broken: Set<String>
  private var read: [ReadFile]
  private var candidates: Set<String>

  init(of loaded: LoadedPolicies, by lastKnownGood: LastKnownGoodPolicies) {
    self.lastKnownGood = lastKnownGood
    broken = loaded.brokenFiles
    read = loaded.read
    candidates = Set(loaded.files)
  }

  /// `nil` if there is no such set. Each round replaces more files, so the search ends.
  mutating func mend(_ load: ([String: ReadFile], Set<String>) -> LoadedPolicies) -> LoadedPolicies? {
    while takeInBroken() {
      let loaded = load(replaced.reduce(into: [:]) { $0[$1] = lastKnownGood.files[$1]?.file }, hidden)
      guard loaded.hasErrors else { return loaded }
      broken = loaded.brokenFiles
      read = loaded.read
      candidates = Set(loaded.files)
    }
    return nil
  }

  /// False if nothing more can be replaced.
  private mutating func takeInBroken() -> Bool {
    let before = (replaced, hidden)
    for path in broken {
      if let good = lastKnownGood.files[path]?.file {
        replaced.insert(path)
        // Its last known good version has errors too: the cause is a file that it names.
        if before.0.contains(path) { replaced.formUnion(good.names.filter { lastKnownGood.files[$0] != nil }) }
      } else if candidates.contains(path) {
        hidden.insert(path)
      } else {
        // A file that was named only recently: its last known good parent did not name it.
        let namers = read.filter { $0.names.contains(path) }.map(\.path)
        replaced.formUnion(namers.filter { lastKnownGood.files[$0] != nil })
        hidden.formUnion(namers.filter { lastKnownGood.files[$0] == nil })
      }
    }
    return before != (replaced, hidden)
  }

  /// The report of the replacements, by the state on disk.
  func replacedFiles(for loaded: LoadedPolicies) -> [ReplacedFile] {
    replaced.union(hidden).sorted().map { path in
      let line = loaded.diagnostics.filter { $0.severity == .error && $0.location.file == path }.map(\.location.line).min()
      return ReplacedFile(path: path, line: line, since: replaced.contains(path) ? lastKnownGood.files[path]?.since : nil)
    }
  }
}

extension LoadedPolicies {
  fileprivate var brokenFiles: Set<String> { Set(diagnostics.filter { $0.severity == .error }.map(\.location.file)) }

  /// True if a tunnel of a good set is missing although its file was not removed. A file beside it that was never good may contain a
  /// missing tunnel.
  fileprivate func loses(tunnelsOf good: PolicySet, without hidden: Set<String>, _ files: PolicyFileSystem) -> Bool {
    let names = Set(policies.tunnels.map(\.name))
    return good.tunnels.contains { tunnel in
      guard !names.contains(tunnel.name) else { return false }
      if !hidden.isEmpty { return true }
      do throws(FileFailure) { _ = try files.status(tunnel.location.file) } catch { return !error.isMissing }
      return true
    }
  }

  /// Takes over another set, but reports the state on disk.
  fileprivate mutating func take(_ other: LoadedPolicies) {
    policies = other.policies
    dependencies = Set(dependencies + other.dependencies).sorted()
  }
}
