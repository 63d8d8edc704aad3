package import NetworkTypes

/// Protect at once, release late: what rules want of a running tunnel becomes true at once where it protects, and only after it
/// has been wanted for a while, and when the tunnel has been up for its least time, where it releases. A tunnel that keeps coming
/// and going is released ever later.
///
/// Only rules are delayed; a person's word, a disabled tunnel and a removed policy are not.
package struct DisconnectDelay: Hashable, Sendable {
  /// Releases within this time of one another count as flapping.
  private static let memory = Duration.seconds(600)
  private static let longest = Duration.seconds(300)

  /// When the tunnel goes, unless the rules want it again before; `nil`: nothing is waiting.
  package private(set) var releaseAt: Moment?
  private var releases: [Moment] = []
  /// Since when the tunnel has been running, as far as was seen.
  private var startedAt: Moment?

  package init() {}

  /// What is to be done now. `isRunning`: whether there is anything to release. `dwell`: how long it stays, counted from its start.
  package mutating func handle(_ intent: Intent, isRunning: Bool, delay: Duration, dwell: Duration = .zero, at now: Moment) -> Intent {
    note(isRunning: isRunning || intent == .up, at: now)
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

  /// Forgets what was waiting: something stronger has decided.
  package mutating func cancel(isRunning: Bool, at now: Moment) {
    note(isRunning: isRunning, at: now)
    releaseAt = nil
  }

  private mutating func note(isRunning: Bool, at now: Moment) { startedAt = isRunning ? startedAt ?? now : nil }

  /// Doubled for every release in the last ten minutes, up to five minutes (or the delay itself, where it is longer).
  private mutating func lengthened(_ delay: Duration, at now: Moment) -> Duration {
    releases.removeAll { $0 + Self.memory < now }
    return max(delay, Backoff(first: delay, longest: Self.longest).pause(after: releases.count + 1))
  }
}
