package import NetworkTypes
internal import Synchronization

/// The WireGuard protocol of one interface, without sockets, clocks or threads of its own.
///
/// It has three parts, which are used concurrently:
/// * `send` holds a *sealing section*, one for each thread that sends. In it, the thread enters the *sending section*, which all share, for
///   a short time: it routes packets to peers and draws tickets with counters. It seals outside. It allocates nothing and takes no other
///   lock.
/// * `receive` holds the *receiving section* of one shard of the peers: it opens datagrams, under the same conditions.
/// * *Control* is all else: handshakes, timers, configuration. Any thread may call it; a lock serializes the calls. It computes outside the
///   sections and enters them only to publish results. Never call it from inside a section.
///
/// Before control releases a key or a peer that it has removed from the sections, it enters each sealing section once (`awaitSealing`).
/// Then no ticket refers to it any more.
///
/// For each batch, a thread of the data path calls `send` or `receive`, then `advance` if the outcome says `needsControl`. Then it performs
/// the effects and sets its timer to `nextDeadline`.
package final class Engine: @unchecked Sendable {
  // Sound: `shared`, `sending` and the states of shards are accessed only in the sections that own them. All else is constant, atomic, or
  // accessed only by control. The lock order is control, sealing, sending, receiving in the order of the shards.
  private let controlSection = Section()
  private let sendingSection = Section()
  private let sealingSections: [Section]
  /// Batches have left work for control. The flag is set outside the sections: a working thread holds its own section nearly always. A
  /// thread that waits for it delays that thread in turn, because the lock is handed over.
  private let pending = Atomic<Bool>(false)

  let shared: UnsafeMutablePointer<SharedState>
  let sending: UnsafeMutablePointer<SendingState>
  /// A power of two of them.
  let shards: [Shard]

  let entropy: Entropy
  var identity: Identity?
  /// The MACs for our own key.
  var macs: MessageMACs?
  var isUp = false
  var peers: [PublicKey: Peer] = [:]
  var slots: [Peer?] = []
  var freeSlots: [Int] = []
  /// The last messages to removed peers. If a peer is added again, for example to restart its sessions, its first initiation has to be
  /// later.
  var removedPeers: [PublicKey: RemovedPeer] = [:]
  /// The owners of the local indices of initiations and sessions.
  var owners: [UInt32: PeerIndex] = [:]
  var queue = DeadlineQueue()
  var cookies = CookieSecret()
  var admission = HandshakeAdmission()
  var counted = EngineDrops()

  /// `replyRoute` returns how to send to a datagram's source: with the local address, or without it if the routing table has another route.
  /// It is called when a peer has moved, not per packet, from inside the sending section.
  ///
  /// `senders`: how many threads may call `send` at the same time. `receivers`: how many threads may usefully call `receive` at the same
  /// time; the number of shards is the next power of two.
  package init(
    entropy: Entropy = .system, senders: Int = 1, receivers: Int = 1,
    replyRoute: @escaping @Sendable (DatagramAddress) -> DatagramAddress = { $0 }
  ) {
    Sodium.start()
    self.entropy = entropy
    shared = .allocate(capacity: 1)
    shared.initialize(to: SharedState(replyRoute: replyRoute))
    sending = .allocate(capacity: 1)
    sending.initialize(to: SendingState())
    sealingSections = (0..<max(1, senders)).map { _ in Section() }
    var bits = 0
    while 1 << bits < min(receivers, Shard.most) { bits += 1 }
    shards = (0..<1 << bits).map { _ in Shard(bits: bits) }
  }

  deinit {
    shared.pointee.deallocate()
    shared.deinitialize(count: 1)
    shared.deallocate()
    sending.deallocate()
  }

  // MARK: - Packets

  /// Seals the packets of one batch at `now`. `sender`: the number of the calling thread, below `senders`. `mtu`, the inner interface's,
  /// limits the padding; 0 sets no limit.
  package func send(by sender: Int = 0, at now: Moment, mtu: Int, _ body: (inout SendBatch) -> Void) -> BatchOutcome {
    var outcome = BatchOutcome()
    sealingSections[sender].enter {
      var batch = SendBatch(now: now, mtu: mtu, shared: shared, state: sending, section: sendingSection)
      body(&batch)
      batch.countBytes()
      outcome.needsControl = batch.leavesWork
      if outcome.needsControl { pending.store(true, ordering: .sequentiallyConsistent) }
    }
    return outcome
  }

  /// Opens the datagrams of one batch that belong to one shard.
  package func receive(shard number: Int = 0, at now: Moment, _ body: (inout ReceiveBatch) -> Void) -> BatchOutcome {
    var outcome = BatchOutcome()
    let shard = shards[number]
    shard.section.enter {
      var batch = ReceiveBatch(now: now, shared: shared, state: shard.state)
      body(&batch)
      outcome.needsControl = shard.state.pointee.firstPending >= 0
      if outcome.needsControl {
        shard.hasPending.store(true, ordering: .sequentiallyConsistent)
        pending.store(true, ordering: .sequentiallyConsistent)
      }
    }
    return outcome
  }

  /// A power of two, at most 64.
  package var shardCount: Int { shards.count }

  // MARK: - Sections

  func inSendingSection(_ body: () -> Void) { sendingSection.enter(body) }
  func inReceivingSection(of peer: Peer, _ body: () -> Void) { shards[peer.shard].section.enter(body) }
  func inBothSections(of peer: Peer, _ body: () -> Void) { inSendingSection { inReceivingSection(of: peer, body) } }
  func inAllSections(_ body: () -> Void) { inSendingSection { inReceivingSections(from: 0, body) } }

  private func inReceivingSections(from first: Int, _ body: () -> Void) {
    guard first < shards.count else { return body() }
    shards[first].section.enter { inReceivingSections(from: first + 1, body) }
  }

  /// Waits until no ticket is in use that was drawn before.
  func awaitSealing() {
    for section in sealingSections { section.enter {} }
  }

  func control<Result>(_ body: () -> Result) -> Result {
    var result: Result?
    controlSection.enter { result = body() }
    return result.unsafelyUnwrapped
  }

  // MARK: - Control

  /// Handles a datagram that `ReceiveBatch.open` classified as a handshake message. True if it comes from a peer and may have changed
  /// `nextDeadline`.
  @discardableResult
  package func receiveHandshake(
    _ message: UnsafeRawBufferPointer, from source: DatagramAddress, at time: EngineTime, effects: inout [EngineEffect]
  ) -> Bool {
    control { take(message, from: source, at: time, effects: &effects) }
  }

  /// True if a batch has left work for `advance`.
  package var hasPending: Bool { pending.load(ordering: .sequentiallyConsistent) }

  /// The load by handshake messages.
  package func handshakeLoad(at now: Moment) -> HandshakeLoad { control { admission.load(at: now.nanoseconds, peers: peers.count) } }

  /// The public key of the peer at that index; `nil` if the peer was removed.
  func publicKey(of index: PeerIndex) -> PublicKey? { control { peer(at: index)?.identity.publicKey } }

  /// Performs everything that is due at `time`, and the work that batches left.
  package func advance(to time: EngineTime, effects: inout [EngineEffect]) {
    control {
      if pending.exchange(false, ordering: .acquiringAndReleasing) { settle(at: time, effects: &effects) }
      runTimers(at: time, effects: &effects)
    }
  }

  /// Call after a `flush` without packets to send: a new session starts with a packet, because the responder waits for one.
  package func keepalive(_ index: PeerIndex, at time: EngineTime, effects: inout [EngineEffect]) {
    control {
      guard isUp, let peer = peer(at: index), peer.current != nil else { return }
      sendKeepalive(peer, at: time, effects: &effects)
      rearm(peer)
    }
  }

  /// The time of the next `advance`; `nil` if no timer is pending.
  package var nextDeadline: EngineDeadline? { control { firstDeadline() } }

  /// Sets the interface up or down. Down drops all sessions and stops all timers; up starts persistent keepalives. It starts down.
  package func setUp(_ isUp: Bool, at time: EngineTime, effects: inout [EngineEffect]) {
    control { bring(up: isUp, at: time, effects: &effects) }
  }

  /// Call after a change of our addresses or routes: recomputes the reply route of each peer with a known source. Returns the number of
  /// peers whose source address is not the routing table's choice.
  package func reconsiderWays() -> Int {
    control {
      var count = 0
      for case let peer? in slots {
        var ways: (source: DatagramAddress?, endpoint: DatagramAddress?)
        inBothSections(of: peer) {
          shared.follow(peer.send)
          ways = (peer.receive.pointee.source, peer.send.pointee.endpoint)
        }
        guard let source = ways.source, source.remote == ways.endpoint?.remote else { continue }
        let way = shared.pointee.replyRoute(source)
        if way.local != .any { count += 1 }
        if way != ways.endpoint {
          // Unless the peer has moved meanwhile.
          inSendingSection { if peer.send.pointee.endpoint == ways.endpoint { peer.send.pointee.endpoint = way } }
        }
      }
      return count
    }
  }

  package func apply(_ change: EngineChange, at time: EngineTime, effects: inout [EngineEffect]) {
    control { configure(change, at: time, effects: &effects) }
  }

  package var state: EngineState { state(of: nil) }
  /// The same with these peers alone, as far as there are such; `nil`: with all.
  package func state(of keys: [PublicKey]?) -> EngineState { control { describe(keys.map { $0.map { peers[$0] } } ?? slots) } }

  package var drops: EngineDrops {
    control {
      var drops = counted
      inSendingSection {
        drops.noPeer = sending.pointee.noPeer
        drops.noEndpoint = sending.pointee.noEndpoint
        drops.loops = sending.pointee.loops
        drops.expired = sending.pointee.expired
      }
      for shard in shards {
        shard.section.enter {
          let receive = shard.state.pointee
          drops.expired &+= receive.expired
          drops.malformed &+= receive.malformed
          drops.unknownIndex &+= receive.unknownIndex
          drops.replayed &+= receive.replayed
          drops.unauthentic &+= receive.unauthentic
          drops.badInnerPacket &+= receive.badInnerPacket
          drops.foreignSource &+= receive.foreignSource
        }
      }
      return drops
    }
  }
}
