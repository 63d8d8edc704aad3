package import NetworkTypes

/// A person's word, which outranks the rules: this tunnel up, or down, for as long as was said.
package struct ManualOverride: Hashable, Sendable {
  package enum Lifetime: Hashable, Sendable {
    /// Until the machine is on another network than this one.
    case network(NetworkIdentity)
    /// Until this time.
    case time(Timestamp)
    /// Until `resume`.
    case resume
  }

  package var wantsUp: Bool
  package var since: Timestamp
  package var lifetime: Lifetime
  package var reason: String?

  package init(wantsUp: Bool, since: Timestamp, lifetime: Lifetime, reason: String? = nil) {
    self.wantsUp = wantsUp
    self.since = since
    self.lifetime = lifetime
    self.reason = reason
  }

  /// Whether it is over at this time on this network. Without a network one that lasts until another network
  /// goes on: nothing is known of it.
  package func isOver(at time: Timestamp, on network: NetworkIdentity) -> Bool {
    switch lifetime {
    case .network(let identity): !network.isNone && !identity.mayBeSame(as: network)
    case .time(let end): end <= time
    case .resume: false
    }
  }

  /// What has been learnt since about the network that it is for.
  package mutating func learn(_ network: NetworkIdentity) {
    guard case .network(var identity) = lifetime else { return }
    identity.learn(network)
    lifetime = .network(identity)
  }
}

extension ManualOverride.Lifetime {
  /// For people: `until the network changes`.
  package var text: String {
    switch self {
    case .network: "until the network changes"
    case .time: "for a time"
    case .resume: "until it is resumed"
    }
  }

  /// When it ends by the clock.
  package var end: Timestamp? { if case .time(let end) = self { end } else { nil } }
}

/// What a tunnel is to do, after rules, holds and switches have had their say.
package enum Intent: Hashable, Sendable {
  case up, down
  /// Left as it is.
  case unchanged

  package init(_ tunnel: TunnelPolicy, decision: Decision, override: ManualOverride?) {
    if !tunnel.isEnabled {
      self = .down
    } else if let override {
      self = override.wantsUp ? .up : .down
    } else if !tunnel.onDemand.isEnabled {
      self = .unchanged
    } else {
      switch decision.outcome {
      case .connect: self = .up
      case .disconnect: self = .down
      case .ignore, .pending, .evaluateConnection: self = .unchanged
      }
    }
  }
}
