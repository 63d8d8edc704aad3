/// The 64-bit hash FNV-1a (draft-eastlake-fnv), byte by byte. It is the same on every machine and in every version. It distinguishes
/// contents and is not cryptographic: two contents with one hash are easy to find.
package struct FNV1a: Sendable {
  /// The hash of the bytes added so far.
  @usableFromInline package internal(set) var value: UInt64

  /// - Parameter variant: 0 for the standard hash; another value gives another, independent one.
  package init(variant: UInt64 = 0) { value = 0xcbf2_9ce4_8422_2325 ^ variant }

  package init(_ text: String, variant: UInt64 = 0) {
    self.init(variant: variant)
    for byte in text.utf8 { add(byte) }
  }

  @inlinable package mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
}
