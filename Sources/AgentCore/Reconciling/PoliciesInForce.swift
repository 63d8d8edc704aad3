import NetworkTypes
import PolicySource
import RoamwardCore

/// The policy set that is in force, and what was loaded last: with errors in it, the set before stays in force.
struct PoliciesInForce {
  /// What taking in what was loaded has brought about.
  struct News {
    let errors: Int
    let warnings: Int
    /// Nothing had been loaded before.
    let isFirst: Bool
    /// Which last good versions are in force from now on in place of files with errors, a sentence each.
    let fallback: [String]
  }

  private(set) var loaded = LoadedPolicies()
  private(set) var set = PolicySet()
  /// Counts the sets that took force.
  private(set) var generation = 0
  /// Not before what an earlier agent had begun has been ended.
  private(set) var isLoaded = false
  private var toldFallback: [String] = []

  mutating func take(_ new: LoadedPolicies, localTime: @escaping (Timestamp) -> String) -> News {
    defer { isLoaded = true }
    loaded = new
    let errors = new.diagnostics.count { $0.severity == .error }
    // Errors that leave what is in force as it is are no new set.
    if !new.hasErrors || new.fallback != nil && (generation == 0 || set != new.policies) {
      set = new.policies
      generation += 1
    }
    let words = new.fallback?.text(localTime) ?? []
    defer { toldFallback = words }
    return News(
      errors: errors, warnings: new.diagnostics.count - errors, isFirst: !isLoaded, fallback: words.filter { !toldFallback.contains($0) })
  }
}
