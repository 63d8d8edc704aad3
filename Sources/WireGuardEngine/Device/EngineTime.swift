package import NetworkTypes

/// The two clocks that the engine is told of: one that never steps, for every timer; and the wall's, for the timestamp in an initiation
/// and the time of the last handshake that wg(8) shows.
package struct EngineTime: Hashable, Sendable {
  package let moment: Moment
  /// Since 1970, without leap seconds.
  package let wallSeconds: Int64
  package let wallNanoseconds: UInt32

  package init(moment: Moment, wallSeconds: Int64, wallNanoseconds: UInt32) {
    self.moment = moment
    self.wallSeconds = wallSeconds
    self.wallNanoseconds = wallNanoseconds
  }
}

/// When the engine next has something to do without being asked, and what.
package struct EngineDeadline: Hashable, Sendable {
  package enum Reason: String, Hashable, Sendable {
    /// No answer to an initiation yet: send another, or give up.
    case retransmit
    /// Data came in, and nothing went out since.
    case keepalive
    /// Data went out, and nothing came in since.
    case unanswered
    case persistentKeepalive = "persistent-keepalive"
    /// Keys that nobody may use any more are wiped.
    case forgetKeys = "forget-keys"
  }

  package let moment: Moment
  package let reason: Reason

  package init(moment: Moment, reason: Reason) {
    self.moment = moment
    self.reason = reason
  }
}
