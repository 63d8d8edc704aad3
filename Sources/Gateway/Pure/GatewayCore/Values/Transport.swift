/// The protocol that an access rule is about.
package enum Transport: String, Hashable, Sendable, CaseIterable {
  /// Every protocol.
  case any
  /// TCP, with ports.
  case tcp
  /// UDP, with ports.
  case udp
  /// ICMP and ICMPv6.
  case icmp

  package var hasPorts: Bool { self == .tcp || self == .udp }
}

/// An inclusive range of ports: `443` or `8000-8100`.
package struct PortRange: Hashable, Sendable, Comparable, LosslessStringConvertible {
  package let lower: UInt16
  package let upper: UInt16

  package init?(_ text: String) {
    let ends = text.split(separator: "-", omittingEmptySubsequences: false)
    guard (1...2).contains(ends.count), ends.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
      let lower = UInt16(ends[0]), lower > 0, let upper = UInt16(ends[ends.count - 1]), upper >= lower
    else { return nil }
    self.lower = lower
    self.upper = upper
  }

  package func contains(_ port: UInt16) -> Bool { lower <= port && port <= upper }

  package var description: String { lower == upper ? "\(lower)" : "\(lower)-\(upper)" }

  package static func < (a: Self, b: Self) -> Bool { (a.lower, a.upper) < (b.lower, b.upper) }
}
