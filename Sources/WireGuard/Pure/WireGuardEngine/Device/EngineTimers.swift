internal import NetworkTypes
internal import Synchronization

/// Control: work that batches left, and due timers (section 6 of the paper, and the kernel's timers.c).
extension Engine {
  // MARK: - After batches

  func settle(at time: EngineTime, effects: inout [EngineEffect]) {
    for peer in takeReceivePending() { settleReceived(peer, at: time, effects: &effects) }
    for peer in takeSendPending() {
      var wantsHandshake = false
      inSendingSection {
        wantsHandshake = peer.send.pointee.pendingWork.handshake
        peer.send.pointee.pendingWork = SendState.PendingWork()
      }
      if wantsHandshake { initiate(peer, isRetry: false, at: time, effects: &effects) }
      rearm(peer)
    }
  }

  private func settleReceived(_ peer: Peer, at time: EngineTime, effects: inout [EngineEffect]) {
    var pendingWork = ReceiveState.PendingWork()
    inReceivingSection(of: peer) {
      pendingWork = peer.receive.pointee.pendingWork
      peer.receive.pointee.pendingWork = ReceiveState.PendingWork()
    }
    inSendingSection { shared.follow(peer.send) }
    takeConfirmation(of: peer, at: time, effects: &effects)
    if pendingWork.rekey { initiate(peer, isRetry: false, at: time, effects: &effects) }
    rearm(peer)
  }

  /// If data has confirmed the next session, it becomes the current one.
  func takeConfirmation(of peer: Peer, at time: EngineTime, effects: inout [EngineEffect]) {
    var confirmed: UInt32?
    inReceivingSection(of: peer) { confirmed = peer.receive.pointee.confirmed.take() }
    guard let confirmed, confirm(confirmed, peer) else { return }
    complete(peer, at: time)
    _ = flush(peer, effects: &effects)
  }

  private func takeReceivePending() -> [Peer] {
    var slots: [Int32] = []
    for shard in shards where shard.hasPending.exchange(false, ordering: .acquiringAndReleasing) {
      shard.section.enter {
        var slot = shard.state.pointee.firstPending
        shard.state.pointee.firstPending = PrefixTrie.none
        while slot >= 0, let receiveState = shared.pointee[PeerIndex(slot: slot)].receive {
          slots.append(slot)
          slot = receiveState.pointee.nextPending
        }
      }
    }
    return slots.compactMap { peer(at: PeerIndex(slot: $0)) }
  }

  private func takeSendPending() -> [Peer] {
    var slots: [Int32] = []
    inSendingSection {
      var slot = sending.pointee.firstPending
      sending.pointee.firstPending = PrefixTrie.none
      while slot >= 0, let sendState = shared.pointee[PeerIndex(slot: slot)].send {
        slots.append(slot)
        slot = sendState.pointee.nextPending
      }
    }
    return slots.compactMap { peer(at: PeerIndex(slot: $0)) }
  }

  // MARK: - Deadlines

  /// Makes sure that control runs when the peer's first timer is due. An earlier planned run is enough.
  func rearm(_ peer: Peer) {
    let planned = peer.send.pointee.armed.exchange(.max, ordering: .sequentiallyConsistent)
    let deadline = isUp ? peer.deadline(hasEndpoint: endpoint(of: peer) != nil) : nil
    guard let deadline else {
      peer.send.pointee.armed.store(planned, ordering: .sequentiallyConsistent)
      return
    }
    if deadline.at < planned {
      peer.send.pointee.armed.store(deadline.at, ordering: .sequentiallyConsistent)
      queue.insert(deadline)
    } else {
      peer.send.pointee.armed.store(planned, ordering: .sequentiallyConsistent)
    }
  }

  func firstDeadline() -> EngineDeadline? {
    while let entry = queue.first {
      guard let peer = peer(at: entry.peer), peer.send.pointee.armed.load(ordering: .relaxed) == entry.at else {
        queue.removeFirst()
        continue
      }
      let deadline = isUp ? peer.deadline(hasEndpoint: endpoint(of: peer) != nil) : nil
      if let deadline, deadline.at <= entry.at {
        return EngineDeadline(moment: Moment(nanoseconds: deadline.at), reason: deadline.reason)
      }
      // The planned run is no longer needed, or not so soon.
      queue.removeFirst()
      peer.send.pointee.armed.store(.max, ordering: .sequentiallyConsistent)
      rearm(peer)
    }
    return nil
  }

  func runTimers(at time: EngineTime, effects: inout [EngineEffect]) {
    let now = time.moment.nanoseconds
    while let entry = queue.first, entry.at <= now {
      queue.removeFirst()
      guard let peer = peer(at: entry.peer), peer.send.pointee.armed.load(ordering: .relaxed) == entry.at else { continue }
      peer.send.pointee.armed.store(.max, ordering: .sequentiallyConsistent)
      if isUp { runTimers(of: peer, at: time, effects: &effects) }
      rearm(peer)
    }
  }

  // MARK: - Timers

  private func runTimers(of peer: Peer, at time: EngineTime, effects: inout [EngineEffect]) {
    let now = time.moment.nanoseconds
    func isDue(_ reason: EngineDeadline.Reason) -> Bool {
      peer.due(reason, hasEndpoint: endpoint(of: peer) != nil).map { $0 <= now } ?? false
    }
    if isDue(.forgetKeys) { forgetKeys(peer) }
    if isDue(.retransmit) { retransmit(peer, at: time, effects: &effects) }
    if isDue(.unanswered) {
      // One handshake for each silence: the next data that is sent starts a new wait.
      inSendingSection { peer.send.pointee.unansweredSince.store(0, ordering: .sequentiallyConsistent) }
      peer.unansweredJitter = entropy.jitter()
      initiate(peer, isRetry: false, at: time, effects: &effects)
    }
    if isDue(.keepalive) { acknowledge(peer, at: time, effects: &effects) }
    if isDue(.persistentKeepalive) {
      peer.persistentFrom = now
      sendKeepalive(peer, at: time, effects: &effects)
    }
  }

  private func acknowledge(_ peer: Peer, at time: EngineTime, effects: inout [EngineEffect]) {
    var receivedMore = false
    inReceivingSection(of: peer) {
      receivedMore = peer.receive.pointee.receivedMore
      peer.receive.pointee.receivedMore = false
      peer.receive.pointee.unacknowledgedSince.store(0, ordering: .sequentiallyConsistent)
    }
    sendKeepalive(peer, at: time, effects: &effects)
    guard receivedMore else { return }
    // More data arrived meanwhile: it is acknowledged in ten seconds.
    inReceivingSection(of: peer) {
      let sent = peer.send.pointee.lastSent.load(ordering: .sequentiallyConsistent)
      peer.receive.pointee.unacknowledgedSince.store(max(time.moment.nanoseconds, sent + 1), ordering: .sequentiallyConsistent)
    }
  }

  private func retransmit(_ peer: Peer, at time: EngineTime, effects: inout [EngineEffect]) {
    let isFirst = peer.lastHandshakeMessage == nil
    peer.retransmitAt = nil
    if !isFirst { peer.attempts += 1 }
    guard peer.attempts < ProtocolConstants.maximumAttempts else { return giveUp(peer, at: time, effects: &effects) }
    initiate(peer, isRetry: true, at: time, effects: &effects)
  }

  /// 90 seconds without an answer: drops staged packets. Nothing more is sent until there is a new packet.
  private func giveUp(_ peer: Peer, at time: EngineTime, effects: inout [EngineEffect]) {
    inBothSections(of: peer) {
      peer.send.pointee.hasStaged = false
      peer.receive.pointee.unacknowledgedSince.store(0, ordering: .sequentiallyConsistent)
      peer.receive.pointee.receivedMore = false
    }
    effects.append(.dropStaged(peer.index))
    if peer.forgetAt == nil { peer.forgetAt = time.moment.nanoseconds + ProtocolConstants.forgetKeysAfter }
  }

  func forgetKeys(_ peer: Peer) {
    peer.forgetAt = nil
    forgetInitiation(peer)
    forgetSessions(peer)
  }
}
