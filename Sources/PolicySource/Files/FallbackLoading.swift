package import PolicyFiles
internal import RoamwardCore

/// As `loadPolicies`, but what has errors now is as it was when it was good, as long as `kept` tells.
///
/// Each broken file is replaced with its last known good version; what was changed without errors, or removed, counts. Where that makes no
/// set, or one in which a tunnel is lost that may only have been moved into a broken file, all is as it was: a mistake in a file
/// must not cost anybody a tunnel.
package func loadPolicies(
  layers: [String], files: PolicyFileSystem = .linux, requireRootOwnership: Bool, fallingBackTo kept: KeptPolicies?, at time: Int64
) -> LoadedPolicies {
  var loaded = loadPolicies(layers: layers, files: files, requireRootOwnership: requireRootOwnership)
  guard loaded.hasErrors else {
    loaded.kept = KeptPolicies(loaded.read, at: time, after: kept)
    return loaded
  }
  guard let kept else { return loaded }
  let whole = loadPolicies(
    layers: layers, files: .only(kept, workingDirectory: files.workingDirectory), requireRootOwnership: requireRootOwnership)
  if whole.hasErrors { return loaded }
  var repair = Repair(of: loaded, by: kept)
  let mended = repair.mend { versions, hidden in
    loadPolicies(layers: layers, files: files.with(versions, without: hidden), requireRootOwnership: requireRootOwnership)
  }
  if let mended, !mended.loses(tunnelsOf: whole.policies, without: repair.hidden, files) {
    loaded.take(mended)
    loaded.kept = KeptPolicies(mended.read, at: time, after: kept)
    loaded.fallback = .files(repair.standIns(for: loaded))
  } else {
    loaded.take(whole)
    loaded.kept = kept
    loaded.fallback = .wholeSet(since: kept.since)
  }
  return loaded
}

/// The search for what has to be replaced until nothing has errors.
private struct Repair {
  let kept: KeptPolicies
  private(set) var replaced: Set<String> = []
  /// Never good, so not there.
  private(set) var hidden: Set<String> = []
  private var broken: Set<String>
  private var read: [ReadFile]
  private var candidates: Set<String>

  init(of loaded: LoadedPolicies, by kept: KeptPolicies) {
    self.kept = kept
    broken = loaded.brokenFiles
    read = loaded.read
    candidates = Set(loaded.files)
  }

  /// `nil` where there is no such set. Each round replaces more, so there is an end.
  mutating func mend(_ load: ([String: ReadFile], Set<String>) -> LoadedPolicies) -> LoadedPolicies? {
    while takeInBroken() {
      let loaded = load(replaced.reduce(into: [:]) { $0[$1] = kept.files[$1]?.file }, hidden)
      guard loaded.hasErrors else { return loaded }
      broken = loaded.brokenFiles
      read = loaded.read
      candidates = Set(loaded.files)
    }
    return nil
  }

  /// False when nothing more can be replaced.
  private mutating func takeInBroken() -> Bool {
    let before = (replaced, hidden)
    for path in broken {
      if let good = kept.files[path]?.file {
        // Its last good version is no good either: what it draws on is to blame.
        if !replaced.insert(path).inserted { replaced.formUnion(good.names.filter { kept.files[$0] != nil }) }
      } else if candidates.contains(path) {
        hidden.insert(path)
      } else {
        // A file that was named only lately; whoever names it did not before.
        let namers = read.filter { $0.names.contains(path) }.map(\.path)
        replaced.formUnion(namers.filter { kept.files[$0] != nil })
        hidden.formUnion(namers.filter { kept.files[$0] == nil })
      }
    }
    return before != (replaced, hidden)
  }

  /// What is told of them, by what stands on disk.
  func standIns(for loaded: LoadedPolicies) -> [StandIn] {
    replaced.union(hidden).sorted().map { path in
      let line = loaded.diagnostics.filter { $0.severity == .error && $0.location.file == path }.map(\.location.line).min()
      return StandIn(path: path, line: line, since: replaced.contains(path) ? kept.files[path]?.since : nil)
    }
  }
}

extension LoadedPolicies {
  fileprivate var brokenFiles: Set<String> { Set(diagnostics.filter { $0.severity == .error }.map(\.location.file)) }

  /// Whether a tunnel of a good set is missing that nobody has removed with its file. Where a file that never was good stands beside, it
  /// may be what became of one that is gone.
  fileprivate func loses(tunnelsOf good: PolicySet, without hidden: Set<String>, _ files: PolicyFileSystem) -> Bool {
    good.tunnels.contains { tunnel in
      guard policies.tunnel(named: tunnel.name) == nil else { return false }
      if !hidden.isEmpty { return true }
      do throws(FileFailure) { _ = try files.status(tunnel.location.file) } catch { return !error.isMissing }
      return true
    }
  }

  /// Another's set, with what stands on disk told as it is.
  fileprivate mutating func take(_ other: LoadedPolicies) {
    policies = other.policies
    dependencies = Set(dependencies + other.dependencies).sorted()
  }
}
