internal import Synchronization

/// A critical section, for one thread at a time.
///
/// The thread sanitizer does not see the standard library's mutex and would report each hand-over as a race. It does see the ordering of
/// the atomic word, which exists only for it.
final class Section: Sendable {
  private let lock = Mutex(())
  private let order = Atomic<UInt>(0)

  func enter(_ body: () -> Void) {
    lock.withLock { _ in
      _ = order.load(ordering: .acquiring)
      body()
      order.store(0, ordering: .releasing)
    }
  }
}
