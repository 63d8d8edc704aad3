internal import NetworkTypes
internal import Synchronization

/// Of a peer that was taken away: the timestamp of the last initiation that it was sent, and when that was.
struct RemovedPeer {
  /// More are not kept: a stranger is no reason to.
  static let most = 1024

  let timestamp: Timestamp
  let at: UInt64
}

/// A peer as control sees it. Its lanes are freed with it: take them out of the shared state first.
final class Peer {
  let index: PeerIndex
  let send: UnsafeMutablePointer<SendState>
  let receive: UnsafeMutablePointer<ReceiveState>

  var identity: PeerIdentity
  let macs: MessageMACs
  var cookieState = CookieState()
  var allowedIPs: Set<IPPrefix> = []
  /// Seconds; 0 is off.
  var persistentKeepalive: UInt16 = 0

  // The handshake.
  var initiation: Initiation?
  /// An initiation or a response: the next initiation keeps its distance.
  var lastHandshakeMessage: UInt64?
  var retransmitAt: UInt64?
  var attempts: UInt64 = 0
  /// A cookie has already led to an initiation before its time.
  var hasHurried = false
  /// Of the peer's initiations: only a later one counts.
  var latestTimestamp = Timestamp.zero
  var lastConsumed: UInt64?
  /// Of ours.
  var lastTimestampSent = Timestamp.zero
  var lastInitiationSent: UInt64 = 0
  /// The peer would drop an initiation that is sent earlier, for it comes too soon after one before.
  var initiatesFrom: UInt64 = 0

  // Sessions: what we send with, the one before it, and, as responder, the one that the initiator has not confirmed yet.
  var current: Session?
  var previous: Session?
  var next: Session?
  var forgetAt: UInt64?
  var lastHandshake: (seconds: Int64, nanoseconds: UInt32) = (0, 0)

  // Timers that are not marks of the lanes.
  var unansweredJitter: UInt64
  /// The persistent keepalive counts from here where there was no traffic since.
  var persistentFrom: UInt64 = 0

  init(_ identity: PeerIdentity, index: PeerIndex, jitter: UInt64) {
    self.index = index
    self.identity = identity
    macs = MessageMACs(receiver: identity.publicKey)
    unansweredJitter = jitter
    send = .allocate(capacity: 1)
    send.initialize(to: SendState())
    receive = .allocate(capacity: 1)
    receive.initialize(to: ReceiveState())
  }

  deinit {
    send.deinitialize(count: 1)
    send.deallocate()
    receive.deinitialize(count: 1)
    receive.deallocate()
  }

  var unansweredSince: UInt64? {
    let since = send.pointee.unansweredSince.load(ordering: .sequentiallyConsistent)
    return since > receive.pointee.lastReceived.load(ordering: .sequentiallyConsistent) ? since : nil
  }

  var unacknowledgedSince: UInt64? {
    let since = receive.pointee.unacknowledgedSince.load(ordering: .sequentiallyConsistent)
    return since > send.pointee.lastSent.load(ordering: .sequentiallyConsistent) ? since : nil
  }

  /// The last authentic packet, either way.
  private var lastTraversal: UInt64 {
    max(send.pointee.lastSent.load(ordering: .relaxed), receive.pointee.lastReceived.load(ordering: .relaxed))
  }

  /// When each of its timers is due, of those that are armed.
  func due(_ reason: EngineDeadline.Reason, hasEndpoint: Bool) -> UInt64? {
    switch reason {
    case .retransmit: retransmitAt
    case .keepalive: unacknowledgedSince.map { $0 + ProtocolConstants.keepaliveTimeout }
    case .unanswered: unansweredSince.map { $0 + ProtocolConstants.unansweredTimeout + unansweredJitter }
    case .persistentKeepalive:
      persistentKeepalive > 0 && hasEndpoint
        ? max(lastTraversal, persistentFrom) + UInt64(persistentKeepalive) * ProtocolConstants.second : nil
    case .forgetKeys: forgetAt
    }
  }

  func deadline(hasEndpoint: Bool) -> DeadlineQueue.Entry? {
    var earliest: DeadlineQueue.Entry?
    for reason in [EngineDeadline.Reason.retransmit, .keepalive, .unanswered, .persistentKeepalive, .forgetKeys] {
      guard let at = due(reason, hasEndpoint: hasEndpoint), at < earliest?.at ?? .max else { continue }
      earliest = DeadlineQueue.Entry(at: at, peer: index, reason: reason)
    }
    return earliest
  }
}
