package import NetworkTypes

/// The times at which a gateway reads its store and compares the kernel with it without an event: these make up for a lost one.
package struct RefreshPace: Sendable {
  /// The place of the store.
  package enum Place: Sendable {
    case file
    case server
  }

  /// The access to the store at one moment.
  package enum Access: Hashable, Sendable {
    /// The store was read. `nextAttempt`: after a failure of something else than reading, the time of the next connection.
    case reading(nextAttempt: Moment?)
    /// The store could not be read.
    case away(nextAttempt: Moment?)

    package var isAway: Bool {
      if case .away = self { true } else { false }
    }

    fileprivate var nextAttempt: Moment? {
      switch self {
      case .reading(let next), .away(let next): next
      }
    }
  }

  private let period: Duration
  /// The next refresh on time; `nil`: none is planned.
  private var next: Moment?

  package static let period = Duration.seconds(15)
  /// With a store on a server, where other gateways change it. With the time until a silent connection is given up, and the pause until a
  /// new one, it is below 15: what no notification tells is in force by then.
  package static let serverPeriod = Duration.seconds(5)

  package init(_ place: Place) { period = place == .file ? Self.period : Self.serverPeriod }

  /// After a refresh: `before` is the access when it began. Returns when the next refresh on time is due instead of the one that was
  /// planned; `nil`: that one stays.
  package mutating func plan(isOnTime: Bool, from before: Access, to after: Access, at now: Moment) -> Moment? {
    // Of the reading, or of what this gateway says in the store.
    let isFirstFailure = after.isAway ? !before.isAway : after.nextAttempt.map { $0 != before.nextAttempt } ?? false
    guard isOnTime || next == nil || isFirstFailure else { return nil }
    var due = now + period
    // The server may be well, and only its connection lost.
    if isFirstFailure, let soon = after.nextAttempt { due = min(due, soon) }
    next = due
    return due
  }
}
