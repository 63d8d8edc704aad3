package import JSON
import RoamwardCore

/// The JSON Schemas of the documents for users' programs: docs/schema/NAME.schema.json. They are made from the declarations that encode and
/// decode the documents.
package enum PublishedSchema: String, CaseIterable, Sendable {
  /// `roamward status --json`.
  case status
  /// A line of `roamward monitor --json`.
  case monitor
  /// `roamward evaluate --json`.
  case evaluate
  /// `roamward plan --json`.
  case plan
  /// `roamward state --json`.
  case state
  /// `roamward list --json`.
  case list
  /// `roamward doctor --json`.
  case doctor
  /// `roamward check --json`.
  case check
  /// `roamward diff --json`.
  case diff
  /// `roamward dns --json`.
  case dns
  /// `roamward explain --json`.
  case explain
  /// `roamward network --json`.
  case network
  /// `roamward simulate --json`.
  case simulate
  /// `roamward import --json`.
  case imports = "import"

  package func json() throws -> JSON {
    let (title, schema) =
      switch self {
      case .status:
        (
          "What `roamward status --json` prints: the agent's report, or where no agent answers what the kill switch blocks.",
          ["anyOf": [try JSON.schema(of: StatusReport.self), try JSON.schema(of: StatusWithoutAgent.self)]] as JSON
        )
      case .monitor: ("A line of what `roamward monitor --json` and `roamward history --json` print: one event.", EventReport.schema)
      case .evaluate: ("What `roamward evaluate --json` prints.", try JSON.schema(of: EvaluationReport.self))
      case .plan: ("What `roamward plan --json` prints.", try JSON.schema(of: PlanReport.self))
      case .state: ("What `roamward state --json` prints.", try JSON.schema(of: StateReport.self))
      case .list: ("What `roamward list --json` prints.", try JSON.schema(of: ListReport.self))
      case .check: ("What `roamward check --json` prints.", try JSON.schema(of: CheckReport.self))
      case .diff: ("What `roamward diff --json` prints.", try JSON.schema(of: DiffReport.self))
      case .dns: ("What `roamward dns --json` prints.", try JSON.schema(of: NameReport.self))
      case .explain:
        (
          "What `roamward explain --json` prints: of a tunnel its decision, with --to the way of a packet.",
          ["anyOf": [try JSON.schema(of: ExplanationReport.self), try JSON.schema(of: PacketReport.self)]] as JSON
        )
      case .network: ("What `roamward network --json` prints.", try SnapshotWithSources.schema)
      case .simulate: ("A line of what `roamward simulate --json` prints: one event.", SimulatedEventReport.schema)
      case .imports: ("What `roamward import --json` prints.", try JSON.schema(of: ImportsReport.self))
      case .doctor: ("What `roamward doctor --json` prints.", try JSON.schema(of: DoctorReport.self))
      }
    return JSON.documentSchema(title, of: schema)
  }
}
