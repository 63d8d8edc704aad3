package import JSON
package import NetworkTypes
package import RoamwardCore

/// The output of `roamward status --json` if no agent answers and a kill switch blocks traffic.
package struct StatusWithoutAgent: Equatable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  package var time: Timestamp
  package var process: Int?
  package var firewall: Firewall

  package init(time: Timestamp, process: Int? = nil, firewall: Firewall) {
    self.time = time
    self.process = process
    self.firewall = firewall
  }

  private enum CodingKeys: String, DescribedKey {
    case version, time
    case process = "pid"
    case firewall

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .time: "Time of the report."
      case .process: "Null: no agent answers."
      case .firewall: "The state of the kill switch."
      }
    }
  }
}

extension StatusWithoutAgent {
  /// The kill switch's state; `nil` if no record names its tunnels.
  package struct Firewall: Equatable, Sendable, Codable {
    package var situation: FirewallStatus.Situation
    package var code: ReasonCode
    package var guards: [String]?
    package var blocking: [String]?

    package init(situation: FirewallStatus.Situation, code: ReasonCode, guards: [String]?, blocking: [String]?) {
      self.situation = situation
      self.code = code
      self.guards = guards
      self.blocking = blocking
    }

    private enum CodingKeys: String, DescribedKey {
      case situation, code, guards, blocking

      var about: String {
        switch self {
        case .situation: "Always guarded."
        case .code: "Always traffic-blocked."
        case .guards: "The tunnels whose kill switch is active; null: not known."
        case .blocking: "Those of them that are not up; null: not known."
        }
      }
    }
  }
}
