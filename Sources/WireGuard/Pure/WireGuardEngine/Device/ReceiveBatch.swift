package import NetworkTypes
internal import Synchronization

/// The classification of a datagram.
package enum Opened: Hashable, Sendable {
  /// An authentic IP packet of `length` bytes without padding, from an address of this peer.
  case packet(length: Int, from: PeerIndex)
  case keepalive(from: PeerIndex)
  /// A handshake message: pass it to `Engine.receiveHandshake`, after the section.
  case handshake
  case dropped
}

/// The receiving section of a shard, while it is held.
///
/// Buffer contract of `open`: for a record at `r` of `n` bytes, `r - 48 ..< r + n + 512` must be readable and writable memory of the
/// caller. All of it is restored when `open` returns, so records of one GRO datagram may lie one after another. The plaintext is written at
/// `plaintext`; `plaintext - 64 ..< plaintext + n + 512` must belong to the caller. The 64 bytes before it are preserved; the bytes behind
/// the packet are overwritten with noise. The two ranges must not overlap. Read `plaintext` only if the result is `packet`: the text of a
/// forged packet is wiped.
package struct ReceiveBatch: ~Copyable {
  // This is first, because the thread sanitizer takes a value's first word for the address of memory that is accessed through it.
  private let state: UnsafeMutablePointer<ReceivingState>
  private let shared: UnsafeMutablePointer<SharedState>
  package let now: Moment

  init(now: Moment, shared: UnsafeMutablePointer<SharedState>, state: UnsafeMutablePointer<ReceivingState>) {
    self.now = now
    self.shared = shared
    self.state = state
  }

  /// The shard in whose section a record is to be opened, of `shardCount`. A handshake message belongs to none: 0.
  @inline(__always)
  package static func shard(of record: UnsafeRawPointer, count: Int, shardCount: Int) -> Int {
    guard shardCount > 1, count >= ProtocolConstants.transportOverhead else { return 0 }
    let word = UInt32(littleEndian: record.loadUnaligned(as: UInt32.self))
    let index = UInt32(littleEndian: record.loadUnaligned(fromByteOffset: TransportLayout.receiver, as: UInt32.self))
    return word == MessageType.transport ? Int(index) & (shardCount &- 1) : 0
  }

  /// Opens a record of this shard. Another shard's session is unknown here.
  package mutating func open(
    _ record: UnsafeMutableRawPointer, count: Int, from source: DatagramAddress, into plaintext: UnsafeMutableRawPointer
  ) -> Opened {
    let message = UnsafeRawBufferPointer(start: record, count: max(0, count))
    guard count >= ProtocolConstants.transportOverhead, message.word(at: 0) == MessageType.transport else {
      if HandshakeKind(message) != nil { return .handshake }
      state.pointee.malformed &+= 1
      return .dropped
    }
    guard let session = state.pointee.sessions[message.word(at: TransportLayout.receiver)] else {
      state.pointee.unknownIndex &+= 1
      return .dropped
    }
    let counter = UInt64(littleEndian: message.loadUnaligned(fromByteOffset: TransportLayout.counter, as: UInt64.self))
    guard elapsed(since: session.pointee.createdAt, at: now.nanoseconds) < ProtocolConstants.rejectAfterTime,
      counter < ProtocolConstants.rejectAfterMessages
    else {
      state.pointee.expired &+= 1
      return .dropped
    }
    guard session.pointee.window.admits(counter) else {
      state.pointee.replayed &+= 1
      return .dropped
    }
    let length = count - ProtocolConstants.transportOverhead
    let isAuthentic = TransportCipher.open(
      record + TransportLayout.payload, count: length, counter: counter, key: session.pointee.key, into: plaintext)
    guard isAuthentic else {
      state.pointee.unauthentic &+= 1
      return .dropped
    }
    session.pointee.window.record(counter)
    return accept(session, count: length, at: plaintext, from: source, recordLength: count)
  }

  /// Handles an authentic packet.
  @inline(__always)
  private func accept(
    _ session: UnsafeMutablePointer<ReceivingSession>, count: Int, at plaintext: UnsafeMutableRawPointer, from source: DatagramAddress,
    recordLength: Int
  ) -> Opened {
    let peer = session.pointee.peer
    let states = shared.pointee[peer]
    guard let receiveState = states.receive, let send = states.send else { return .dropped }
    receiveState.pointee.receivedBytes &+= UInt64(recordLength)
    let wasAskedFor = receiveState.pointee.pendingWork.isPending
    var asks = false
    if session.pointee.awaitsConfirmation {
      session.pointee.awaitsConfirmation = false
      receiveState.pointee.confirmed = session.pointee.localIndex
      shared.confirm(send, session.pointee.localIndex)
      asks = true
    }
    if receiveState.pointee.source != source {
      receiveState.pointee.source = source
      shared.move(send, to: source)
      asks = true
    }
    if session.pointee.isInitiator, !session.pointee.askedForRekey,
      elapsed(since: session.pointee.createdAt, at: now.nanoseconds) >= ProtocolConstants.rekeyOnReceiveAfter
    {
      session.pointee.askedForRekey = true
      receiveState.pointee.pendingWork.rekey = true
      asks = true
    }
    receiveState.pointee.recordReceived(at: now.nanoseconds, send)
    defer { if asks, !wasAskedFor { ask(receiveState, peer) } }
    if count == 0 { return .keepalive(from: peer) }
    if receiveState.pointee.recordDataReceived(at: now.nanoseconds, send) { asks = true }
    guard let length = InnerPacket.length(plaintext, count: count) else {
      state.pointee.badInnerPacket &+= 1
      return .dropped
    }
    guard shared.pointee.allowedIPs.slot(of: plaintext, count: count, isDestination: false) == peer.slot else {
      state.pointee.foreignSource &+= 1
      return .dropped
    }
    return .packet(length: length, from: peer)
  }

  private func ask(_ receiveState: UnsafeMutablePointer<ReceiveState>, _ peer: PeerIndex) {
    receiveState.pointee.pendingWork.isPending = true
    receiveState.pointee.nextPending = state.pointee.firstPending
    state.pointee.firstPending = peer.slot
  }
}

extension ReceiveState {
  /// Records an authentic received packet.
  func recordReceived(at now: UInt64, _ send: UnsafeMutablePointer<SendState>) {
    lastReceived.store(max(now, send.pointee.unansweredSince.load(ordering: .relaxed)), ordering: .relaxed)
  }

  /// Records received data. True if control must be told, because its next planned run is too late to acknowledge the data.
  mutating func recordDataReceived(at now: UInt64, _ send: UnsafeMutablePointer<SendState>) -> Bool {
    let sent = send.pointee.lastSent.load(ordering: .relaxed)
    guard unacknowledgedSince.load(ordering: .relaxed) <= sent else {
      receivedMore = true
      return false
    }
    receivedMore = false
    // As in `SendState.recordDataSent`.
    unacknowledgedSince.store(max(now, sent + 1), ordering: .sequentiallyConsistent)
    return send.pointee.armed.load(ordering: .sequentiallyConsistent) > now + ProtocolConstants.keepaliveTimeout
  }
}
