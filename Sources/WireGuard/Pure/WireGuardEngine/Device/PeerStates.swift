internal import Synchronization

/// A peer as the sending section sees it.
///
/// The two directions inform each other of their traffic by marks. A mark is a time, written in one section and read in both. Marks follow
/// a logical clock: a later mark is never equal to an earlier one. The timers of data are computed from the marks, so a packet arms none:
/// * sent data is unanswered while `unansweredSince` is after the peer's `lastReceived`;
/// * received data is unacknowledged while `unacknowledgedSince` is after `lastSent`.
struct SendState: ~Copyable {
  /// The session for sending; `nil` if there is none.
  var session: UnsafeMutablePointer<SendingSession>?
  /// The responder's session that its initiator has not confirmed yet.
  var next: UnsafeMutablePointer<SendingSession>?
  var endpoint: DatagramAddress?
  /// The changes that the receiving section has seen, until the sending section applies them.
  var news = PeerNews()
  let hasNews = Atomic<Bool>(false)
  let sentBytes = Atomic<UInt64>(0)
  /// The data path has staged packets.
  var hasStaged = false
  /// Control is not asked for another handshake before this time.
  var askAgainAt: UInt64 = 0
  var pendingWork = PendingWork()
  /// The next send state in the list of peers with work for control.
  var nextPending = PrefixTrie.none

  /// The time of the last authentic packet sent.
  let lastSent = Atomic<UInt64>(0)
  /// The time of the first data sent since something was received.
  let unansweredSince = Atomic<UInt64>(0)
  /// The time of control's next planned run for the peer. Written by control.
  let armed = Atomic<UInt64>(.max)

  struct PendingWork {
    var isPending = false
    var handshake = false
  }
}

/// The endpoint and session for answers, as the last authentic packet shows them. See `move(_:to:)`.
struct PeerNews {
  /// The new source address of a peer that has moved.
  var source: DatagramAddress?
  /// The local index of the session that its initiator has confirmed. It is ignored if that session is no longer the next one.
  var confirmed: UInt32?
}

/// A peer as the receiving section of its shard sees it.
struct ReceiveState: ~Copyable {
  /// The source of the last authentic packet.
  var source: DatagramAddress?
  var receivedBytes: UInt64 = 0
  /// More data arrived after `unacknowledgedSince`.
  var receivedMore = false
  /// The session that its initiator has confirmed, until control has processed it.
  var confirmed: UInt32?
  var pendingWork = PendingWork()
  var nextPending = PrefixTrie.none

  /// The time of the last authentic packet received.
  let lastReceived = Atomic<UInt64>(0)
  /// The time of the first data received since something was sent.
  let unacknowledgedSince = Atomic<UInt64>(0)

  struct PendingWork {
    var isPending = false
    var rekey = false
  }
}

/// The send and receive states in a peer's slot, or neither if the slot is free.
struct PeerStates {
  var send: UnsafeMutablePointer<SendState>?
  var receive: UnsafeMutablePointer<ReceiveState>?
}

/// State that all sections read. Control changes it while it holds all.
struct SharedState {
  var states: UnsafeMutablePointer<PeerStates>
  var capacity: Int32
  var allowedIPs = AllowedIPs()
  /// Returns how to send to a datagram's source. Called when a peer has moved, not per packet.
  let replyRoute: @Sendable (DatagramAddress) -> DatagramAddress
  /// Guards the `news` of every send state. It is entered last, in any section, and only if a peer moves or confirms a session.
  fileprivate let news = Section()

  init(replyRoute: @escaping @Sendable (DatagramAddress) -> DatagramAddress) {
    self.replyRoute = replyRoute
    capacity = 4
    states = .allocate(capacity: Int(capacity))
    states.initialize(repeating: PeerStates(), count: Int(capacity))
  }

  mutating func grow() {
    let larger = UnsafeMutablePointer<PeerStates>.allocate(capacity: 2 * Int(capacity))
    larger.initialize(repeating: PeerStates(), count: 2 * Int(capacity))
    larger.update(from: states, count: Int(capacity))
    states.deallocate()
    states = larger
    capacity *= 2
  }

  func deallocate() {
    states.deallocate()
    allowedIPs.deallocate()
  }

  @inline(__always)
  subscript(peer: PeerIndex) -> PeerStates { peer.slot >= 0 && peer.slot < capacity ? states[Int(peer.slot)] : PeerStates() }
}

/// The handling of a peer that has moved, or has confirmed a session. The answer to a packet can be sent as soon as the packet is
/// delivered, before control runs. So the receiving section records both when it authenticates the packet. The sending section applies them
/// before it sends the next one. An answer to the old address is lost, and so is one in the old session if the peer has restarted.
///
/// It extends the pointer and is never inlined. Otherwise each packet would copy the state and count references.
extension UnsafeMutablePointer<SharedState> {
  /// Call it from the receiving section.
  @inline(never)
  func move(_ sendState: UnsafeMutablePointer<SendState>, to source: DatagramAddress) {
    pointee.news.enter {
      sendState.pointee.news.source = source
      sendState.pointee.hasNews.store(true, ordering: .releasing)
    }
  }

  /// Call it from the receiving section: the first packet of the responder's session with this local index has arrived.
  @inline(never)
  func confirm(_ sendState: UnsafeMutablePointer<SendState>, _ index: UInt32) {
    pointee.news.enter {
      sendState.pointee.news.confirmed = index
      sendState.pointee.hasNews.store(true, ordering: .releasing)
    }
  }

  /// Call it from the sending section, before it reads `endpoint` or `session`.
  @inline(__always)
  func follow(_ sendState: UnsafeMutablePointer<SendState>) {
    if sendState.pointee.hasNews.load(ordering: .acquiring) { followNews(of: sendState) }
  }

  @inline(never)
  private func followNews(of sendState: UnsafeMutablePointer<SendState>) {
    var news = PeerNews()
    pointee.news.enter {
      swap(&news, &sendState.pointee.news)
      sendState.pointee.hasNews.store(false, ordering: .relaxed)
    }
    if let source = news.source { sendState.pointee.endpoint = pointee.replyRoute(source) }
    guard let next = sendState.pointee.next, next.pointee.localIndex == news.confirmed else { return }
    sendState.pointee.session = next
    sendState.pointee.next = nil
  }

  /// The peer's endpoint has been configured since the peer moved: discards the move.
  func forgetMove(of sendState: UnsafeMutablePointer<SendState>) {
    pointee.news.enter { sendState.pointee.news.source = nil }
  }
}

/// State that only the sending section changes.
struct SendingState {
  var firstPending = PrefixTrie.none
  var noPeer: UInt64 = 0
  var noEndpoint: UInt64 = 0
  var loops: UInt64 = 0
  var expired: UInt64 = 0
}

/// State that only the receiving section of one shard changes.
struct ReceivingState {
  var sessions: IndexTable
  var firstPending = PrefixTrie.none
  var malformed: UInt64 = 0
  var unknownIndex: UInt64 = 0
  var expired: UInt64 = 0
  var replayed: UInt64 = 0
  var unauthentic: UInt64 = 0
  var badInnerPacket: UInt64 = 0
  var foreignSource: UInt64 = 0
}
