package import NetworkTypes

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
