internal import CSodium

/// Cells of 32 bytes in slabs of sodium_malloc(3): each slab has guard pages around it and is kept from swap and core dumps. A slab for
/// every secret would cost four pages; 10,000 peers have some 20,000 secrets.
final class SecretMemory: Sendable {
  static let shared = SecretMemory()

  private static let cell = 32
  private static let slab = 4096

  // Sound: reached only in the section.
  nonisolated(unsafe) private var free: [UnsafeMutableRawPointer] = []
  private let section = Section()

  init() { Sodium.start() }

  /// 32 bytes, zeroed.
  func take() -> UnsafeMutableRawPointer {
    var taken: UnsafeMutableRawPointer?
    section.enter {
      if free.isEmpty {
        guard let slab = sodium_malloc(Self.slab) else { return }
        free = stride(from: 0, to: Self.slab, by: Self.cell).map { slab + $0 }
      }
      taken = free.removeLast()
    }
    // sodium_malloc(3) fails where the kernel maps no more pages, not where it may lock none. Any other allocation of the process would end it
    // there as well; going on without, or with a key in ordinary memory, would be worse.
    guard let taken else { fatalError("no memory for keys") }
    sodium_memzero(taken, Self.cell)
    return taken
  }

  func release(_ pointer: UnsafeMutableRawPointer) {
    sodium_memzero(pointer, Self.cell)
    section.enter { free.append(pointer) }
  }
}
