/// The failure of a tunnel: its reason, and who can help.
public struct TunnelFailure: Hashable, Sendable, Error {
  /// The remedy of a failure: time, a person, or none.
  public enum Help: String, Hashable, Sendable, CaseIterable {
    /// Waiting: the agent tries again.
    case time
    /// A person: the agent waits until somebody acts, or the policy changes.
    case person
    /// No one: the agent does not try again until the policy or the provider changes.
    case nobody
  }

  /// A stable code: `peer-timeout`, `auth-failed`.
  public var code: Word
  /// A message for people: what happened, where, and what to do next; 4,096 bytes at most.
  public var text: String
  public var help: Help
  /// The earliest next attempt, in whole milliseconds, at most a day. `nil`: the agent's own backoff.
  public var retryAfter: Duration?

  public init(code: Word, text: String, help: Help, retryAfter: Duration? = nil) {
    self.code = code
    self.text = text
    self.help = help
    self.retryAfter = retryAfter
  }

  /// The longest `retryAfter`.
  public static let longestRetry = Duration.seconds(86_400)
}

/// The refusal of a request: by the agent, or by a provider that got a message.
public struct Refusal: Hashable, Sendable, Error, CustomStringConvertible {
  /// A stable code: `policy`, `unreachable`, `unknown-type`, `timeout`.
  public var code: Word
  /// For people: 4,096 bytes at most.
  public var text: String

  public init(code: Word, text: String) {
    self.code = code
    self.text = text
  }

  public var description: String { "\(text) (\(code))" }
}
