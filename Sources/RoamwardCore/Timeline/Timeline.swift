import KernelModel

/// A sequence of networks, clock steps and things people say: what `roamward simulate` lives through.
package struct Timeline: Hashable, Sendable {
  package enum Act: Hashable, Sendable {
    case network(NetworkSnapshot)
    case override(tunnel: String, wantsUp: Bool, lifetime: SaidLifetime, reason: String?)
    /// `nil`: every tunnel.
    case resume(tunnel: String?)
    /// Whether tunnels' other sides answer from here on.
    case peers(answer: Bool)
    /// The clock on the wall is set to this, forwards or backwards, whichever is less; timers go on.
    case clock(LocalTime)
    /// What the rules have to say of these tunnels here; otherwise the simulation fails.
    case expect([String: Expectation])
    /// Nothing happens; the simulation goes on to here.
    case wait
  }

  /// How long a hold is to last, as it is said.
  package enum SaidLifetime: Hashable, Sendable {
    case networkChange
    case resume
    case seconds(Int64)
  }

  /// A decision or a state: `connect` … or `connected` ….
  package struct Expectation: Hashable, Sendable {
    package var decision: Decision.Outcome?
    package var state: String?

    package init(decision: Decision.Outcome? = nil, state: String? = nil) {
      self.decision = decision
      self.state = state
    }
  }

  package struct Step: Hashable, Sendable {
    /// Since the beginning.
    package var at: Duration
    package var act: Act
    package var location: SourceLocation

    package init(at: Duration, act: Act, location: SourceLocation) {
      self.at = at
      self.act = act
      self.location = location
    }
  }

  /// By the clock on the wall.
  package var start: LocalTime
  /// In order of time.
  package var steps: [Step]

  package init(start: LocalTime = LocalTime(day: .mon, second: 0), steps: [Step] = []) {
    self.start = start
    self.steps = steps.sorted { $0.at < $1.at }
  }
}
