package import GatewayCore
package import JSON

/// The output of a command that changes something, with `--json`.
package struct ChangeDocument: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var made: Bool
  package var changes: [Change]
  package var users: [String]
  package var devices: [String]
  package var connected: Int?

  private enum CodingKeys: String, DescribedKey {
    case version, made, changes, users, devices, connected

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .made: "Whether the change was made; false: a dry run."
      case .changes: "The differences, one for each thing that is said of an object; none: nothing changes."
      case .users: "The names of the users whom the change concerns, sorted."
      case .devices: "The devices that the change concerns, as user/device, sorted."
      case .connected: "The number of these devices that are connected; null: the link is not there, or access is denied."
      }
    }
  }

  /// One difference.
  package struct Change: Hashable, Sendable, Codable {
    package var subject: String
    package var title: String
    package var before: String?
    package var after: String?

    private enum CodingKeys: String, DescribedKey {
      case subject, title, before, after

      var about: String {
        switch self {
        case .subject: "The object, such as settings of everybody."
        case .title: "The thing that is said of it, such as routes; empty: the object itself."
        case .before: "Its value before the change; null: it is added."
        case .after: "Its value after the change; null: it is removed."
        }
      }
    }
  }
}

extension ChangeSummary {
  /// The summary as a document. `paths`: of its devices; `connected`: how many of them are, `nil`: not known.
  package func document(isMade: Bool, connected: Int?) -> ChangeDocument {
    ChangeDocument(
      made: isMade, changes: lines.map { ChangeDocument.Change(subject: $0.subject, title: $0.title, before: $0.before, after: $0.after) },
      users: users.map(\.description), devices: paths.map(\.description), connected: connected)
  }
}
