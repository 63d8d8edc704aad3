/// The name of a user, group, device, pool or rule: 1 to 64 ASCII letters, digits, `.`, `_`, `-` and `@`, in lower case. The first one is
/// a letter or a digit. Other alphabets are left out: two names that look the same would be different users.
package struct GatewayName: Hashable, Sendable, Comparable, LosslessStringConvertible {
  package let description: String

  /// Letter case is ignored.
  package init?(_ text: String) {
    let folded = text.lowercased()
    guard (1...64).contains(folded.utf8.count), let first = folded.utf8.first, Self.isAlphanumeric(first),
      folded.utf8.allSatisfy({ Self.isAlphanumeric($0) || ".-_@".utf8.contains($0) })
    else { return nil }
    description = folded
  }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) }

  package static func < (a: Self, b: Self) -> Bool { a.description < b.description }
}

/// A device as administrators name it: `USER/DEVICE`.
package struct DevicePath: Hashable, Sendable, Comparable, LosslessStringConvertible {
  package let user: GatewayName
  package let device: GatewayName

  package init(user: GatewayName, device: GatewayName) {
    self.user = user
    self.device = device
  }

  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let user = GatewayName(String(parts[0])), let device = GatewayName(String(parts[1])) else { return nil }
    self.init(user: user, device: device)
  }

  package var description: String { "\(user)/\(device)" }

  package static func < (a: Self, b: Self) -> Bool { (a.user, a.device) < (b.user, b.device) }
}
