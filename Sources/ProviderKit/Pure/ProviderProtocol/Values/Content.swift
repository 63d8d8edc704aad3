public import JSON

/// The content of a message between an application and a provider, or of the reply.
public enum MessageContent: Hashable, Sendable {
  /// Bytes that only the two understand, 32,768 at most.
  case bytes([UInt8])
  /// A value with the name of its type.
  case typed(Word, JSON)
}

/// A provider's reply: content, nothing, or the reason why there is no reply.
public typealias MessageReply = Result<MessageContent?, Refusal>

/// A line of a provider's log.
public struct LogLine: Hashable, Sendable {
  /// The importance of a line, as in the journal.
  public enum Level: String, Hashable, Sendable, CaseIterable {
    /// For developers.
    case debug
    /// Normal operation.
    case info
    /// Unusual, and worth knowing.
    case notice
    /// Likely a problem.
    case warning
    /// A problem.
    case error
  }

  public var level: Level
  /// The part of the provider that logs: `handshake`.
  public var origin: Word
  /// 4,096 bytes at most, without secrets.
  public var text: String

  public init(level: Level, origin: Word, text: String) {
    self.level = level
    self.origin = origin
    self.text = text
  }
}

/// The kind of a socket to the outside.
public enum Transport: String, Hashable, Sendable, CaseIterable {
  /// Datagrams.
  case udp
  /// A stream of bytes.
  case tcp
}
