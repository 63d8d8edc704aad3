internal import CSodium

/// Cells of 32 bytes in slabs of sodium_malloc(3): each slab has guard pages around it and is kept from swap and core dumps. A slab for
/// every secret would cost four pages; 10,000 peers have some 20,000 secrets.
///
/// Where the process may lock no more memory (RLIMIT_MEMLOCK), a slab is not locked, and its cells are wiped all the same.
final class SecretMemory: Sendable {
  static let shared = SecretMemory()

  private static let cell = 32
  /// With the 16 bytes of libsodium's canary, one page of 4 KiB is locked for 127 secrets.
  private static let slab = 127 * cell

  private let free = Exclusive<[UnsafeMutableRawPointer]>([])

  init() { precondition(sodium_init() >= 0, "libsodium does not start") }

  /// 32 bytes, zeroed.
  func take() -> UnsafeMutableRawPointer {
    let taken = free.with { free -> UnsafeMutableRawPointer? in
      if free.isEmpty {
        guard let slab = sodium_malloc(Self.slab) else { return nil }
        free = stride(from: 0, to: Self.slab, by: Self.cell).map { slab + $0 }
      }
      return free.removeLast()
    }
    // sodium_malloc(3) fails where the kernel maps no more pages, not where it may lock none. Any other allocation of the process would end
    // it there as well; going on without, or with a key in ordinary memory, would be worse.
    guard let taken else { fatalError("no memory for keys") }
    sodium_memzero(taken, Self.cell)
    return taken
  }

  func release(_ pointer: UnsafeMutableRawPointer) {
    sodium_memzero(pointer, Self.cell)
    free.with { $0.append(pointer) }
  }
}
