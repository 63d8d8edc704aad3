package import JSON
package import NetworkTypes
package import RoamwardCore

/// The output of `roamward state --json`: everything on the machine that is Roamward's.
package struct StateReport: Equatable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  package var agent: Agent?
  package var objects: [Object]

  package init(agent: Agent?, objects: [Object]) {
    self.agent = agent
    self.objects = objects
  }

  private enum CodingKeys: String, DescribedKey {
    case version, agent, objects

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .agent: "The agent; null: not running, so the objects are leftover state."
      case .objects: "The system objects that Roamward owns."
      }
    }
  }
}

extension StateReport {
  /// The running agent.
  package struct Agent: Equatable, Sendable, Codable {
    package var process: Int

    package init(process: Int) {
      self.process = process
    }

    private enum CodingKeys: String, DescribedKey {
      case process = "pid"

      var about: String {
        switch self {
        case .process: "Its process."
        }
      }
    }
  }

  /// One object of Roamward's.
  package struct Object: Equatable, Sendable, Codable {
    package var kind: String
    package var what: String
    package var purpose: String
    package var tunnel: String?
    package var reason: String?
    package var code: ReasonCode?
    package var since: Timestamp?
    package var rule: RuleReport?

    package init(
      kind: String, what: String, purpose: String, tunnel: String?, reason: String? = nil, code: ReasonCode? = nil,
      since: Timestamp? = nil, rule: RuleReport? = nil
    ) {
      self.kind = kind
      self.what = what
      self.purpose = purpose
      self.tunnel = tunnel
      self.reason = reason
      self.code = code
      self.since = since
      self.rule = rule
    }

    private enum CodingKeys: String, DescribedKey {
      case kind, what, purpose, tunnel, reason, code, since, rule

      var about: String {
        switch self {
        case .kind: "The kind of object."
        case .what: "The object."
        case .purpose: "Its purpose, for people."
        case .tunnel: "The tunnel that it belongs to; null: none alone."
        case .reason: "Why the tunnel is as it is; null: no agent tells."
        case .code: "The same as a code."
        case .since: "Time of the tunnel's last state change."
        case .rule: "The rule that decided about the tunnel."
        }
      }

      var values: [String]? {
        switch self {
        case .kind: ["link", "address", "route", "rule", "firewall", "resolver", "file", "process", "control-group"]
        default: nil
        }
      }
    }
  }
}
