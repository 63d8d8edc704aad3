package import GatewayCore
package import JSON
internal import NetworkTypes

/// The output of `roamward-gateway doctor --json`.
package struct FindingsDocument: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var findings: [Finding]

  package init(_ findings: [Finding]) { self.findings = findings }

  private enum CodingKeys: String, DescribedKey {
    case version, findings

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .findings: "The problems and risks; none: all is well."
      }
    }
  }

  /// A problem or risk.
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
        case .check: "The name of the check, which later versions keep."
        case .severity: "Whether something does not work, works until another event, or is worth knowing."
        case .message: "The finding in one line."
        case .cure: "The way to mend it; null: none is known."
        }
      }

      var values: [String]? { self == .severity ? ["problem", "risk", "hint"] : nil }
    }
  }
}

/// The output of `roamward-gateway device show --json`.
package struct SettingsDocument: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var device: String
  package var settings: [UserDocument.Setting]

  package init(_ path: DevicePath, _ settings: [SettingOrigin]) {
    device = "\(path)"
    self.settings = settings.map { UserDocument.Setting(setting: $0.name, values: $0.values, from: $0.origin) }
  }

  private enum CodingKeys: String, DescribedKey {
    case version, device, settings

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .device: "The user and the name of the device."
      case .settings: "The settings that it gets."
      }
    }
  }
}

/// The output of `roamward-gateway evaluate --json`, of a device.
package struct EvaluationDocument: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var passes: Bool
  package var stop: String?
  package var rule: String?
  package var masquerade: Bool
  package var steps: [Step]

  package init(_ evaluation: PacketEvaluation) {
    passes = evaluation.passes
    stop = evaluation.firstStop?.rawValue
    rule = evaluation.rule?.description
    masquerade = evaluation.isTranslated
    steps = evaluation.steps.map { Step(step: $0.place.rawValue, passes: $0.isOpen, text: $0.text) }
  }

  private enum CodingKeys: String, DescribedKey {
    case version, passes, stop, rule, masquerade, steps

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .passes: "Whether the packet reaches the other side."
      case .stop: "The first step that stops it; null: none does."
      case .rule: "The name of the rule that decides; null: none matches."
      case .masquerade: "Whether it leaves with the gateway's own address."
      case .steps: "The steps of its way, in order."
      }
    }
  }

  /// A step of the way.
  package struct Step: Hashable, Sendable, Codable {
    package var step: String
    package var passes: Bool
    package var text: String

    private enum CodingKeys: String, DescribedKey {
      case step, passes, text

      var about: String {
        switch self {
        case .step: "The name of the step."
        case .passes: "Whether it lets the packet through."
        case .text: "The reason."
        }
      }
    }
  }
}

/// The output of `roamward-gateway plan --json`.
package struct PlanDocument: Hashable, Sendable, Codable {
  package var version = DocumentVersion()
  package var files: ChangeDocument?
  package var steps: [String]

  package init(files: ChangeDocument?, steps: [String]) {
    self.files = files
    self.steps = steps
  }

  private enum CodingKeys: String, DescribedKey {
    case version, files, steps

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .files: "The changes by the files of this gateway; null: no file declares it."
      case .steps: "The changes of this machine that are left to do."
      }
    }
  }
}
