/// A firewall mark under its mask, as rules compare it.
package struct FirewallMark: Hashable, Sendable, Comparable {
  package let value: UInt32
  package let mask: UInt32

  package init(_ value: UInt32, mask: UInt32 = .max) {
    self.value = value
    self.mask = mask
  }

  /// Whether a packet can carry both.
  package func overlaps(_ other: FirewallMark) -> Bool {
    let shared = mask & other.mask
    return value & shared == other.value & shared
  }

  package static func < (a: Self, b: Self) -> Bool { (a.value, a.mask) < (b.value, b.mask) }
}

extension FirewallMark: CustomStringConvertible {
  /// `0x80000/0xff0000`, as ip-rule(8) has it.
  package var description: String {
    "0x\(String(value, radix: 16))" + (mask == .max ? "" : "/0x\(String(mask, radix: 16))")
  }
}
