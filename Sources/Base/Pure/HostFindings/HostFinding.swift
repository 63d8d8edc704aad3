/// A problem or risk on this host, and its solution.
package struct HostFinding: Hashable, Sendable {
  package enum Severity: String, Equatable, Sendable, CaseIterable, Comparable {
    /// A tunnel does not work, or does not follow its policy.
    case problem
    /// It works until another event happens.
    case risk
    /// Worth knowing.
    case hint

    package static func < (a: Self, b: Self) -> Bool { allCases.firstIndex(of: a) ?? 0 < allCases.firstIndex(of: b) ?? 0 }
  }

  /// The check's name, which is stable across versions.
  package var check: String
  package var severity: Severity
  package var message: String
  package var cure: String?

  package init(_ check: String, _ severity: Severity, _ message: String, cure: String? = nil) {
    self.check = check
    self.severity = severity
    self.message = message
    self.cure = cure
  }
}
