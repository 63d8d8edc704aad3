package import JSON
internal import NetworkTypes
package import RoamwardCore

/// The output of `roamward evaluate --json`.
package struct EvaluationReport: Equatable, Sendable, Codable {
  package var version: DocumentVersion = DocumentVersion()
  package var decisions: [DecisionReport]
  package var hosts: [HostReport]
  package var network: JSON

  package init(decisions: [DecisionReport], hosts: [HostReport], network: JSON) {
    self.decisions = decisions
    self.hosts = hosts
    self.network = network
  }

  private enum CodingKeys: String, DescribedKey {
    case version, decisions, hosts, network

    var about: String {
      switch self {
      case .version: "The version of this document."
      case .decisions: "A decision for each tunnel."
      case .hosts: "The effect of a lookup of the name of --host; empty without it."
      case .network: "The network that was judged, as network.schema.json describes it, without `facts`."
      }
    }
  }
}

/// The effect of a name look-up on a tunnel.
package struct HostReport: Equatable, Sendable, Codable {
  package var tunnel: String
  package var host: String
  package var action: String
  package var reason: String

  package init(tunnel: String, host: String, action: String, reason: String) {
    self.tunnel = tunnel
    self.host = host
    self.action = action
    self.reason = reason
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel, host, action, reason

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .host: "The name."
      case .action: "The action of the connection rule; none: no rule matches the name."
      case .reason: "For people."
      }
    }

    var values: [String]? {
      switch self {
      case .action: ["connect-if-needed", "connect-always", "never-connect", "none"]
      default: nil
      }
    }
  }
}

extension HostReport {
  package init(_ decision: HostDecision) {
    self.init(tunnel: decision.tunnel, host: decision.name.text, action: decision.action, reason: decision.text)
  }
}
