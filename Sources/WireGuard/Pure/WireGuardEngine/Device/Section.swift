internal import Synchronization

/// A value that one thread at a time uses.
///
/// The thread sanitizer does not see the standard library's mutex and would report each hand-over as a race. It does see the ordering of
/// the atomic word, which exists only for it.
package struct Guarded<Value: Sendable>: ~Copyable, Sendable {
  private let lock: Mutex<Value>
  private let order = Atomic<UInt>(0)

  package init(_ value: Value) { lock = Mutex(value) }

  package borrowing func withLock<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    lock.withLock { value in
      _ = order.load(ordering: .acquiring)
      let result = body(&value)
      order.store(0, ordering: .releasing)
      return result
    }
  }

  /// `nil`: another thread has the value.
  package borrowing func withLockIfAvailable<Result: Sendable>(_ body: (inout Value) -> Result) -> Result? {
    lock.withLockIfAvailable { value in
      _ = order.load(ordering: .acquiring)
      let result = body(&value)
      order.store(0, ordering: .releasing)
      return result
    }
  }
}

/// A critical section, for one thread at a time, and short. A thread that finds it taken looks again for a microsecond before it sleeps,
/// because sleeping and being woken take longer than most sections.
final class Section: Sendable {
  private static let looks = 200

  private let lock = Guarded(())
  private let isTaken = Atomic<Bool>(false)

  func enter(_ body: () -> Void) {
    for _ in 0..<Self.looks where !isTaken.load(ordering: .relaxed) {
      if lock.withLockIfAvailable({ _ in work(body) }) != nil { return }
    }
    lock.withLock { _ in work(body) }
  }

  @inline(__always)
  private func work(_ body: () -> Void) {
    isTaken.store(true, ordering: .relaxed)
    body()
    isTaken.store(false, ordering: .relaxed)
  }
}
