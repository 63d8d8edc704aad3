internal import Synchronization
internal import WireGuardEngine

/// Handshake messages on their way from receiving threads to the engine's control. The size is fixed, so a flood costs no memory. Messages
/// that do not fit are dropped.
final class HandshakeQueue: Sendable {
  static let capacity = 256
  static let largest = 148

  private struct Message {
    var source: DatagramAddress
    var count: Int
  }

  private struct Side: @unchecked Sendable {
    // Sound: as for `Sides`.
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: HandshakeQueue.capacity * HandshakeQueue.largest, alignment: 16)
    let messages = UnsafeMutablePointer<Message>.allocate(capacity: HandshakeQueue.capacity)
    var count = 0

    func deallocate() {
      bytes.deallocate()
      messages.deallocate()
    }
  }

  /// Two buffers: one is filled while the other is read. The lock is held to copy a message, never while one is answered.
  private struct Sides: @unchecked Sendable {
    // Sound: `filling` is used only under the lock, and `reading` only in a turn of control, except when the two are exchanged.
    var filling = Side()
    var reading = Side()
  }

  private let sides = Guarded(Sides())
  private let pending = Atomic<Bool>(false)

  deinit {
    sides.withLock {
      $0.filling.deallocate()
      $0.reading.deallocate()
    }
  }

  /// Those that arrived since the last `takeAll`.
  var count: Int { sides.withLock { $0.filling.count } }

  /// True if messages arrived since the last `takeAll`.
  var hasNews: Bool { pending.load(ordering: .relaxed) }

  func append(_ message: UnsafeRawBufferPointer, from source: DatagramAddress) {
    guard message.count <= Self.largest, let base = message.baseAddress else { return }
    sides.withLock { sides in
      let place = sides.filling.count
      guard place < Self.capacity else { return }
      (sides.filling.bytes + place * Self.largest).copyMemory(from: base, byteCount: message.count)
      sides.filling.messages[place] = Message(source: source, count: message.count)
      sides.filling.count += 1
    }
    pending.store(true, ordering: .releasing)
  }

  /// Passes all queued messages to `body`, oldest first. Call it in a turn of control only.
  func takeAll(_ body: (UnsafeRawBufferPointer, DatagramAddress) -> Void) {
    pending.store(false, ordering: .releasing)
    let taken = sides.withLock { sides in
      swap(&sides.filling, &sides.reading)
      sides.filling.count = 0
      return sides.reading
    }
    for place in 0..<taken.count {
      let message = taken.messages[place]
      body(UnsafeRawBufferPointer(start: taken.bytes + place * Self.largest, count: message.count), message.source)
    }
  }
}
