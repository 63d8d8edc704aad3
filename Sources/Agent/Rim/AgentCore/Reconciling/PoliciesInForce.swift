import NetworkTypes
import PolicySource
import RoamwardCore

/// The policy set in force, and the last one loaded: if that has errors, the set before stays in force.
struct PoliciesInForce {
  /// The effects of a loaded set.
  struct News {
    let errors: Int
    let warnings: Int
    /// Whether this is the first set.
    let isFirst: Bool
    /// Whether it says anything that the last one did not: another set, other errors, or other text.
    let isNews: Bool
    /// The last known good versions that now replace files with errors, a sentence each.
    let replacements: [String]
  }

  private(set) var loaded = LoadedPolicies()
  private(set) var set = PolicySet()
  /// The number of sets that came into force.
  private(set) var generation = 0
  /// False until the programs of an earlier agent have ended.
  private(set) var isLoaded = false
  private var announcedReplacements: [String] = []
  private var announcedDiagnostics: [Diagnostic]?

  mutating func take(_ new: LoadedPolicies, localTime: @escaping (Timestamp) -> String) -> News {
    defer { isLoaded = true }
    let isSameText = loaded.read == new.read
    loaded = new
    let before = generation
    let errors = new.diagnostics.count { $0.severity == .error }
    // A set that leaves the policies in force unchanged is no new set: a command writes files, and the folder tells of them later.
    if !new.hasErrors || new.lastKnownGoodUse != nil, generation == 0 || set != new.policies {
      set = new.policies
      generation += 1
    }
    let words = new.lastKnownGoodUse?.text(localTime) ?? []
    defer { (announcedReplacements, announcedDiagnostics) = (words, new.diagnostics) }
    return News(
      errors: errors, warnings: new.diagnostics.count - errors, isFirst: !isLoaded,
      isNews: generation != before || !isSameText || announcedDiagnostics != new.diagnostics,
      replacements: words.filter { !announcedReplacements.contains($0) })
  }
}
