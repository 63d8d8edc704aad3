package import NetworkTypes

/// A person's word, which outranks the rules: this tunnel up, or down, until the network changes or `resume`.
package struct Hold: Hashable, Sendable {
  package var wantsUp: Bool
  package var since: Moment
  /// The network on which it was said. On another network it ends.
  package var network: NetworkIdentity

  package init(wantsUp: Bool, since: Moment, network: NetworkIdentity) {
    self.wantsUp = wantsUp
    self.since = since
    self.network = network
  }

  package func holds(on network: NetworkIdentity) -> Bool { self.network.isSame(as: network) }
}

/// What a tunnel is to do, after rules, holds and switches have had their say.
package enum Intent: Hashable, Sendable {
  case up, down
  /// Left as it is.
  case unchanged

  package init(_ tunnel: TunnelPolicy, decision: Decision, hold: Hold?) {
    if !tunnel.isEnabled {
      self = .down
    } else if let hold {
      self = hold.wantsUp ? .up : .down
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
