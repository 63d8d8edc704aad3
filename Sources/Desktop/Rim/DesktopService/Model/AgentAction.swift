package import SystemdIO

/// A method call of the agent that a person has chosen.
package enum AgentAction: Hashable, Sendable {
  case up(String, Lifetime)
  case down(String, Lifetime)
  case resume(String)
  case openPortal
  case suspend
  case resumeAll

  /// The lifetime of an override.
  package enum Lifetime: Hashable, Sendable, CaseIterable {
    case network, hour, resume

    package var words: String {
      switch self {
      case .network: "until the network changes"
      case .hour: "for 1 hour"
      case .resume: "until resumed"
      }
    }

    fileprivate var arguments: [BusArgument] {
      switch self {
      case .network: [.string("network"), .uint64(0), .string("")]
      case .hour: [.string("time"), .uint64(3600), .string("")]
      case .resume: [.string("resume"), .uint64(0), .string("")]
      }
    }
  }

  package var call: (path: String, interface: String, method: String, arguments: [BusArgument]) {
    let (root, agent) = ("/net/roamward/Agent1", "net.roamward.Agent1")
    return switch self {
    case .up(let path, let lifetime): (path, "\(agent).Tunnel", "Up", lifetime.arguments)
    case .down(let path, let lifetime): (path, "\(agent).Tunnel", "Down", lifetime.arguments)
    case .resume(let path): (path, "\(agent).Tunnel", "Resume", [])
    case .openPortal: (root, agent, "OpenPortal", [.uint64(0), .string("")])
    case .suspend: (root, agent, "SuspendKillSwitch", Lifetime.network.arguments)
    case .resumeAll: (root, agent, "Resume", [])
    }
  }
}
