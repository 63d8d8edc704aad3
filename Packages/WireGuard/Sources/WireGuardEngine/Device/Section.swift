internal import Synchronization

/// A stretch of work that one thread does at a time.
///
/// The standard library's mutex is invisible to the thread sanitizer, which would take each hand-over for a race; the order of the atomic
/// word is what it sees. Nothing else needs it.
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
