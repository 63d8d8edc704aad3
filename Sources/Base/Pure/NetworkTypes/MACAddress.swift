/// A 48-bit link-layer address (EUI-48).
package struct MACAddress: Hashable, Sendable, Comparable {
  package let value: UInt64

  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 6 else { return nil }
    value = bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }

  package var bytes: [UInt8] { (0..<6).map { UInt8(truncatingIfNeeded: value >> UInt64(40 - 8 * $0)) } }

  package static func < (a: Self, b: Self) -> Bool { a.value < b.value }
}

extension MACAddress: LosslessStringConvertible {
  /// Parses six pairs of hexadecimal digits with `:` or `-` between them.
  package init?(_ text: String) {
    let parts = text.split(omittingEmptySubsequences: false) { $0 == ":" || $0 == "-" }
    let bytes = parts.compactMap { $0.utf8.count == 2 ? byte(fromHex: $0) : nil }
    guard parts.count == 6, bytes.count == 6 else { return nil }
    self.init(bytes: bytes)
  }

  package var description: String { bytes.map(hexadecimal).joined(separator: ":") }
}
