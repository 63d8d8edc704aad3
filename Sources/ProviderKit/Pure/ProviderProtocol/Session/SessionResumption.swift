public import NetworkTypes

extension ProviderSession {
  /// The state that another agent needs to continue with a connected provider, as values that it can store.
  public struct Resumption: Hashable, Sendable {
    /// The version of the protocol that the sides have agreed on.
    public var version: Int
    /// The provider's own name and version.
    public var program: String
    /// The last identifiers of requests and of messages: they only grow.
    public var lastRequest: UInt32
    public var lastMessage: UInt32
    /// Whether a person can answer questions.
    public var mayAsk: Bool

    public init(version: Int, program: String, lastRequest: UInt32, lastMessage: UInt32, mayAsk: Bool) {
      self.version = version
      self.program = program
      self.lastRequest = lastRequest
      self.lastMessage = lastMessage
      self.mayAsk = mayAsk
    }
  }

  /// The state that another agent needs to continue; `nil` unless the tunnel is connected and neither side owes an answer.
  public var resumption: Resumption? {
    guard state == .connected, requests.isEmpty, messages.isEmpty, sleeps == 0 else { return nil }
    return Resumption(
      version: ProtocolLimits.version, program: program, lastRequest: lastRequest, lastMessage: lastMessage, mayAsk: mayAsk)
  }

  /// Goes on where another agent has left a connected provider. `nil`: this agent does not speak that version.
  public init?(resuming left: Resumption, tunnel: String, limits: Limits = Limits(), at now: Moment) {
    guard left.version == ProtocolLimits.version else { return nil }
    self.init(tunnel: tunnel, limits: limits, at: now)
    state = .connected
    stateDeadline = nil
    (program, lastRequest, lastMessage) = (left.program, left.lastRequest, left.lastMessage)
    (hasSettings, mayAsk) = (true, left.mayAsk)
  }
}
