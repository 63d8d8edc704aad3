package import NetworkTypes

/// An action on a tunnel that will follow at a moment without an event, unless another event comes before.
package struct TunnelTimer: Equatable, Sendable {
  package enum What: String, Equatable, Sendable, CaseIterable {
    /// The settle time ends, and the decision on the network is acted on.
    case settle
    /// A pending decision is made without the fact that it waits for.
    case decide
    /// The disconnect delay ends: the tunnel goes down.
    case release
    /// A manual override ends.
    case overrideEnd = "override-end"
    /// The attempt to connect is given up.
    case giveUp = "give-up"
    /// The next attempt to connect.
    case retry
    /// Without an answer on the new network, the tunnel restarts.
    case restart
  }

  package var what: What
  package var at: Moment

  package init(_ what: What, at: Moment) {
    self.what = what
    self.at = at
  }
}

extension TunnelTimer.What {
  /// The text for people, with `time` in words: `goes down in 5s, unless the rules want it again before`.
  package func text(in time: String) -> String {
    switch self {
    case .settle: "acts on this network in \(time), if it lasts"
    case .decide: "decides in \(time), also without that fact"
    case .release: "goes down in \(time), unless the rules want it again before"
    case .overrideEnd: "the manual override ends in \(time)"
    case .giveUp: "gives this attempt up in \(time)"
    case .retry: "tries again in \(time)"
    case .restart: "restarts in \(time) unless the peer answers"
    }
  }

  /// The text for people when the timer is cancelled; `nil` if another event reports it (a decision, a state, the end of an override).
  package var textOfEnd: String? {
    switch self {
    case .settle: "the network did not last"
    case .release: "disconnect cancelled"
    case .decide, .overrideEnd, .giveUp, .retry, .restart: nil
    }
  }
}

extension TunnelMachine {
  /// The next timer of the tunnel; `nil`: none.
  package var timer: TunnelTimer? {
    switch state {
    // People see a tunnel that is down.
    case .preparing where target == .ready: nil
    case .preparing(_, let deadline), .awaitingPeer(_, let deadline), .applying(_, let deadline), .arming(_, let deadline, _):
      TunnelTimer(.giveUp, at: deadline)
    case .called(let deadline): TunnelTimer(.giveUp, at: deadline)
    case .reasserting(let deadline): deadline.map { TunnelTimer(.restart, at: $0) }
    case .backingOff(_, let until): until.map { TunnelTimer(.retry, at: $0) }
    case .disconnected, .withdrawing, .readying, .ready, .armed, .connected, .disconnecting: nil
    }
  }
}
