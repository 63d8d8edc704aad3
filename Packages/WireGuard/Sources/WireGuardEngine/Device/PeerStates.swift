internal import Synchronization

/// A peer as the sending section sees it.
///
/// The two threads tell each other of their traffic by marks: moments, each written by one of them and read by both, in the order of a
/// logical clock (a mark that follows another is never the same). The timers of data are computed of the marks, so a packet arms none:
/// * something sent is unanswered while `unansweredSince` is after the peer's `lastReceived`;
/// * something received is unacknowledged while `unacknowledgedSince` is after `lastSent`.
struct SendState: ~Copyable {
  /// Of the session that sends; `nil` without one.
  var session: UnsafeMutablePointer<SendingSession>?
  /// Of the responder's session that its initiator has not confirmed yet.
  var next: UnsafeMutablePointer<SendingSession>?
  var endpoint: DatagramAddress?
  /// What the receiving section has learned of the peer, until the sending section follows.
  var news = PeerNews()
  let hasNews = Atomic<Bool>(false)
  var sentBytes: UInt64 = 0
  /// Packets wait in the data path.
  var hasStaged = false
  /// Control is not asked for a handshake before this moment again.
  var askAgainAt: UInt64 = 0
  var pendingWork = PendingWork()
  /// The next lane that wants something of control.
  var nextPending = PrefixTrie.none

  /// Any authentic packet sent.
  let lastSent = Atomic<UInt64>(0)
  /// The first data sent since something came in.
  let unansweredSince = Atomic<UInt64>(0)
  /// When control will look at the peer by itself. Written by control.
  let armed = Atomic<UInt64>(.max)

  struct PendingWork {
    var isPending = false
    var handshake = false
  }
}

/// What an authentic packet tells of where and in which session to answer. See `move(_:to:)`.
struct PeerNews {
  /// Where the peer has moved to.
  var source: DatagramAddress?
  /// The local index of the session that its initiator has confirmed. It means nothing once that session is no longer the next one.
  var confirmed: UInt32?
}

/// A peer as the receiving section sees it.
struct ReceiveState: ~Copyable {
  /// Where the last authentic packet came from.
  var source: DatagramAddress?
  var receivedBytes: UInt64 = 0
  /// More data came in after `unacknowledgedSince`.
  var receivedMore = false
  /// The session that its initiator has confirmed, until control has seen it.
  var confirmed: UInt32?
  var pendingWork = PendingWork()
  var nextPending = PrefixTrie.none

  /// Any authentic packet received.
  let lastReceived = Atomic<UInt64>(0)
  /// The first data received since something was sent.
  let unacknowledgedSince = Atomic<UInt64>(0)

  struct PendingWork {
    var isPending = false
    var rekey = false
  }
}

/// Both lanes of a peer's place, or none where the place is free.
struct PeerStates {
  var send: UnsafeMutablePointer<SendState>?
  var receive: UnsafeMutablePointer<ReceiveState>?
}

/// What both sections read. Control changes it while it holds both.
struct SharedState {
  var states: UnsafeMutablePointer<PeerStates>
  var capacity: Int32
  var allowedIPs = AllowedIPs()
  /// How to send to where a datagram came from. Asked when a peer has moved, not for a packet.
  let replyRoute: @Sendable (DatagramAddress) -> DatagramAddress
  /// Guards every lane's `news`. Entered last, by either section, and only where a peer moves or confirms a session.
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

/// A peer that has moved, or has confirmed a session. The answer to a packet can be sent as soon as the packet is delivered, before control
/// looks at the peer. So the receiving section notes both when it authenticates the packet, and the sending section follows before it sends
/// the next one. An answer to the old address is lost, and so is one in the old session where the peer has restarted.
///
/// Of the pointer, and never inlined: else each packet would copy the state, and count references.
extension UnsafeMutablePointer<SharedState> {
  /// From the receiving section.
  @inline(never)
  func move(_ lane: UnsafeMutablePointer<SendState>, to source: DatagramAddress) {
    pointee.news.enter {
      lane.pointee.news.source = source
      lane.pointee.hasNews.store(true, ordering: .releasing)
    }
  }

  /// From the receiving section: the first packet of the responder's session with this local index has come in.
  @inline(never)
  func confirm(_ lane: UnsafeMutablePointer<SendState>, _ index: UInt32) {
    pointee.news.enter {
      lane.pointee.news.confirmed = index
      lane.pointee.hasNews.store(true, ordering: .releasing)
    }
  }

  /// From the sending section, before it reads `endpoint` or `session`.
  @inline(__always)
  func follow(_ lane: UnsafeMutablePointer<SendState>) {
    if lane.pointee.hasNews.load(ordering: .acquiring) { followNews(of: lane) }
  }

  @inline(never)
  private func followNews(of lane: UnsafeMutablePointer<SendState>) {
    var news = PeerNews()
    pointee.news.enter {
      swap(&news, &lane.pointee.news)
      lane.pointee.hasNews.store(false, ordering: .relaxed)
    }
    if let source = news.source { lane.pointee.endpoint = pointee.replyRoute(source) }
    guard let next = lane.pointee.next, next.pointee.localIndex == news.confirmed else { return }
    lane.pointee.session = next
    lane.pointee.next = nil
  }

  /// The peer's endpoint has been set by hand since it moved.
  func forgetMove(of lane: UnsafeMutablePointer<SendState>) {
    pointee.news.enter { lane.pointee.news.source = nil }
  }
}

/// What the sending section alone changes.
struct SendingState {
  var firstPending = PrefixTrie.none
  var noPeer: UInt64 = 0
  var noEndpoint: UInt64 = 0
  var loops: UInt64 = 0
  var expired: UInt64 = 0
}

/// What the receiving section alone changes.
struct ReceivingState {
  var sessions = IndexTable()
  var firstPending = PrefixTrie.none
  var malformed: UInt64 = 0
  var unknownIndex: UInt64 = 0
  var expired: UInt64 = 0
  var replayed: UInt64 = 0
  var unauthentic: UInt64 = 0
  var badInnerPacket: UInt64 = 0
  var foreignSource: UInt64 = 0
}
