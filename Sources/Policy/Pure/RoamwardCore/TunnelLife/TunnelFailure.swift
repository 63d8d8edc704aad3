/// The reason why an attempt to start a tunnel, or a connected tunnel, has failed.
package struct TunnelFailure: Hashable, Sendable, CustomStringConvertible {
  /// When the next attempt follows.
  package enum Retry: Hashable, Sendable {
    /// After a delay that grows with each attempt, or as soon as the network or the policy changes.
    case backoff
    /// The same, but not before this time.
    case notBefore(Duration)
    /// When a person or another policy asks for it: time and another network change nothing.
    case onRequest
  }

  package let code: ReasonCode
  /// The text for people; it contains names of places and programs, and the code does not.
  package let description: String
  package var retry: Retry

  package init(_ code: ReasonCode, _ description: String, retry: Retry = .backoff) {
    self.code = code
    self.description = description
    self.retry = retry
  }

  /// Whether the network at hand is to blame, so that the failure of a session is none of the tunnel's own parts.
  var isOfNetwork: Bool {
    [.endpointUnresolved, .nameUnknown, .endpointUnreachable, .sendRefused, .portClosed, .clockBehind].contains(code)
  }

  /// Whether no session could begin, which the device alone cannot disprove.
  var isOfSession: Bool { isOfNetwork || [.peerTimeout, .noNetwork].contains(code) }
}
