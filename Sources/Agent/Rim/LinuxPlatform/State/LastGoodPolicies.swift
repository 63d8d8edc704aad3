internal import Glibc
package import PolicyFiles
package import PolicySource

/// The last known good policies, across restarts of the agent: the notes of `KeptPoliciesOnDisk`.
///
/// Policies on trial are remembered while the agent runs, and never written: a reboot reverts them.
package final class LastGoodPolicies {
  private let state: StateFolder
  private var settled: KeptPolicies?
  private var onTrial: KeptPolicies?
  private var parsed = ParsedPolicies()

  package init(_ state: StateFolder) {
    self.state = state
    settled = state.keptPolicies
  }

  /// Loads these layers. The result is on disk before it is in force: an agent that is killed in between starts with the same.
  package func load(_ layers: [String], files: PolicyFileSystem = .linux, isTrial: Bool) -> LoadedPolicies {
    if !isTrial { onTrial = nil }
    let loaded = loadPolicies(
      layers: layers, files: files, requireRootOwnership: geteuid() == 0, fallingBackTo: onTrial ?? settled, at: Int64(time(nil)),
      reusing: &parsed)
    guard let kept = loaded.kept else { return loaded }
    if isTrial {
      onTrial = kept
    } else if kept != settled {
      settled = kept
      state.put(kept)
    }
    return loaded
  }
}
