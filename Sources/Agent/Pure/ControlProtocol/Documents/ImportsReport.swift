package import JSON

/// The output of `roamward import --json`.
package struct ImportsReport: Hashable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  package var imports: [Imported]

  package init(imports: [Imported]) {
    self.imports = imports
  }

  private enum CodingKeys: String, DescribedKey {
    case version, imports

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .imports: "The result for each file, in the order of the command line."
      }
    }
  }
}

extension ImportsReport {
  /// The result for one file.
  package struct Imported: Hashable, Sendable, Codable {
    package var file: String
    package var report: Report?
    package var tunnels: [Tunnel]
    package var written: [String]
    package var error: Failure?

    package init(file: String, report: Report?, tunnels: [Tunnel], written: [String], error: Failure?) {
      self.file = file
      self.report = report
      self.tunnels = tunnels
      self.written = written
      self.error = error
    }

    private enum CodingKeys: String, DescribedKey {
      case file, report, tunnels, written, error

      var about: String {
        switch self {
        case .file: "The file."
        case .report: "What became of its keys; null: it could not be read."
        case .tunnels: "Its tunnels, and the files for each."
        case .written: "The files that were written; empty with --dry-run."
        case .error: "Why it could not be imported; null: it was."
        }
      }
    }
  }

  /// The result for every key of a file.
  package struct Report: Hashable, Sendable, Codable {
    package var file: String
    package var signature: Signature?
    package var keys: [Key]

    package init(file: String, signature: Signature?, keys: [Key]) {
      self.file = file
      self.signature = signature
      self.keys = keys
    }

    private enum CodingKeys: String, DescribedKey {
      case file, signature, keys

      var about: String {
        switch self {
        case .file: "The file."
        case .signature: "The signature of the file; null: it is not signed."
        case .keys: "The result for each key, and notes about the whole file."
        }
      }
    }
  }

  /// The result for one key.
  package struct Key: Hashable, Sendable, Codable {
    package var outcome: String
    package var weight: String
    package var key: String?
    package var line: Int?
    package var text: String

    package init(outcome: String, weight: String, key: String?, line: Int?, text: String) {
      self.outcome = outcome
      self.weight = weight
      self.key = key
      self.line = line
      self.text = text
    }

    private enum CodingKeys: String, DescribedKey {
      case outcome, weight, key, line, text

      var about: String {
        switch self {
        case .outcome: "Whether it has the same meaning in the policy, another one, or none; note: about the whole file."
        case .weight: "Whether it is probably not meant so (warning), or cannot be imported (error)."
        case .key: "The key; null: the whole file."
        case .line: "The line, from 1; null: the format has no lines, or the whole file."
        case .text: "The effect and its reason, for people."
        }
      }

      var values: [String]? {
        switch self {
        case .outcome: ["taken", "changed", "dropped", "note"]
        case .weight: ["plain", "warning", "error"]
        default: nil
        }
      }
    }
  }

  /// The signature of a profile.
  package struct Signature: Hashable, Sendable, Codable {
    package var signers: [String]
    package var standing: String
    package var reason: String?

    package init(signers: [String], standing: String, reason: String?) {
      self.signers = signers
      self.standing = standing
      self.reason = reason
    }

    private enum CodingKeys: String, DescribedKey {
      case signers, standing, reason

      var about: String {
        switch self {
        case .signers: "The names in the signers' certificates."
        case .standing: "Whether --verify was given, and trusts them."
        case .reason: "Why it is refuted, for people; null: it is not."
        }
      }

      var values: [String]? {
        switch self {
        case .standing: ["not-verified", "verified", "refuted"]
        default: nil
        }
      }
    }
  }

  /// A tunnel of a file.
  package struct Tunnel: Hashable, Sendable, Codable {
    package var name: String
    package var isEnabled: Bool
    package var files: [File]

    package init(name: String, isEnabled: Bool, files: [File]) {
      self.name = name
      self.isEnabled = isEnabled
      self.files = files
    }

    private enum CodingKeys: String, DescribedKey {
      case name
      case isEnabled = "enabled"
      case files

      var about: String {
        switch self {
        case .name: "Its name."
        case .isEnabled: "Whether its policy is enabled; false: something that it needs was not imported."
        case .files: "The files for it."
        }
      }
    }
  }

  /// A file for a tunnel.
  package struct File: Hashable, Sendable, Codable {
    package var name: String
    package var mode: String

    package init(name: String, mode: String) {
      self.name = name
      self.mode = mode
    }

    private enum CodingKeys: String, DescribedKey {
      case name, mode

      var about: String {
        switch self {
        case .name: "Its name in the folder."
        case .mode: "Its permissions: 0600 for keys and passwords, else 0644."
        }
      }
    }
  }

  /// The reason why a file could not be imported.
  package struct Failure: Hashable, Sendable, Codable {
    package var message: String
    package var help: String?
    package var line: Int?

    package init(message: String, help: String?, line: Int?) {
      self.message = message
      self.help = help
      self.line = line
    }

    private enum CodingKeys: String, DescribedKey {
      case message, help, line

      var about: String {
        switch self {
        case .message: "For people."
        case .help: "The cure; null: the message says it."
        case .line: "The line, from 1; null: the whole file."
        }
      }
    }
  }
}
