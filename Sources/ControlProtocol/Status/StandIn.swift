internal import JSON
package import NetworkTypes

extension StatusReport {
  /// What is in force in the place of policies with errors.
  package struct StandIn: Hashable, Sendable, Codable {
    /// The broken file; `nil`: all files are as they were.
    package var file: String?
    /// Where its first error is; `nil`: it is well, but goes with one that is not.
    package var line: Int?
    /// Since when what is in force was the last that was good, in whole seconds; `nil`: nothing of the file ever was.
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
