/// A receiver of the address of proxies: a group of programs that look it up in one place.
package enum ProxySink: String, Hashable, Sendable, CaseIterable, Comparable {
  /// Only the address itself: for programs that a person or another tool sets.
  case pac
  /// The environment of users' sessions, set by `roamward-desktop`.
  case environment
  /// GNOME, and other programs that read dconf.
  case dconf
  /// Chromium, by a managed policy.
  case chromium
  /// Google Chrome, by a managed policy.
  case chrome
  /// Firefox, by its policies.json.
  case firefox

  /// Whether the agent writes a file for it.
  package var isFile: Bool {
    switch self {
    case .pac, .environment: false
    case .dconf, .chromium, .chrome, .firefox: true
    }
  }

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
