internal import ConfinedProcess
internal import NetworkTypes

/// The failures of our name server's processes, and the pause before the next start that follows from them. A pure value.
struct NameServerHistory {
  /// A process that has run for so long does not fail at its start.
  private static let settled = Duration.seconds(10)
  /// A process that has ended by itself is expected again for so long: until then, questions fail rather than leave.
  private static let returnTime = Duration.seconds(10)

  private var began: Moment?
  /// When it ended by itself, having worked until then.
  private var endedAt: Moment?
  private var pause = RestartPause()
  private var trouble = ""

  mutating func begin(at now: Moment) { began = now }

  /// It has failed. `isRunning`: it had started, and `hasWorked`: it had confirmed settings. Returns whether the next start has to wait.
  mutating func fail(_ reason: String, isRunning: Bool, hasWorked: Bool, at now: Moment) -> Bool {
    let wasSettled = isRunning && hasWorked && began.map { now - $0 > Self.settled } ?? false
    if hasWorked { endedAt = now }
    trouble = reason
    if !wasSettled { pause.fail(at: now) }
    return !wasSettled
  }

  /// The next start has to wait longer.
  mutating func wait(at now: Moment) { pause.fail(at: now) }

  /// When the next start may be tried; `nil`: at any time.
  var mayStart: Moment? { pause.end }

  /// The reason why it does not run; `nil` unless the next start has to wait.
  func obstacle(at now: Moment) -> String? { pause.end.flatMap { now < $0 ? trouble : nil } }

  /// Whether it is expected again.
  func isReturning(at now: Moment) -> Bool { endedAt.map { now < $0 + Self.returnTime } ?? false }
}
