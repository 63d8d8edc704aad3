package import NetworkTypes

/// Something about a tunnel that will happen by itself at a moment, unless something else happens before.
package struct TunnelTimer: Hashable, Sendable {
  package enum What: String, Hashable, Sendable, CaseIterable {
    /// The network will have lasted for the tunnel's own time to settle, and what the rules say of it is acted on.
    case settle
    /// A pending decision is made without the fact that it waits for.
    case decide
    /// The rules will have wanted the tunnel down for long enough: it goes.
    case release
    /// A manual override ends.
    case overrideEnd = "override-end"
    /// The attempt to connect is given up.
    case giveUp = "give-up"
    /// The next attempt to connect.
    case retry
    /// Without an answer on the new network, the tunnel starts anew.
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
  /// For people, `time` in words: `goes down in 5s, unless the rules want it again before`.
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

  /// For people: that it will not happen any more; `nil` where another event tells it (a decision, a state, the end of a hold).
  package var textOfEnd: String? {
    switch self {
    case .settle: "the network did not last"
    case .release: "disconnect cancelled"
    case .decide, .overrideEnd, .giveUp, .retry, .restart: nil
    }
  }
}

extension TunnelMachine {
  /// What it will do by itself; `nil`: nothing.
  package var timer: TunnelTimer? {
    switch state {
    case .preparing(_, let deadline), .awaitingPeer(_, let deadline), .applying(_, let deadline): TunnelTimer(.giveUp, at: deadline)
    case .reasserting(let deadline): deadline.map { TunnelTimer(.restart, at: $0) }
    case .backingOff(_, let until): TunnelTimer(.retry, at: until)
    case .disconnected, .connected, .disconnecting: nil
    }
  }
}
