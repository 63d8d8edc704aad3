package import JSON
package import NetworkTypes

/// A manual override by a person, which takes precedence over the rules: this tunnel up, or down, for a lifetime.
package struct ManualOverride: Hashable, Sendable {
  package enum Lifetime: Hashable, Sendable {
    /// Until the machine is on a network other than this one.
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
  /// The options that the tunnel's provider gets while it lasts, before those of the policy: a JSON object.
  package var options: JSON

  package init(wantsUp: Bool, since: Timestamp, lifetime: Lifetime, reason: String? = nil, options: JSON = [:]) {
    self.wantsUp = wantsUp
    self.since = since
    self.lifetime = lifetime
    self.reason = reason
    self.options = options
  }

  /// Whether it is over at this time on this network. Without a network, an override that lasts until the network changes goes on: the next
  /// network is unknown.
  package func isOver(at time: Timestamp, on network: NetworkIdentity) -> Bool {
    switch lifetime {
    case .network(let identity): !network.isNone && !identity.mayBeSame(as: network)
    case .time(let end): end <= time
    case .resume: false
    }
  }

  /// Adds newly found facts of the network that it is for.
  package mutating func learn(_ network: NetworkIdentity) {
    guard case .network(var identity) = lifetime else { return }
    identity.learn(network)
    lifetime = .network(identity)
  }
}

extension ManualOverride.Lifetime {
  /// The lifetime for people: `until the network changes`.
  package var text: String {
    switch self {
    case .network: "until the network changes"
    case .time: "for a time"
    case .resume: "until it is resumed"
    }
  }

  /// The end by the wall clock, if it has one.
  package var end: Timestamp? { if case .time(let end) = self { end } else { nil } }
}

/// The intent for a tunnel, after rules, overrides and switches.
package enum Intent: Equatable, Sendable {
  case up, down
  /// The tunnel is in place without a session, and a packet brings it up; a connected one ends its session when idle.
  case armed
  /// The tunnel is left as it is until a look-up starts it; a connected one is stopped when idle, if the policy says so.
  case watched
  /// The tunnel is left as it is.
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
      case .evaluateConnection:
        self = tunnel.armingObstacle(of: decision) == nil ? .armed : tunnel.watches(by: decision) ? .watched : .unchanged
      case .ignore, .pending: self = .unchanged
      }
    }
  }
}
