public import NetworkTypes

/// When the engine next has something to do without being asked, and what.
public struct EngineDeadline: Hashable, Sendable {
  public enum Reason: String, Hashable, Sendable {
    /// No answer to an initiation yet: send another, or give up.
    case retransmit
    /// Data came in, and nothing went out since.
    case keepalive
    /// Data went out, and nothing came in since.
    case unanswered
    /// Nothing has been sent or received for as long as was asked for.
    case persistentKeepalive = "persistent-keepalive"
    /// Keys that nobody may use any more are wiped.
    case forgetKeys = "forget-keys"
  }

  public let moment: Moment
  public let reason: Reason

  public init(moment: Moment, reason: Reason) {
    self.moment = moment
    self.reason = reason
  }
}
