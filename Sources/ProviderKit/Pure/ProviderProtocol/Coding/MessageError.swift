/// The reason why bytes are no message of this protocol, or why a value has no message.
public enum MessageError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Longer than `ProtocolLimits.message`: its bytes.
  case tooLong(Int)
  /// Not JSON, or two members of one name.
  case notJSON(String)
  /// Nested deeper than `ProtocolLimits.depth`.
  case tooDeep
  /// JSON, but no object.
  case notAnObject
  /// No message of this direction has the type.
  case unknownType(String)
  /// A member that its message needs is missing: its path.
  case missingMember(String)
  /// A member that its message does not have: its path.
  case unknownMember(String)
  /// A value that its member cannot have.
  case invalid(member: String, expected: String)

  public var description: String {
    switch self {
    case .tooLong(let count): "the message has \(count) bytes, more than \(ProtocolLimits.message)"
    case .notJSON(let reason): "the message is not JSON: \(reason)"
    case .tooDeep: "the message is nested deeper than \(ProtocolLimits.depth) levels"
    case .notAnObject: "the message is not a JSON object"
    case .unknownType(let type): "there is no message of the type \"\(type)\""
    case .missingMember(let path): "`\(path)` is missing"
    case .unknownMember(let path): "`\(path)` is unknown"
    case .invalid(let member, let expected): "`\(member)`: expected \(expected)"
    }
  }
}
