internal import Synchronization
internal import WireGuardEngine

/// Handshake messages on their way from the receiving thread to the control thread: a ring of fixed size, so that a flood costs no memory. What does
/// not fit is lost.
final class HandshakeQueue: Sendable {
  static let capacity = 256
  static let largest = 148

  private struct Message {
    var source: DatagramAddress
    var count: Int
  }

  private struct Ring: @unchecked Sendable {
    // Sound: used under the lock alone.
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: HandshakeQueue.capacity * HandshakeQueue.largest, alignment: 16)
    let messages = UnsafeMutablePointer<Message>.allocate(capacity: HandshakeQueue.capacity)
    var first = 0
    var count = 0
  }

  private let ring = Mutex(Ring())
  private let pending = Atomic<Bool>(false)

  deinit {
    ring.withLock {
      $0.bytes.deallocate()
      $0.messages.deallocate()
    }
  }

  /// Whether something came since the last `take`.
  var hasNews: Bool { pending.load(ordering: .relaxed) }

  func append(_ message: UnsafeRawBufferPointer, from source: DatagramAddress) {
    guard message.count <= Self.largest, let base = message.baseAddress else { return }
    ring.withLock { ring in
      guard ring.count < Self.capacity else { return }
      let place = (ring.first + ring.count) % Self.capacity
      (ring.bytes + place * Self.largest).copyMemory(from: base, byteCount: message.count)
      ring.messages[place] = Message(source: source, count: message.count)
      ring.count += 1
    }
    pending.store(true, ordering: .releasing)
  }

  /// Takes the oldest into `buffer`, which has room for `largest`. `nil` where there is none.
  func take(into buffer: UnsafeMutableRawPointer) -> (DatagramAddress, count: Int)? {
    pending.store(false, ordering: .releasing)
    return ring.withLock { ring in
      guard ring.count > 0 else { return nil }
      let message = ring.messages[ring.first]
      buffer.copyMemory(from: ring.bytes + ring.first * Self.largest, byteCount: message.count)
      ring.first = (ring.first + 1) % Self.capacity
      ring.count -= 1
      return (message.source, message.count)
    }
  }
}
