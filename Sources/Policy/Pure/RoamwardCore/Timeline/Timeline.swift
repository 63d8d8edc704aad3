import KernelModel
package import NetworkTypes

/// A sequence of networks, clock steps and manual commands, for `roamward simulate`.
package struct Timeline: Hashable, Sendable {
  package enum Act: Hashable, Sendable {
    case network(NetworkSnapshot)
    case override(tunnel: String, wantsUp: Bool, lifetime: SaidLifetime, reason: String?)
    /// The tunnel whose override ends; `nil`: every tunnel.
    case resume(tunnel: String?)
    /// Whether the tunnels' peers answer from now on.
    case peers(answer: Bool)
    /// Whether the peers of these WireGuard tunnels answer from now on, as long as all others do.
    case somePeers([String: Bool])
    /// A program sends a packet into the tunnel.
    case packet(tunnel: String)
    /// A program looks a name up. Whether the network's servers resolve it counts where a tunnel is started if needed. The addresses of a
    /// routed name get routes; none: its last ones.
    case lookup(DomainName, resolves: Bool, addresses: [IPAddress] = [])
    /// The wall clock is set to this time, forwards or backwards, whichever is the shorter way; timers go on.
    case clock(LocalTime)
    /// The expected results of these tunnels' rules now; otherwise the simulation fails.
    case expect([String: Expectation])
    /// Nothing happens; the simulation continues until now.
    case wait
  }

  /// The lifetime of a manual override, as the timeline states it.
  package enum SaidLifetime: Hashable, Sendable {
    /// Until the network changes.
    case networkChange
    /// Until it is resumed.
    case resume
    /// For this many seconds.
    case seconds(Int64)
  }

  /// An expected decision or state: `connect` … or `connected` ….
  package struct Expectation: Hashable, Sendable {
    package var decision: Decision.Outcome?
    package var state: String?

    package init(decision: Decision.Outcome? = nil, state: String? = nil) {
      self.decision = decision
      self.state = state
    }
  }

  package struct Step: Hashable, Sendable {
    /// The time since the start.
    package var at: Duration
    package var act: Act
    package var location: SourceLocation

    package init(at: Duration, act: Act, location: SourceLocation) {
      self.at = at
      self.act = act
      self.location = location
    }
  }

  /// The start, in wall-clock time.
  package var start: LocalTime
  /// The steps, in order of time.
  package var steps: [Step]

  package init(start: LocalTime = LocalTime(day: .mon, second: 0), steps: [Step] = []) {
    self.start = start
    self.steps = steps.sorted { $0.at < $1.at }
  }
}
