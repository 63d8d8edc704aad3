package import JSON

/// The JSON Schemas of the gateway's documents for programs of its administrators: docs/schema/gateway-NAME.schema.json. They are made from
/// the declarations that encode the documents.
package enum PublishedGatewaySchema: String, CaseIterable, Sendable {
  /// `roamward-gateway status --json`.
  case status
  /// `roamward-gateway user show --json`.
  case user
  /// `roamward-gateway device list --sessions --json`.
  case sessions
  /// `roamward-gateway user list --json`, and the other lists.
  case list
  /// `roamward-gateway explain --json` and `evaluate --json`, of a user.
  case access
  /// The same of a device.
  case evaluation
  /// `roamward-gateway device show --json`.
  case settings
  /// `roamward-gateway audit --json`.
  case audit
  /// `roamward-gateway login show --json`.
  case login
  /// `roamward-gateway store show --json`.
  case store
  /// `roamward-gateway check --json`.
  case check
  /// `roamward-gateway doctor --json`.
  case doctor
  /// `roamward-gateway plan --json`.
  case plan
  /// A line of `roamward-gateway monitor --json`.
  case monitor
  /// An answer of the page.
  case page
  /// `roamward-gateway COMMAND --json`, of each command that changes something.
  case change

  /// The name of its file in docs/schema.
  package var file: String { "gateway-\(rawValue).schema.json" }

  package func json() throws -> JSON {
    let (title, schema) =
      switch self {
      case .status: ("What `roamward-gateway status --json` prints.", try JSON.schema(of: GatewayStatusReport.self))
      case .user: ("What `roamward-gateway user show --json` prints.", try JSON.schema(of: UserDocument.self))
      case .sessions: ("What `roamward-gateway device list --sessions --json` prints.", try JSON.schema(of: [DeviceReport].self))
      case .list: (ListDocument.title, try ListDocument.schema())
      case .access:
        (
          "What `roamward-gateway explain --json` and `roamward-gateway evaluate --json` print of a user.",
          try JSON.schema(of: AccessReport.self)
        )
      case .evaluation:
        (
          "What `roamward-gateway evaluate --json` and `roamward-gateway explain --json` print of a device.",
          try JSON.schema(of: EvaluationDocument.self)
        )
      case .settings: ("What `roamward-gateway device show --json` prints.", try JSON.schema(of: SettingsDocument.self))
      case .audit: ("What `roamward-gateway audit --json` prints.", try JSON.schema(of: AuditReport.self))
      case .login: ("What `roamward-gateway login show --json` prints.", try JSON.schema(of: WaysInDocument.self))
      case .store: ("What `roamward-gateway store show --json` prints.", try JSON.schema(of: StoreDocument.self))
      case .check: ("What `roamward-gateway check --json` prints.", try JSON.schema(of: FileCheckDocument.self))
      case .doctor: ("What `roamward-gateway doctor --json` prints.", try JSON.schema(of: FindingsDocument.self))
      case .plan: ("What `roamward-gateway plan --json` prints.", try JSON.schema(of: PlanDocument.self))
      case .page: ("An answer of the page in the tunnel to its own script.", try PageReport.schemaOfAnswers())
      case .change:
        (
          "What `roamward-gateway diff --json` and `roamward-gateway COMMAND --dry-run --json` print, and the commands without it.",
          try JSON.schema(of: ChangeDocument.self)
        )
      case .monitor: ("A line of what `roamward-gateway monitor --json` prints: one event.", try GatewayEventReport.schema())
      }
    return JSON.documentSchema(title, of: schema)
  }
}
