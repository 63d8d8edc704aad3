package import NetworkTypes
internal import Synchronization

/// The work that a `send` or `receive` leaves.
package struct BatchOutcome: Hashable, Sendable {
  /// Call `Engine.advance` now: a handshake is wanted, a timer has to be set, or a peer has moved or confirmed a session.
  package var needsControl = false
}

/// The treatment of a peer's packet now.
package enum SendVerdict {
  /// Seal it with this ticket, in this batch.
  case ready(SendTicket)
  /// No session yet; a handshake is requested. Stage the packet (at most `maximumStaged`, dropping the oldest) *before the section ends*.
  case stage
  /// Drop the packet: the peer was removed, has no endpoint, or the packet would enter the tunnel that carries it.
  case drop
}

/// The sealing section of one thread, while it is held: the keys of the tickets that are drawn in it stay valid.
///
/// Buffer contract of `seal`: records may lie one after another in one slab, and are sealed in ascending order. For a payload at `p` of `n`
/// bytes, `p - 64 ..< p` must be the caller's memory (header at `p - 16`; the 48 bytes before it are preserved). So must `p ..< p + n + 15
/// + 528`; the bytes behind the tag are overwritten with noise.
package struct SendBatch: ~Copyable {
  // This is first, because the thread sanitizer takes a value's first word for the address of memory that is accessed through it.
  private let state: UnsafeMutablePointer<SendingState>
  private let shared: UnsafeMutablePointer<SharedState>
  private let sendingSection: Section
  package let now: Moment
  package let mtu: Int
  /// There are peers with work for control.
  private(set) var leavesWork = false
  /// The peer of the last ticket, and the bytes that were sealed for it and are not counted yet. Threads share the counter, so it is
  /// changed once for a run of packets.
  private var peer: UnsafeMutablePointer<SendState>?
  private var uncounted: UInt64 = 0

  init(
    now: Moment, mtu: Int, shared: UnsafeMutablePointer<SharedState>, state: UnsafeMutablePointer<SendingState>, section: Section
  ) {
    self.now = now
    self.mtu = mtu
    self.shared = shared
    self.state = state
    sendingSection = section
  }

  /// Enters the sending section, in which packets are routed, get their tickets or are staged. All threads share it, so seal outside, and
  /// prepare several packets at once.
  @inline(__always)
  package mutating func inSection(_ body: (inout SendSection) -> Void) {
    var leavesWork = false
    sendingSection.enter {
      var section = SendSection(now: now, shared: shared, state: state)
      body(&section)
      leavesWork = state.pointee.firstPending >= 0
    }
    if leavesWork { self.leavesWork = true }
  }

  /// Pads and seals the `count` bytes at `payload` in place, and writes the header before and the tag behind them. Returns the length of
  /// the record, which begins at `payload - 16`. Call it at most once for each packet that the ticket was drawn for.
  @inline(__always)
  package mutating func seal(_ count: Int, at payload: UnsafeMutableRawPointer, with ticket: inout SendTicket) -> Int {
    if ticket.sendState != peer {
      countBytes()
      peer = ticket.sendState
    }
    let length = ticket.seal(count, at: payload, mtu: mtu)
    uncounted &+= UInt64(truncatingIfNeeded: length)
    return length
  }

  /// Counts the bytes that were sealed. Call it at the end of the batch.
  @inline(__always)
  mutating func countBytes() {
    if let peer, uncounted > 0 { peer.pointee.sentBytes.add(uncounted, ordering: .relaxed) }
    uncounted = 0
  }
}

/// The sending section, while it is held. All sending threads share it, so that counters and peers have one writer at a time.
package struct SendSection: ~Copyable {
  // As in `SendBatch`.
  private let state: UnsafeMutablePointer<SendingState>
  private let shared: UnsafeMutablePointer<SharedState>
  private let now: Moment

  @inline(__always)
  init(now: Moment, shared: UnsafeMutablePointer<SharedState>, state: UnsafeMutablePointer<SendingState>) {
    self.now = now
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

  /// Decides if `packet`, which may be a superpacket of `count` segments, can go to the peer, and draws a counter for each segment. It
  /// counts as sending for all timers.
  package mutating func prepare(_ packet: UnsafeRawBufferPointer, _ count: Int = 1, for peer: PeerIndex) -> SendVerdict {
    let states = shared.pointee[peer]
    guard let sendState = states.send, let receive = states.receive else { return .drop }
    shared.follow(sendState)
    guard let endpoint = sendState.pointee.endpoint else {
      state.pointee.noEndpoint &+= 1
      return .drop
    }
    guard let session = sendState.pointee.session, session.pointee.canSend(count, at: now.nanoseconds) else {
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
    sendState.pointee.recordSent(at: now.nanoseconds, receive)
    if sendState.pointee.recordDataSent(at: now.nanoseconds, receive) { ask(sendState, peer, forHandshake: false) }
    return .ready(SendTicket(count, of: session, sendState, to: endpoint))
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

extension SendState {
  /// Records an authentic sent packet.
  func recordSent(at now: UInt64, _ receive: UnsafeMutablePointer<ReceiveState>) {
    lastSent.store(max(now, receive.pointee.unacknowledgedSince.load(ordering: .relaxed)), ordering: .relaxed)
  }

  /// Records sent data. True if control must be told, because its next planned run is too late for a missing answer.
  func recordDataSent(at now: UInt64, _ receive: UnsafeMutablePointer<ReceiveState>) -> Bool {
    let received = receive.pointee.lastReceived.load(ordering: .relaxed)
    guard unansweredSince.load(ordering: .relaxed) <= received else { return false }
    // Sequentially consistent with control, which stores `armed` and then loads the marks: at least one of the two sees the other.
    unansweredSince.store(max(now, received + 1), ordering: .sequentiallyConsistent)
    return armed.load(ordering: .sequentiallyConsistent) > now + ProtocolConstants.unansweredTimeout + ProtocolConstants.maximumJitter
  }
}
