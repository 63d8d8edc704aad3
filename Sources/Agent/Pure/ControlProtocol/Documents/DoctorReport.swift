package import JSON

/// The output of `roamward doctor --json`.
package struct DoctorReport: Equatable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  package var findings: [Finding]
  package var passed: [String]
  package var unseen: [String]

  package init(findings: [Finding], passed: [String], unseen: [String] = []) {
    self.findings = findings
    self.passed = passed
    self.unseen = unseen
  }

  private enum CodingKeys: String, DescribedKey {
    case version, findings, passed, unseen

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .findings: "Problems, risks and hints, the worst first."
      case .passed: "Passed checks, for people."
      case .unseen: "The names of checks that could not look at what they need without root."
      }
    }
  }
}

extension DoctorReport {
  /// A problem, with the remedy.
  package struct Finding: Hashable, Sendable, Codable {
    package var check: String
    package var severity: String
    package var message: String
    package var cure: String?

    package init(check: String, severity: String, message: String, cure: String?) {
      self.check = check
      self.severity = severity
      self.message = message
      self.cure = cure
    }

    private enum CodingKeys: String, DescribedKey {
      case check, severity, message, cure

      var about: String {
        switch self {
        case .check: "The check's name, which stays the same from version to version."
        case .severity:
          "problem: a tunnel does not work as its policy says. risk: it works until something else happens. hint: worth knowing."
        case .message: "For people."
        case .cure: "The cure."
        }
      }

      var values: [String]? {
        switch self {
        case .severity: ["problem", "risk", "hint"]
        default: nil
        }
      }
    }
  }
}
