package import NetworkTypes

/// Answers of the network's name servers that our own withheld, because their addresses are inside tunnels (DNS rebinding).
package struct WithheldAnswers: Equatable, Sendable {
  package var count: UInt64
  /// The last one: the name that was asked for, and the address.
  package var name: String
  package var address: IPAddress

  package init(count: UInt64, name: String, address: IPAddress) {
    self.count = count
    self.name = name
    self.address = address
  }

  /// The domain that `rebind-allowed` needs for the last name: the one above it, unless that is a whole top-level domain.
  package static func domain(toAllow name: String) -> String {
    let labels = name.split(separator: ".")
    return labels.count > 2 ? labels.dropFirst().joined(separator: ".") : name
  }
}
