package import JSON

/// The output of `roamward list --json`: the policy files of all layers.
package struct ListReport: Hashable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  package var files: [File]

  package init(files: [File]) {
    self.files = files
  }

  private enum CodingKeys: String, DescribedKey {
    case version, files

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .files: "The policy files of all layers, in the order in which they are read."
      }
    }
  }
}

extension ListReport {
  /// A policy file.
  package struct File: Hashable, Sendable, Codable {
    package var path: String
    package var state: String
    package var maskedBy: String?
    package var tunnels: [String]
    package var networks: [String]
    package var errors: [String]

    package init(
      path: String, state: String, maskedBy: String? = nil, tunnels: [String] = [], networks: [String] = [], errors: [String] = []
    ) {
      self.path = path
      self.state = state
      self.maskedBy = maskedBy
      self.tunnels = tunnels
      self.networks = networks
      self.errors = errors
    }

    private enum CodingKeys: String, DescribedKey {
      case path, state, tunnels, networks, errors
      case maskedBy = "masked-by"

      var about: String {
        switch self {
        case .path: "The file."
        case .state: "Whether its policies are in force; broken: it has errors; masked: another file replaces it; mask: it is empty."
        case .maskedBy: "The file of a later layer that replaces it; null: none."
        case .tunnels: "The names of its tunnels."
        case .networks: "The names of its networks."
        case .errors: "Its errors, with their line."
        }
      }

      var values: [String]? {
        switch self {
        case .state: ["in-force", "broken", "unread", "masked", "mask"]
        default: nil
        }
      }
    }
  }
}
