internal import Synchronization

/// A value that is accessed by one thread at a time.
///
/// The thread sanitizer does not see the standard library's mutex, but it sees the ordering of the atomic word.
// Sound: the value is accessed only under the lock.
final class Exclusive<Value>: @unchecked Sendable {
  private var value: Value
  private let lock = Mutex(())
  private let order = Atomic<UInt>(0)

  init(_ value: Value) { self.value = value }

  func with<R>(_ body: (inout Value) -> R) -> R {
    // `Mutex` requires a sendable result; this one belongs to the caller.
    var result: R?
    lock.withLock { _ in
      _ = order.load(ordering: .acquiring)
      result = body(&value)
      order.store(0, ordering: .releasing)
    }
    guard let result else { preconditionFailure("the body has run") }
    return result
  }
}
