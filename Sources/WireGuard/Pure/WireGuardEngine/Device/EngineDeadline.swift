public import NetworkTypes

/// The time of the engine's next action, and its reason.
public struct EngineDeadline: Hashable, Sendable {
  public enum Reason: String, Hashable, Sendable {
    /// No answer to an initiation yet: resend it or give up.
    case retransmit
    /// Data was received, and nothing was sent since.
    case keepalive
    /// Data was sent, and nothing was received since.
    case unanswered
    /// The persistent keepalive interval has passed without traffic.
    case persistentKeepalive = "persistent-keepalive"
    /// Expired keys are wiped.
    case forgetKeys = "forget-keys"
  }

  public let moment: Moment
  public let reason: Reason

  public init(moment: Moment, reason: Reason) {
    self.moment = moment
    self.reason = reason
  }
}
