package import JSON

/// The JSON Schemas of the gateway's documents for programs of its administrators: docs/schema/gateway-NAME.schema.json. They are made from
/// the declarations that encode the documents.
package enum PublishedGatewaySchema: String, CaseIterable, Sendable {
  /// `roamward-gateway status --json`.
  case status
  /// `roamward-gateway user show --json`.
  case user
  /// `roamward-gateway session list --json`.
  case sessions
  /// `roamward-gateway user list --json`, and the other lists.
  case list
  /// `roamward-gateway access explain --json` and `access check --json`.
  case access
  /// `roamward-gateway evaluate --json`.
  case evaluation
  /// `roamward-gateway settings show --json`.
  case settings
  /// `roamward-gateway audit tail --json`.
  case audit
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
      case .sessions: ("What `roamward-gateway session list --json` prints.", try JSON.schema(of: [DeviceReport].self))
      case .list: (ListDocument.title, try ListDocument.schema())
      case .access:
        (
          "What `roamward-gateway access explain --json` and `roamward-gateway access check --json` print.",
          try JSON.schema(of: AccessReport.self)
        )
      case .evaluation: ("What `roamward-gateway evaluate --json` prints.", try JSON.schema(of: EvaluationDocument.self))
      case .settings: ("What `roamward-gateway settings show --json` prints.", try JSON.schema(of: SettingsDocument.self))
      case .audit: ("What `roamward-gateway audit tail --json` prints.", try JSON.schema(of: AuditReport.self))
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
