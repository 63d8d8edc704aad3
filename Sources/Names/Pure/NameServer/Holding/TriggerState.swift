internal import NetworkTypes

/// The state of a trigger's tunnel, as the agent reports it.
package enum TriggerState: String, Equatable, Sendable, Codable, CaseIterable {
  /// It may be started.
  case down
  /// The tunnel starts, and questions are held.
  case starting
  /// Its routes are in place: its name servers can be asked.
  case connected
  /// Its start has failed. Questions fail at once for a time that grows from 2 to 30 s with each failure in a row.
  case failed
}

/// A trigger with what depends on time.
struct TriggerProgress: Sendable {
  /// The agent is asked again no sooner than this.
  private static let repetition = Duration.seconds(2)

  private(set) var state = TriggerState.down
  /// While the start counts as failed.
  private var refusedUntil: Moment?
  private var backoff = Backoff(first: .seconds(2), longest: .seconds(30))
  private var requested: Moment?

  var isConnected: Bool { state == .connected }

  mutating func become(_ state: TriggerState, at now: Moment) {
    self.state = state
    switch state {
    case .failed:
      refusedUntil = now + backoff.fail()
      requested = nil
    case .connected:
      backoff.reset()
      refusedUntil = nil
      requested = nil
    case .starting: break
    case .down: requested = nil
    }
  }

  /// Whether questions fail at once.
  func isRefused(at now: Moment) -> Bool { refusedUntil.map { now < $0 } ?? false }

  /// Whether the agent is to be asked now for a question that waits.
  mutating func needsRequest(at now: Moment) -> Bool {
    guard state == .down || state == .failed, requested.map({ now >= $0 + Self.repetition }) ?? true else { return false }
    requested = now
    return true
  }
}
