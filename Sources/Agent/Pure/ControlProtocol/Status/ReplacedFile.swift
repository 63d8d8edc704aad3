internal import JSON
package import NetworkTypes

extension StatusReport {
  /// The last known good content that is active in place of a file with errors.
  package struct ReplacedFile: Hashable, Sendable, Codable {
    /// The file with errors; `nil`: the whole last known good set is active.
    package var file: String?
    /// The line of its first error; `nil`: the file itself is correct, but depends on one that is not.
    package var line: Int?
    /// The time of the last known good version, in whole seconds; `nil`: the file was never good, and is not active.
    package var since: Timestamp?

    package init(file: String?, line: Int?, since: Timestamp?) {
      self.file = file
      self.line = line
      self.since = since
    }

    private enum CodingKeys: String, DescribedKey {
      case file, line, since

      var about: String {
        switch self {
        case .file: "The file with errors; null: the whole last known good set is active."
        case .line: "The line of its first error; null: it depends on a file with errors."
        case .since: "Time of the last known good version, in whole seconds; null: the file was never good, and is not active."
        }
      }
    }
  }
}

extension StatusReport.ReplacedFile {
  /// `/etc/roamward/policies/corp.yaml: broken at line 5; its last known good version of 2026-03-01 14:03:20 is in force`.
  package func text(_ localTime: (Timestamp) -> String) -> String {
    let date = localTime(since ?? Timestamp(seconds: 0))
    guard let file else { return "all policies are active in their last known good version of \(date)" }
    let trouble = line.map { "broken at line \($0)" } ?? "it goes with what is broken"
    return "\(file): \(trouble); "
      + (since == nil ? "it has no known good version, and is not active" : "its last known good version of \(date) is active")
  }
}
