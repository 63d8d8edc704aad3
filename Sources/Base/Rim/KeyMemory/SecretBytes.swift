internal import CSodium

/// 32 secret bytes, the size of every secret in WireGuard, in memory that is never swapped or dumped and is wiped on release.
///
/// Its description never contains them.
// Sound: the memory is written before it is shared, and never after.
package final class SecretBytes: @unchecked Sendable {
  package let pointer: UnsafeMutableRawPointer

  /// All zeros.
  package init() { pointer = SecretMemory.shared.take() }

  package convenience init(copying source: UnsafeRawPointer) {
    self.init()
    pointer.copyMemory(from: source, byteCount: 32)
  }

  /// The caller has to wipe its own copy.
  package convenience init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 32 else { return nil }
    self.init()
    UnsafeMutableRawBufferPointer(start: pointer, count: 32).copyBytes(from: bytes)
  }

  deinit { SecretMemory.shared.release(pointer) }

  @inlinable package func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    defer { withExtendedLifetime(self) {} }
    return try body(UnsafeRawBufferPointer(start: pointer, count: 32))
  }

  /// Compares in constant time.
  package var isZero: Bool { sodium_is_zero(pointer.assumingMemoryBound(to: UInt8.self), 32) == 1 }
}

extension SecretBytes: Equatable {
  /// Compares in constant time.
  package static func == (a: SecretBytes, b: SecretBytes) -> Bool { sodium_memcmp(a.pointer, b.pointer, 32) == 0 }
}

extension SecretBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "(secret)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
