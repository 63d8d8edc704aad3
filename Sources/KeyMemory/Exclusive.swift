internal import Synchronization

/// A value that one thread at a time reaches.
///
/// The thread sanitizer does not see the standard library's mutex; the order of the atomic word is what it sees.
final class Exclusive<Value>: @unchecked Sendable {
  // Sound: reached only under the lock.
  private var value: Value
  private let lock = Mutex(())
  private let order = Atomic<UInt>(0)

  init(_ value: Value) { self.value = value }

  func with<R>(_ body: (inout Value) -> R) -> R {
    // `Mutex` asks for a result that may be sent; this one is the caller's own.
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
