/// A breach of the protocol by the other side. It ends the channel.
public enum ProtocolViolation: Error, Hashable, Sendable, CustomStringConvertible {
  /// The bytes are no message.
  case malformed(MessageError)
  /// The message must not come now: its type, and the state.
  case outOfOrder(type: String, state: String)
  /// The sides speak no version in common.
  case noCommonVersion(ClosedRange<Int>)
  /// A request whose identifier is not larger than those before it.
  case identifierReused(UInt32)
  /// An answer to a request that was never made.
  case unknownIdentifier(UInt32)
  /// An answer of a kind that its request does not have.
  case wrongAnswer(type: String, id: UInt32)
  /// More unanswered requests than `ProtocolLimits` allows.
  case tooManyRequests
  /// More events and lines in an hour than `ProtocolLimits` allows.
  case tooManyEvents
  /// More credentials than `ProtocolLimits` allows, or two of one name.
  case tooManyCredentials
  /// A message that needs a descriptor has none: its type.
  case missingDescriptor(String)
  /// A message that must not have a descriptor has one: its type.
  case unexpectedDescriptor(String)
  /// No answer in time: what was missing.
  case silence(String)

  public var description: String {
    switch self {
    case .malformed(let error): error.description
    case .outOfOrder(let type, let state): "`\(type)` must not come in the state \(state)"
    case .noCommonVersion(let versions):
      "the versions \(versions.lowerBound) to \(versions.upperBound) do not contain version \(ProtocolLimits.version)"
    case .identifierReused(let id): "the identifier \(id) is not larger than those before it"
    case .unknownIdentifier(let id): "there was no request \(id)"
    case .wrongAnswer(let type, let id): "`\(type)` does not answer request \(id)"
    case .tooManyRequests: "more than \(ProtocolLimits.requests) requests, or \(ProtocolLimits.questions) questions, are unanswered"
    case .tooManyEvents: "more than \(ProtocolLimits.eventsInHour) events and lines of its log came in an hour"
    case .tooManyCredentials: "more than \(ProtocolLimits.credentials) credentials and `kept`, or two of one name"
    case .missingDescriptor(let type): "`\(type)` came without its descriptor"
    case .unexpectedDescriptor(let type): "`\(type)` came with a descriptor"
    case .silence(let what): "no \(what) in time"
    }
  }
}
