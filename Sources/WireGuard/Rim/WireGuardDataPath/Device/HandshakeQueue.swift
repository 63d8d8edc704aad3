internal import Synchronization
internal import WireGuardEngine

/// Handshake messages on their way from receiving threads to the engine's control. Messages that do not fit are dropped: the size is
/// bounded by the number of peers, and small under a flood. Memory for more than the first messages is there only while they wait.
final class HandshakeQueue: Sendable {
  /// The messages of a piece of memory, and the least that fit.
  static let piece = 256
  /// The most that ever fit: 5 MB.
  static let most = 1 << 14
  static let largest = 148

  private struct Message {
    var source: DatagramAddress
    var count: Int
  }

  private struct Piece: @unchecked Sendable {
    // Sound: as for `Sides`.
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: HandshakeQueue.piece * HandshakeQueue.largest, alignment: 16)
    let messages = UnsafeMutablePointer<Message>.allocate(capacity: HandshakeQueue.piece)

    func deallocate() {
      bytes.deallocate()
      messages.deallocate()
    }
  }

  private struct Side: Sendable {
    var pieces = [Piece()]
    var count = 0

    mutating func append(_ message: UnsafeRawBufferPointer, from source: DatagramAddress) {
      guard let base = message.baseAddress else { return }
      let (index, place) = count.quotientAndRemainder(dividingBy: HandshakeQueue.piece)
      if index == pieces.count { pieces.append(Piece()) }
      (pieces[index].bytes + place * HandshakeQueue.largest).copyMemory(from: base, byteCount: message.count)
      (pieces[index].messages + place).initialize(to: Message(source: source, count: message.count))
      count += 1
    }

    /// Empties it, and frees all memory but that of the first piece.
    mutating func reset() {
      count = 0
      for piece in pieces.dropFirst() { piece.deallocate() }
      pieces.removeSubrange(1...)
    }
  }

  /// Two sides: one is filled while the other is read. The lock is held to copy a message, never while one is answered.
  private struct Sides: Sendable {
    var filling = Side()
    // Used only in a turn of control, except when the two are exchanged.
    var reading = Side()
    var room = HandshakeQueue.piece
  }

  private let sides = Guarded(Sides())
  private let pending = Atomic<Bool>(false)

  deinit {
    sides.withLock { sides in
      for piece in sides.filling.pieces + sides.reading.pieces { piece.deallocate() }
    }
  }

  /// Those that arrived since the last `takeAll`.
  var count: Int { sides.withLock { $0.filling.count } }

  /// True if messages arrived since the last `takeAll`.
  var hasNews: Bool { pending.load(ordering: .relaxed) }

  /// From now on so many fit, within bounds.
  func allow(_ count: Int) { sides.withLock { $0.room = min(max(count, Self.piece), Self.most) } }

  func append(_ message: UnsafeRawBufferPointer, from source: DatagramAddress) {
    guard message.count <= Self.largest else { return }
    sides.withLock { sides in
      if sides.filling.count < sides.room { sides.filling.append(message, from: source) }
    }
    pending.store(true, ordering: .releasing)
  }

  /// Passes all queued messages to `body`, oldest first. Call it in a turn of control only.
  func takeAll(_ body: (UnsafeRawBufferPointer, DatagramAddress) -> Void) {
    pending.store(false, ordering: .releasing)
    let taken = sides.withLock { sides in
      swap(&sides.filling, &sides.reading)
      return sides.reading
    }
    for number in 0..<taken.count {
      let (index, place) = number.quotientAndRemainder(dividingBy: Self.piece)
      let piece = taken.pieces[index]
      let message = piece.messages[place]
      body(UnsafeRawBufferPointer(start: piece.bytes + place * Self.largest, count: message.count), message.source)
    }
    sides.withLock { $0.reading.reset() }
  }
}
