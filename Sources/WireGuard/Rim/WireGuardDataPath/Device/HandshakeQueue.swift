internal import Synchronization
internal import WireGuardEngine

/// Handshake messages on their way from receiving threads to the engine's control. Messages that do not fit are dropped: the size is
/// bounded by the number of peers, and small under a flood. Memory for more than the first messages is there only while they wait.
final class HandshakeQueue: Sendable {
  /// The messages of a piece of memory, and the least that fit.
  static let piece = 256
  /// The most that ever wait on a side: about 4 MB.
  static let most = 1 << 14
  static let largest = 148

  private struct Message {
    var source: DatagramAddress
    var count: Int
  }

  private struct Piece: @unchecked Sendable {
    // Sound: the pointers are constant. What they point at is used under the lock while its side is filled, and only in a turn of control
    // while it is read.
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
    /// Those of them that have been passed on.
    var passed = 0

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
      (count, passed) = (0, 0)
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

  /// Those that wait.
  var count: Int { sides.withLock { $0.filling.count + $0.reading.count - $0.reading.passed } }

  /// True if messages arrived since the last `take`.
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

  /// Passes the oldest messages to `body`, a piece of memory's at most. Returns whether some are left that had arrived before. Call it
  /// in a turn of control only.
  func take(_ body: (UnsafeRawBufferPointer, DatagramAddress) -> Void) -> Bool {
    pending.store(false, ordering: .releasing)
    let side = sides.withLock { sides in
      if sides.reading.passed == sides.reading.count { swap(&sides.filling, &sides.reading) }
      return sides.reading
    }
    let end = min(side.passed + Self.piece, side.count)
    for number in side.passed..<end {
      let (index, place) = number.quotientAndRemainder(dividingBy: Self.piece)
      let piece = side.pieces[index]
      let message = piece.messages[place]
      body(UnsafeRawBufferPointer(start: piece.bytes + place * Self.largest, count: message.count), message.source)
    }
    return sides.withLock { sides in
      if end == side.count { sides.reading.reset() } else { sides.reading.passed = end }
      return end < side.count
    }
  }
}
