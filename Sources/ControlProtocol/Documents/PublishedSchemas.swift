package import JSON

/// The JSON Schemas of the documents for users' programs: docs/schema/NAME.schema.json. They are made from the declarations that encode and
/// decode the documents.
package enum PublishedSchema: String, CaseIterable, Sendable {
  case status, monitor, evaluate, plan, state, list, doctor

  package func json() throws -> JSON {
    let (title, schema) =
      switch self {
      case .status:
        (
          "What `roamward status --json` prints: the agent's report, or where no agent answers what the kill switch blocks.",
          ["anyOf": [try JSON.schema(of: StatusReport.self), try JSON.schema(of: StatusWithoutAgent.self)]] as JSON
        )
      case .monitor: ("A line of what `roamward monitor --json` prints: one event.", EventReport.schema)
      case .evaluate: ("What `roamward evaluate --json` prints.", try JSON.schema(of: EvaluationReport.self))
      case .plan: ("What `roamward plan --json` prints.", try JSON.schema(of: PlanReport.self))
      case .state: ("What `roamward state --json` prints.", try JSON.schema(of: StateReport.self))
      case .list: ("What `roamward list --json` prints.", try JSON.schema(of: ListReport.self))
      case .doctor: ("What `roamward doctor --json` prints.", try JSON.schema(of: DoctorReport.self))
      }
    return JSON.documentSchema(title, of: schema)
  }
}
