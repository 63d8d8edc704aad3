package import NetworkTypes

/// What kind of link it is, and why.
package struct Medium: Hashable, Sendable {
  package var type: InterfaceType
  /// In words: the driver, or the port that decided.
  package var reason: String
  /// The link that carries it: itself, or the port or lower link by which it is judged.
  package var carrier: InterfaceIndex

  package init(_ type: InterfaceType, reason: String, carrier: InterfaceIndex) {
    self.type = type
    self.reason = reason
    self.carrier = carrier
  }
}
