internal import HostFindings
package import RoamwardCore

/// The state of a tunnel, from the running agent.
package struct TunnelCondition: Equatable, Sendable {
  package var name: String
  /// In the terms of `NEVPNStatus`.
  package var state: String
  /// Seconds since the state began.
  package var age: Int64
  package var failure: String?
  /// The same as a code.
  package var failureCode: ReasonCode?
  /// Seconds without received data although data was sent; `nil`: the peer is not known to be silent.
  package var peerSilence: Int64?
  /// The ends of its certificates, in words.
  package var expiring: [String]

  package init(
    name: String, state: String, age: Int64, failure: String? = nil, failureCode: ReasonCode? = nil, peerSilence: Int64? = nil,
    expiring: [String] = []
  ) {
    self.name = name
    self.state = state
    self.age = age
    self.failure = failure
    self.failureCode = failureCode
    self.peerSilence = peerSilence
    self.expiring = expiring
  }
}

/// A guard of a program, from the running agent.
package struct GuardCondition: Equatable, Sendable {
  /// `openvpn (guard 4711)`.
  package var name: String
  /// Whether the program has a link.
  package var hasLink: Bool
  /// Seconds since its start.
  package var age: Int64
  /// Whether `roamward guard` was killed, and the guard stays closed.
  package var isHeld: Bool

  package init(name: String, hasLink: Bool, age: Int64, isHeld: Bool = false) {
    self.name = name
    self.hasLink = hasLink
    self.age = age
    self.isHeld = isHeld
  }
}

extension HostCheck {
  /// Checks that tunnels follow their policies.
  static let tunnelChecks = [
    HostCheck("tunnels", "all wanted tunnels are up") { host, policies in
      guard host.isOnline else { return [] }
      let names = Set(policies.enabled.map(\.name))
      return host.tunnels.compactMap { tunnel in
        guard tunnel.isOnItsWay, names.contains(tunnel.name) else { return nil }
        if let failure = tunnel.failure {
          return HostFinding(
            "tunnels", .problem, "\(tunnel.name) is \(tunnel.state); the last attempt failed: \(failure)",
            cure: tunnel.failureCode?.cure ?? "correct the cause; `roamward status` shows the next attempt")
        }
        let cure = "check the endpoint or the network's firewall"
        if let silence = tunnel.peerSilence {
          let time = text(for: .seconds(silence))
          return HostFinding(
            "tunnels", .problem, "\(tunnel.name) is \(tunnel.state): the peer has not answered for \(time), though data was sent to it",
            cure: cure)
        }
        let time = text(for: .seconds(tunnel.age))
        guard tunnel.age > Self.patience else {
          let limit = text(for: .seconds(Self.patience))
          return HostFinding(
            "tunnels", .hint, "\(tunnel.name) is not up yet: \(tunnel.state) for \(time)",
            cure: "run `roamward doctor` again after \(limit)")
        }
        return HostFinding(
          "tunnels", .problem, "\(tunnel.name) has been \(tunnel.state) for \(time), and the peer has not answered", cure: cure)
      }
    },
    HostCheck("certificates", "no certificate of a tunnel ends soon") { host, _ in
      host.tunnels.flatMap { tunnel in
        tunnel.expiring.map { HostFinding("certificates", .risk, "\(tunnel.name): \($0)", cure: "put a new one in the policy's folder") }
      }
    },
    HostCheck("guards", "the programs of guards have their links") { host, _ in
      host.guards.filter { !$0.hasLink }.map { program in
        if program.isHeld {
          return HostFinding(
            "guards", .problem, "\(program.name) was killed: all traffic is blocked, because no person has ended the guard",
            cure: "run `roamward release`, or begin a new guard first")
        }
        let time = text(for: .seconds(program.age))
        return HostFinding(
          "guards", program.age > Self.patience ? .problem : .hint,
          "\(program.name) has no link for \(time): all traffic of other programs is blocked",
          cure: "read the program's messages; if it has a link, name it with --link; end the program, or run `roamward release`")
      }
    },
    HostCheck("not-acted-on", "all parts of the policies are supported") { _, policies in
      policies.enabled.flatMap { tunnel in
        (tunnel.unsupportedKeys + tunnel.unsupportedRules).map { words in
          HostFinding(
            "not-acted-on", .risk, "\(tunnel.name): \(words)", cure: "remove it from the policy; `roamward check` says what helps")
        }
      }
    },
    HostCheck("foreign", "no other service sets up a tunnel by itself") { _, policies in
      policies.enabled.compactMap { tunnel in
        guard case .service(let service) = tunnel.provider, let limitation = service.limitation else { return nil }
        return HostFinding(
          "foreign", .hint, "\(tunnel.name) (\(tunnel.provider.title)): \(limitation)",
          cure: "nothing, unless the policy is to decide that: then use a provider such as `wireguard` or `installed`")
      }
    },
  ]

  /// The time limit of a connection attempt, in seconds.
  private static let patience: Int64 = 15
}

extension TunnelCondition {
  fileprivate var isOnItsWay: Bool {
    state == "armed" ? failure != nil : !["connected", "disconnected", "disconnecting"].contains(state)
  }
}

extension TunnelPolicy {
  fileprivate var unsupportedRules: [String] {
    guard onDemand.isEnabled else { return [] }
    return onDemand.rules.enumerated().flatMap { i, rule -> [String] in
      guard rule.action == .evaluateConnection else { return [] }
      let place = "\(text(forRule: i + 1, name: rule.name)) (\(rule.location.short))"
      guard let obstacle = armingObstacle(of: rule), watchedEntries(of: rule).isEmpty else { return [] }
      return ["\(place): `evaluate-connection` does not arm the tunnel: \(obstacle); no look-up starts it"]
    }
  }
}
