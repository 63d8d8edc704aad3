package import JSON

/// The output of `roamward check --json`.
package struct CheckReport: Hashable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  package var files: [String]
  package var tunnels: Int
  package var errors: Int
  package var warnings: Int
  package var problems: [Problem]
  package var ignored: [Ignored]
  package var unread: [String]

  package init(
    files: [String], tunnels: Int, errors: Int, warnings: Int, problems: [Problem], ignored: [Ignored] = [], unread: [String] = []
  ) {
    self.files = files
    self.tunnels = tunnels
    self.errors = errors
    self.warnings = warnings
    self.problems = problems
    self.ignored = ignored
    self.unread = unread
  }

  private enum CodingKeys: String, DescribedKey {
    case version, files, tunnels, errors, warnings, problems, ignored, unread

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .files: "The policy files that were read, in order."
      case .tunnels: "The number of tunnels."
      case .errors: "The number of errors."
      case .warnings: "The number of warnings."
      case .problems: "Errors and warnings, by file and line."
      case .ignored: "Files of the folders that are no policies."
      case .unread: "Files that this user may not look at; they are neither right nor wrong."
      }
    }
  }
}

extension CheckReport {
  /// An error or a warning.
  package struct Problem: Hashable, Sendable, Codable {
    package var file: String
    package var line: Int
    package var column: Int
    package var severity: String
    package var kind: String?
    package var message: String
    package var help: String?
    package var related: Place?

    package init(
      file: String, line: Int, column: Int, severity: String, kind: String?, message: String, help: String?, related: Place?
    ) {
      self.file = file
      self.line = line
      self.column = column
      self.severity = severity
      self.kind = kind
      self.message = message
      self.help = help
      self.related = related
    }

    private enum CodingKeys: String, DescribedKey {
      case file, line, column, severity, kind, message, help, related

      var about: String {
        switch self {
        case .file: "The file."
        case .line: "The line, from 1."
        case .column: "The column, from 1."
        case .severity: "Whether the file cannot be used (error), or is probably not meant so (warning)."
        case .kind: "The kind of a likely mistake, which stays the same from version to version; null: reading the file alone found it."
        case .message: "For people."
        case .help: "The cure; null: the message says it."
        case .related: "The other place that it concerns; null: none."
        }
      }

      var values: [String]? {
        switch self {
        case .severity: ["error", "warning"]
        default: nil
        }
      }
    }
  }

  /// A place in a file.
  package struct Place: Hashable, Sendable, Codable {
    package var file: String
    package var line: Int
    package var column: Int

    package init(file: String, line: Int, column: Int) {
      self.file = file
      self.line = line
      self.column = column
    }

    private enum CodingKeys: String, DescribedKey {
      case file, line, column

      var about: String {
        switch self {
        case .file: "The file."
        case .line: "The line, from 1."
        case .column: "The column, from 1."
        }
      }
    }
  }

  /// A file that is no policy.
  package struct Ignored: Hashable, Sendable, Codable {
    package var file: String
    package var reason: String

    package init(file: String, reason: String) {
      self.file = file
      self.reason = reason
    }

    private enum CodingKeys: String, DescribedKey {
      case file, reason

      var about: String {
        switch self {
        case .file: "The file."
        case .reason: "Why, for people."
        }
      }
    }
  }
}
