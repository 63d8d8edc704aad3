package import NetworkTypes

/// The medium of a link, with the reason.
package struct Medium: Equatable, Sendable {
  package var type: InterfaceType
  /// The reason in words: the driver, or the port that decided.
  package var reason: String
  /// The link that determines the medium: itself, or its port or lower link.
  package var carrier: InterfaceIndex

  package init(_ type: InterfaceType, reason: String, carrier: InterfaceIndex) {
    self.type = type
    self.reason = reason
    self.carrier = carrier
  }
}
