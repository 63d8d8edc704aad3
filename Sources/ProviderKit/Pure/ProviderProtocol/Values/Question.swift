/// A question to a person.
public struct Question: Hashable, Sendable {
  /// The kind of a question.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A password. The answer is a secret.
    case password
    /// A one-time code. The answer is a secret.
    case code
    /// A text that is no secret, such as a name or a choice: it may be seen as it is typed. The answer comes as a secret's does.
    case text
    /// A page to open, to sign in. The answer says that it was opened; the provider learns the rest from its server.
    case url
    /// A sentence to agree to.
    case confirm

    /// Whether the answer is a text, which comes as a descriptor.
    public var takesText: Bool { self == .password || self == .code || self == .text }
  }

  public var kind: Kind
  /// The question for a person, 4,096 bytes at most.
  public var prompt: String
  /// The page, `https` or `http`, for `url`; `nil` otherwise.
  public var url: String?

  public init(kind: Kind, prompt: String, url: String? = nil) {
    self.kind = kind
    self.prompt = prompt
    self.url = url
  }
}

/// The outcome of a question.
public enum AnswerOutcome: String, Hashable, Sendable, CaseIterable {
  /// A secret or a text was given, the page was opened, or the person agreed.
  case answered
  /// The person said no.
  case declined
  /// No person can be asked.
  case unavailable
  /// The person did not answer in time.
  case expired
}
