internal import NetworkTypes
internal import Synchronization

/// The memory of a removed peer: the timestamp of the last initiation to it, and the time when it was sent.
struct RemovedPeer {
  /// The maximum number of such entries.
  static let most = 1024

  let timestamp: Timestamp
  let at: UInt64
}

/// A peer as control sees it. Its send and receive states are freed with it: remove them from the shared state first.
final class Peer {
  let index: PeerIndex
  /// The number of its shard, for its lifetime.
  let shard: Int
  let send: UnsafeMutablePointer<SendState>
  let receive: UnsafeMutablePointer<ReceiveState>

  var identity: PeerIdentity
  let macs: MessageMACs
  var cookieState = CookieState()
  var allowedIPs: Set<IPPrefix> = []
  /// Seconds; 0 is off.
  var persistentKeepalive: UInt16 = 0

  // Handshake state.
  var initiation: Initiation?
  /// The time of the last initiation or response: the next initiation keeps a distance from it.
  var lastHandshakeMessage: UInt64?
  var retransmitAt: UInt64?
  var attempts: UInt64 = 0
  /// A cookie has already caused an early initiation.
  var hasHurried = false
  /// The timestamp of the peer's last initiation: only later ones are accepted.
  var latestTimestamp = Timestamp.zero
  var lastConsumed: UInt64?
  /// The timestamp of our last initiation.
  var lastTimestampSent = Timestamp.zero
  var lastInitiationSent: UInt64 = 0
  /// The earliest time of the next initiation: the peer would drop an earlier one, because it follows the last one too soon.
  var initiatesFrom: UInt64 = 0

  // Sessions: the current one for sending, the previous one, and, as responder, the next one, which the initiator has not confirmed yet.
  var current: Session?
  var previous: Session?
  var next: Session?
  var forgetAt: UInt64?
  var lastHandshake: (seconds: Int64, nanoseconds: UInt32) = (0, 0)

  // Timers that do not depend on the marks of the send and receive states.
  var unansweredJitter: UInt64
  /// The start of the persistent keepalive interval, if there was no traffic since.
  var persistentFrom: UInt64 = 0

  init(_ identity: PeerIdentity, index: PeerIndex, shard: Int, jitter: UInt64) {
    self.index = index
    self.shard = shard
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

  /// The time of the last authentic packet in either direction.
  private var lastTraversal: UInt64 {
    max(send.pointee.lastSent.load(ordering: .relaxed), receive.pointee.lastReceived.load(ordering: .relaxed))
  }

  /// The time at which a timer is due; `nil` if it is not armed.
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
