internal import Glibc
package import PolicyFiles
package import PolicySource

/// The last known good policies, across restarts of the agent: the notes of `LastKnownGoodNotes`.
///
/// Policies on trial are remembered while the agent runs, and never written: a reboot reverts them.
package final class LastKnownGoodStore {
  private let state: StateFolder
  private var settled: LastKnownGoodPolicies?
  private var onTrial: LastKnownGoodPolicies?
  private var parsed = ParsedPolicies()

  package init(_ state: StateFolder) {
    self.state = state
    settled = state.lastKnownGoodPolicies
  }

  /// Loads these layers. The result is on disk before it is in force: an agent that is killed in between starts with the same.
  package func load(_ layers: [String], files: PolicyFileSystem = .linux, isTrial: Bool) -> LoadedPolicies {
    if !isTrial { onTrial = nil }
    let loaded = loadPolicies(
      layers: layers, files: files, requireRootOwnership: geteuid() == 0, lastKnownGood: onTrial ?? settled, at: Int64(time(nil)),
      reusing: &parsed)
    guard let lastKnownGood = loaded.lastKnownGood else { return loaded }
    if isTrial {
      onTrial = lastKnownGood
    } else if lastKnownGood != settled {
      settled = lastKnownGood
      state.put(lastKnownGood)
    }
    return loaded
  }
}
