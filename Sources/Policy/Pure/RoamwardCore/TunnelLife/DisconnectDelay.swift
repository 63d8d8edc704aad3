package import NetworkTypes

/// Connects at once and disconnects late. The rules' wish to connect takes effect at once. A wish to disconnect takes effect only after a
/// delay, and after the minimum dwell time. A tunnel that flaps gets ever longer delays.
///
/// Only rules are delayed; a manual override, a disabled tunnel and a removed policy are not.
package struct DisconnectDelay: Equatable, Sendable {
  /// Disconnects within this time of one another count as flapping.
  private static let memory = Duration.seconds(600)
  private static let longest = Duration.seconds(300)

  /// When the tunnel goes down, unless the rules want it again before; `nil`: no disconnect is pending.
  package private(set) var releaseAt: Moment?
  private var releases: [Moment] = []
  /// When the tunnel started, as far as was observed.
  private var startedAt: Moment?

  package init() {}

  /// The intent for now. `isRunning`: whether the tunnel can disconnect. `dwell`: the minimum time up, counted from its start.
  package mutating func handle(_ intent: Intent, isRunning: Bool, delay: Duration, dwell: Duration = .zero, at now: Moment) -> Intent {
    record(isRunning: isRunning || intent == .up, at: now)
    guard intent == .down, isRunning else {
      releaseAt = nil
      return intent
    }
    let due = releaseAt ?? max(now + lengthened(delay, at: now), (startedAt ?? now) + dwell)
    guard due <= now else {
      releaseAt = due
      return .unchanged
    }
    releaseAt = nil
    releases.append(now)
    return .down
  }

  /// Cancels a pending disconnect: a decision with precedence was made.
  package mutating func cancel(isRunning: Bool, at now: Moment) {
    record(isRunning: isRunning, at: now)
    releaseAt = nil
  }

  private mutating func record(isRunning: Bool, at now: Moment) { startedAt = isRunning ? startedAt ?? now : nil }

  /// The delay, doubled for every disconnect in the last ten minutes, up to five minutes (or the delay itself, if that is longer).
  private mutating func lengthened(_ delay: Duration, at now: Moment) -> Duration {
    releases.removeAll { $0 + Self.memory < now }
    return max(delay, Backoff(first: delay, longest: Self.longest).pause(after: releases.count + 1))
  }
}
