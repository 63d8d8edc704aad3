internal import KeyMemory

/// A session as the sending section sees it. It has separate memory, so that the two threads do not share a cache line.
struct SendingSession {
  let key: UnsafeRawPointer
  let localIndex: UInt32
  let remoteIndex: UInt32
  /// The counter of the next message. Only the sending section draws counters, so no number is used twice.
  var counter: UInt64 = 0
  let createdAt: UInt64
  let isInitiator: Bool

  /// True if this many messages may be sent.
  @inline(__always)
  func canSend(_ count: Int = 1, at now: UInt64) -> Bool {
    elapsed(since: createdAt, at: now) < ProtocolConstants.rejectAfterTime
      && counter &+ UInt64(truncatingIfNeeded: count) <= ProtocolConstants.rejectAfterMessages
  }

  /// The first of so many counters, which are used for nothing else.
  @inline(__always)
  mutating func draw(_ count: Int) -> UInt64 {
    defer { counter &+= UInt64(truncatingIfNeeded: count) }
    return counter
  }

  @inline(__always)
  func wantsRekey(at now: UInt64) -> Bool {
    counter > ProtocolConstants.rekeyAfterMessages || isInitiator && elapsed(since: createdAt, at: now) >= ProtocolConstants.rekeyAfterTime
  }
}

/// A session as the receiving section sees it.
struct ReceivingSession {
  let key: UnsafeRawPointer
  let localIndex: UInt32
  let peer: PeerIndex
  let createdAt: UInt64
  let isInitiator: Bool
  var window = ReplayWindow()
  /// A responder's session is used for sending only after the initiator's first message proves that it has the session.
  var awaitsConfirmation: Bool
  var askedForRekey = false
}

/// A session as control sees it. It owns the keys and the memory of the send and receive states. Retire it from both sections, and wait for
/// the tickets in use (`Engine.awaitSealing`), before you release it.
final class Session {
  let localIndex: UInt32
  let sending: UnsafeMutablePointer<SendingSession>
  let receiving: UnsafeMutablePointer<ReceivingSession>
  /// False after our key was changed: such a session only receives, until it expires.
  var maySend = true
  private let keys: TransportKeys

  init(_ keys: TransportKeys, localIndex: UInt32, remoteIndex: UInt32, peer: PeerIndex, at now: UInt64, isInitiator: Bool) {
    self.keys = keys
    self.localIndex = localIndex
    sending = .allocate(capacity: 1)
    sending.initialize(
      to: SendingSession(
        key: keys.sending.pointer, localIndex: localIndex, remoteIndex: remoteIndex, createdAt: now, isInitiator: isInitiator))
    receiving = .allocate(capacity: 1)
    receiving.initialize(
      to: ReceivingSession(
        key: keys.receiving.pointer, localIndex: localIndex, peer: peer, createdAt: now, isInitiator: isInitiator,
        awaitsConfirmation: !isInitiator))
  }

  deinit {
    receiving.pointee.window.deallocate()
    receiving.deallocate()
    sending.deallocate()
  }
}
