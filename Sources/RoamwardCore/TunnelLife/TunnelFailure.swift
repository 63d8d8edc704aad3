/// The reason why an attempt to start a tunnel, or a connected tunnel, has failed.
package struct TunnelFailure: Hashable, Sendable, CustomStringConvertible {
  package let code: ReasonCode
  /// The text for people; it contains names of places and programs, and the code does not.
  package let description: String

  package init(_ code: ReasonCode, _ description: String) {
    self.code = code
    self.description = description
  }

  /// Whether the network at hand is to blame, so that the failure of a session is none of the tunnel's own parts.
  var isOfNetwork: Bool { code == .endpointUnresolved }
}
