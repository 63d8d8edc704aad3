package import NetworkTypes
internal import Synchronization

/// The WireGuard protocol of one interface, without sockets, clocks or threads of its own.
///
/// Three parts, each used by one thread at a time, each at the same time as the others:
/// * `send` holds the *sending section*: routing inner packets to peers and sealing them. No allocation, no lock but the section's own.
/// * `receive` holds the *receiving section*: opening datagrams. The same.
/// * everything else is *control*, any thread, one at a time by a lock: handshakes, timers, configuration. It computes outside the two
///   sections and enters them only to publish what it made. Never call it from inside a section.
///
/// A thread of the data path does, for each batch: `send` or `receive`; where the outcome says `needsControl`, `advance`; then it performs
/// the effects, and sets its timer to `nextDeadline`.
package final class Engine: @unchecked Sendable {
  // Sound: `shared`, `sending` and `receiving` are reached only in the sections that own them, all else that is not constant or atomic only
  // in control's. Whoever enters more than one enters control's first, then the sending one, then the receiving one.
  private let controlSection = Section()
  private let sendingSection = Section()
  private let receivingSection = Section()
  /// Batches have left something to settle. Told without a section: a thread that works holds its own nearly always, and who waits for one
  /// holds the thread up in turn, as the lock is handed over.
  private let pending = Atomic<Bool>(false)

  let shared: UnsafeMutablePointer<SharedState>
  let sending: UnsafeMutablePointer<SendingState>
  let receiving: UnsafeMutablePointer<ReceivingState>

  let entropy: Entropy
  var identity: Identity?
  /// Of our own key.
  var macs: MessageMACs?
  var isUp = false
  var peers: [PublicKey: Peer] = [:]
  var places: [Peer?] = []
  var freePlaces: [Int] = []
  /// What was sent last to peers that were taken away: where one comes back, as it does when its sessions are to begin anew, its
  /// first initiation has to be later.
  var removedPeers: [PublicKey: RemovedPeer] = [:]
  /// Whose each local index is, of initiations and sessions.
  var owners: [UInt32: PeerIndex] = [:]
  var queue = DeadlineQueue()
  var cookies = CookieSecret()
  var admission = HandshakeAdmission()
  var counted = EngineDrops()

  /// `wayBack` tells how to send to where a datagram came from: with its local address, or without, where the routing table has another way
  /// there. It is asked when a peer has moved, not for a packet, from inside the sending section.
  package init(entropy: Entropy = .system, replyRoute: @escaping @Sendable (DatagramAddress) -> DatagramAddress = { $0 }) {
    Sodium.start()
    self.entropy = entropy
    shared = .allocate(capacity: 1)
    shared.initialize(to: SharedState(replyRoute: replyRoute))
    sending = .allocate(capacity: 1)
    sending.initialize(to: SendingState())
    receiving = .allocate(capacity: 1)
    receiving.initialize(to: ReceivingState())
  }

  deinit {
    shared.pointee.deallocate()
    receiving.pointee.sessions.deallocate()
    shared.deinitialize(count: 1)
    shared.deallocate()
    sending.deallocate()
    receiving.deallocate()
  }

  // MARK: - Packets

  /// Sealing of one batch at `now`. `mtu` bounds the padding (the inner interface's; 0 for no bound).
  package func send(at now: Moment, mtu: Int, _ body: (inout SendBatch) -> Void) -> BatchOutcome {
    var outcome = BatchOutcome()
    inSendingSection {
      var batch = SendBatch(now: now, mtu: mtu, shared: shared, state: sending)
      body(&batch)
      outcome.needsControl = sending.pointee.firstPending >= 0
      if outcome.needsControl { pending.store(true, ordering: .sequentiallyConsistent) }
    }
    return outcome
  }

  /// Opening of one batch.
  package func receive(at now: Moment, _ body: (inout ReceiveBatch) -> Void) -> BatchOutcome {
    var outcome = BatchOutcome()
    inReceivingSection {
      var batch = ReceiveBatch(now: now, shared: shared, state: receiving)
      body(&batch)
      outcome.needsControl = receiving.pointee.firstPending >= 0
      if outcome.needsControl { pending.store(true, ordering: .sequentiallyConsistent) }
    }
    return outcome
  }

  // MARK: - Sections

  func inSendingSection(_ body: () -> Void) { sendingSection.enter(body) }
  func inReceivingSection(_ body: () -> Void) { receivingSection.enter(body) }
  func inBothSections(_ body: () -> Void) { inSendingSection { inReceivingSection(body) } }

  func control<Result>(_ body: () -> Result) -> Result {
    var result: Result?
    controlSection.enter { result = body() }
    return result.unsafelyUnwrapped
  }

  // MARK: - Control

  /// A datagram that `ReceiveBatch.open` called a handshake message. True where it is a peer's, and may have
  /// changed when next to `advance`.
  @discardableResult
  package func receiveHandshake(
    _ message: UnsafeRawBufferPointer, from source: DatagramAddress, at time: EngineTime, effects: inout [EngineEffect]
  ) -> Bool {
    control { take(message, from: source, at: time, effects: &effects) }
  }

  /// Whether a batch has left something for `advance` to do.
  package var hasPending: Bool { pending.load(ordering: .sequentiallyConsistent) }

  /// Whether so many handshake messages come that their senders have to prove where they are.
  package func isUnderLoad(at now: Moment) -> Bool { control { admission.isUnderLoad(at: now.nanoseconds) } }

  /// Whose place that is; `nil` where the peer is gone.
  func publicKey(of index: PeerIndex) -> PublicKey? { control { peer(at: index)?.identity.publicKey } }

  /// Does everything that is due at `time`, and settles what batches left.
  package func advance(to time: EngineTime, effects: inout [EngineEffect]) {
    control {
      if pending.exchange(false, ordering: .acquiringAndReleasing) { settle(at: time, effects: &effects) }
      runTimers(at: time, effects: &effects)
    }
  }

  /// After a `flush` for which nothing was left to send: a session begins with a packet all the same, as its responder waits for one.
  package func keepalive(_ index: PeerIndex, at time: EngineTime, effects: inout [EngineEffect]) {
    control {
      guard isUp, let peer = peer(at: index), peer.current != nil else { return }
      sendKeepalive(peer, at: time, effects: &effects)
      rearm(peer)
    }
  }

  /// When next to `advance`; `nil` where nothing will happen by itself.
  package var nextDeadline: EngineDeadline? { control { firstDeadline() } }

  /// The interface goes up or down: down drops all sessions and stops all timers; up begins persistent keepalives. It begins down.
  package func setUp(_ isUp: Bool, at time: EngineTime, effects: inout [EngineEffect]) {
    control { bring(up: isUp, at: time, effects: &effects) }
  }

  /// Our addresses or routes have changed: asks again how to send to each peer that has been heard. Gives how many are sent to from an
  /// address that is not the routing table's choice.
  package func reconsiderWays() -> Int {
    control {
      var count = 0
      for case let peer? in places {
        var ways: (source: DatagramAddress?, endpoint: DatagramAddress?)
        inBothSections {
          shared.follow(peer.send)
          ways = (peer.receive.pointee.source, peer.send.pointee.endpoint)
        }
        guard let source = ways.source, source.remote == ways.endpoint?.remote else { continue }
        let way = shared.pointee.replyRoute(source)
        if way.local != .any { count += 1 }
        if way != ways.endpoint {
          // Unless it has moved meanwhile.
          inSendingSection { if peer.send.pointee.endpoint == ways.endpoint { peer.send.pointee.endpoint = way } }
        }
      }
      return count
    }
  }

  package func apply(_ change: EngineChange, at time: EngineTime, effects: inout [EngineEffect]) {
    control { configure(change, at: time, effects: &effects) }
  }

  package var state: EngineState { control { describe() } }

  package var drops: EngineDrops {
    control {
      var drops = counted
      inBothSections {
        let (send, receive) = (sending.pointee, receiving.pointee)
        drops.noPeer = send.noPeer
        drops.noEndpoint = send.noEndpoint
        drops.loops = send.loops
        drops.expired = send.expired &+ receive.expired
        drops.malformed &+= receive.malformed
        drops.unknownIndex &+= receive.unknownIndex
        drops.replayed = receive.replayed
        drops.unauthentic = receive.unauthentic
        drops.badInnerPacket = receive.badInnerPacket
        drops.foreignSource = receive.foreignSource
      }
      return drops
    }
  }
}
