package import JSON
package import PolicySource
internal import RoamwardCore

/// The output of `roamward-gateway check --json`.
package struct FileCheckDocument: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var files: [String]
  package var tried: Bool
  package var tests: Int
  package var diagnostics: [Entry]

  package init(files: [String], _ diagnostics: [Diagnostic], isTried: Bool, tests: Int) {
    (self.files, tried, self.tests) = (files, isTried, tests)
    self.diagnostics = diagnostics.map { Entry($0) }
  }

  private enum CodingKeys: String, DescribedKey {
    case version, files, tried, tests, diagnostics

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .files: "The files that count, in their order."
      case .tried: "Whether they were tried with the present store."
      case .tests: "The number of tests of access in them."
      case .diagnostics: "The errors and likely mistakes; none: all is well."
      }
    }
  }

  /// An error or a likely mistake.
  package struct Entry: Hashable, Sendable, Codable {
    package var severity: String
    package var message: String
    package var help: String?
    package var file: String
    package var line: Int
    package var column: Int

    init(_ diagnostic: Diagnostic) {
      (severity, message, help) = (diagnostic.severity.rawValue, diagnostic.message, diagnostic.help)
      (file, line, column) = (diagnostic.location.file, diagnostic.location.line, diagnostic.location.column)
    }

    private enum CodingKeys: String, DescribedKey {
      case severity, message, help, file, line, column

      var about: String {
        switch self {
        case .severity: "Whether the files cannot be used, or may not mean what they say."
        case .message: "The finding in one line."
        case .help: "The way to mend it; null: none is known."
        case .file: "The file."
        case .line: "The line, from 1 on."
        case .column: "The column, from 1 on."
        }
      }

      var values: [String]? { self == .severity ? ["error", "warning"] : nil }
    }
  }
}
