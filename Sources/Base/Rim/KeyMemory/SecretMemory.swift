internal import CSodium

/// An allocator of 32-byte cells in slabs of sodium_malloc(3). Each slab has guard pages and is excluded from swap and core dumps. A slab
/// for every secret would cost four pages; 10,000 peers have some 20,000 secrets.
///
/// If the process must not lock more memory (RLIMIT_MEMLOCK), a slab is not locked, but its cells are still wiped.
final class SecretMemory: Sendable {
  static let shared = SecretMemory()

  private static let cell = 32
  /// With the 16 bytes of libsodium's canary, one page of 4 KiB is locked for 127 secrets.
  private static let slab = 127 * cell

  private let free = Exclusive<[UnsafeMutableRawPointer]>([])

  init() { precondition(sodium_init() >= 0, "libsodium does not start") }

  /// Allocates 32 zeroed bytes.
  func take() -> UnsafeMutableRawPointer {
    let taken = free.with { free -> UnsafeMutableRawPointer? in
      if free.isEmpty {
        guard let slab = sodium_malloc(Self.slab) else { return nil }
        free = stride(from: 0, to: Self.slab, by: Self.cell).map { slab + $0 }
      }
      return free.removeLast()
    }
    guard let taken else {
      // sodium_malloc(3) fails if the kernel maps no more pages, not if it refuses to lock them. Any other allocation of the process would
      // then fail as well. To continue without a key, or with a key in ordinary memory, would be worse.
      fatalError("no memory for keys")
    }
    sodium_memzero(taken, Self.cell)
    return taken
  }

  func release(_ pointer: UnsafeMutableRawPointer) {
    sodium_memzero(pointer, Self.cell)
    free.with { $0.append(pointer) }
  }
}
