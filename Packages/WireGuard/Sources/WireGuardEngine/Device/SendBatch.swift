package import NetworkTypes
internal import Synchronization

/// The work that a `send` or `receive` leaves.
package struct BatchOutcome: Hashable, Sendable {
  /// Call `Engine.advance` now: a handshake is wanted, a timer has to be set, or a peer has moved or confirmed a session.
  package var needsControl = false
}

/// The possible destinations of a peer's packets now.
package enum SendVerdict: Hashable, Sendable {
  case ready(DatagramAddress)
  /// No session yet; a handshake is requested. Stage the packet (at most `maximumStaged`, dropping the oldest) *before the section ends*.
  case stage
  /// Drop the packet: the peer was removed, has no endpoint, or the packet would enter the tunnel that carries it.
  case drop
}

/// The sending section, while it is held.
///
/// Buffer contract of `seal`: records may lie one after another in one slab, and are sealed in ascending order. For a payload at `p` of `n`
/// bytes, `p - 64 ..< p` must be the caller's memory (header at `p - 16`; the 48 bytes before it are preserved). So must `p ..< p + n + 15
/// + 528`; the bytes behind the tag are overwritten with noise.
package struct SendBatch: ~Copyable {
  // This is first, because the thread sanitizer takes a value's first word for the address of memory that is accessed through it.
  private let state: UnsafeMutablePointer<SendingState>
  private let shared: UnsafeMutablePointer<SharedState>
  package let now: Moment
  package let mtu: Int

  init(now: Moment, mtu: Int, shared: UnsafeMutablePointer<SharedState>, state: UnsafeMutablePointer<SendingState>) {
    self.now = now
    self.mtu = mtu
    self.shared = shared
    self.state = state
  }

  /// The peer whose allowed IPs contain the packet's destination. The packet begins with its IP header; the first header of a superpacket
  /// counts.
  package mutating func route(_ packet: UnsafeRawBufferPointer) -> PeerIndex? {
    guard let base = packet.baseAddress else { return nil }
    let slot = shared.pointee.allowedIPs.slot(of: base, count: packet.count, isDestination: true)
    if slot >= 0 { return PeerIndex(slot: slot) }
    state.pointee.noPeer &+= 1
    return nil
  }

  /// Decides if `packet`, which may be a superpacket, can go to the peer. Call it once for each, before its `seal`s. It counts as sending
  /// for all timers.
  package mutating func prepare(_ packet: UnsafeRawBufferPointer, for peer: PeerIndex) -> SendVerdict {
    let states = shared.pointee[peer]
    guard let sendState = states.send, let receive = states.receive else { return .drop }
    shared.follow(sendState)
    guard let endpoint = sendState.pointee.endpoint else {
      state.pointee.noEndpoint &+= 1
      return .drop
    }
    guard let session = sendState.pointee.session, session.pointee.canSend(at: now.nanoseconds) else {
      if sendState.pointee.session != nil { state.pointee.expired &+= 1 }
      sendState.pointee.hasStaged = true
      ask(sendState, peer, forHandshake: true)
      return .stage
    }
    if InnerPacket.isOwnDatagram(packet, to: endpoint, index: session.pointee.remoteIndex) {
      state.pointee.loops &+= 1
      return .drop
    }
    if session.pointee.wantsRekey(at: now.nanoseconds) { ask(sendState, peer, forHandshake: true) }
    sendState.pointee.noteSent(at: now.nanoseconds, receive)
    if sendState.pointee.noteDataSent(at: now.nanoseconds, receive) { ask(sendState, peer, forHandshake: false) }
    return .ready(endpoint)
  }

  /// Pads and seals the `count` bytes at `payload` in place, and writes the header before and the tag behind them. The peer is one for
  /// which `prepare` said `ready` in this batch. Returns the length of the record, which begins at `payload - 16`; 0 if the session is used
  /// up and the packet has to be staged.
  package mutating func seal(_ count: Int, at payload: UnsafeMutableRawPointer, for peer: PeerIndex) -> Int {
    guard let sendState = shared.pointee[peer].send, let session = sendState.pointee.session else { return 0 }
    let length = session.seal(count, at: payload, mtu: mtu)
    if length == 0 {
      sendState.pointee.hasStaged = true
      ask(sendState, peer, forHandshake: true)
    }
    sendState.pointee.sentBytes &+= UInt64(length)
    return length
  }

  /// Adds the peer to control's list. Requests at most one handshake per second.
  private func ask(_ sendState: UnsafeMutablePointer<SendState>, _ peer: PeerIndex, forHandshake: Bool) {
    if forHandshake {
      guard now.nanoseconds >= sendState.pointee.askAgainAt else { return }
      sendState.pointee.askAgainAt = now.nanoseconds + ProtocolConstants.second
      sendState.pointee.pendingWork.handshake = true
    }
    guard !sendState.pointee.pendingWork.isPending else { return }
    sendState.pointee.pendingWork.isPending = true
    sendState.pointee.nextPending = state.pointee.firstPending
    state.pointee.firstPending = peer.slot
  }
}

extension UnsafeMutablePointer<SendingSession> {
  /// Pads, writes the header and seals. 0 if the counter is used up.
  @inline(__always)
  func seal(_ count: Int, at payload: UnsafeMutableRawPointer, mtu: Int) -> Int {
    let counter = pointee.counter
    guard counter < ProtocolConstants.rejectAfterMessages else { return 0 }
    pointee.counter = counter + 1
    // Padding hides the length to some degree, but must not make a packet longer than the MTU.
    let rounded = (count + ProtocolConstants.paddingMultiple - 1) & ~(ProtocolConstants.paddingMultiple - 1)
    let padded = mtu > 0 ? Swift.max(count, Swift.min(rounded, mtu)) : rounded
    if padded > count { (payload + count).initializeMemory(as: UInt8.self, repeating: 0, count: padded - count) }
    TransportCipher.seal(payload, count: padded, counter: counter, key: pointee.key)
    let header = payload - ProtocolConstants.transportHeader
    header.storeBytes(of: MessageType.transport.littleEndian, as: UInt32.self)
    header.storeBytes(of: pointee.remoteIndex.littleEndian, toByteOffset: TransportLayout.receiver, as: UInt32.self)
    header.storeBytes(of: counter.littleEndian, toByteOffset: TransportLayout.counter, as: UInt64.self)
    return padded + ProtocolConstants.transportOverhead
  }
}

extension SendState {
  /// Records an authentic sent packet.
  func noteSent(at now: UInt64, _ receive: UnsafeMutablePointer<ReceiveState>) {
    lastSent.store(max(now, receive.pointee.unacknowledgedSince.load(ordering: .relaxed)), ordering: .relaxed)
  }

  /// Records sent data. True if control must be told, because its next planned run is too late for a missing answer.
  func noteDataSent(at now: UInt64, _ receive: UnsafeMutablePointer<ReceiveState>) -> Bool {
    let received = receive.pointee.lastReceived.load(ordering: .relaxed)
    guard unansweredSince.load(ordering: .relaxed) <= received else { return false }
    // Sequentially consistent with control, which stores `armed` and then loads the marks: at least one of the two sees the other.
    unansweredSince.store(max(now, received + 1), ordering: .sequentiallyConsistent)
    return armed.load(ordering: .sequentiallyConsistent) > now + ProtocolConstants.unansweredTimeout + ProtocolConstants.maximumJitter
  }
}
