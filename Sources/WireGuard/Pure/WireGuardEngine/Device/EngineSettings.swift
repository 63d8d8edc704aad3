internal import KeyMemory
internal import NetworkTypes
internal import Synchronization

/// Control: configuration, as `wg set` and `wg show` see it.
extension Engine {
  func bring(up: Bool, at time: EngineTime, effects: inout [EngineEffect]) {
    guard up != isUp else { return }
    isUp = up
    for case let peer? in slots {
      if up {
        startPersistentKeepalive(peer, at: time, effects: &effects)
        sendStaged(peer, at: time, effects: &effects)
      } else {
        stop(peer)
        effects.append(.dropStaged(peer.index))
      }
    }
  }

  /// Discards all state that is not configuration.
  private func stop(_ peer: Peer) {
    forgetKeys(peer)
    peer.retransmitAt = nil
    peer.attempts = 0
    peer.lastHandshakeMessage = nil
    peer.cookieState = CookieState()
    inBothSections(of: peer) {
      peer.send.pointee.hasStaged = false
      peer.send.pointee.unansweredSince.store(0, ordering: .sequentiallyConsistent)
      peer.receive.pointee.unacknowledgedSince.store(0, ordering: .sequentiallyConsistent)
      peer.receive.pointee.receivedMore = false
    }
  }

  private func startPersistentKeepalive(_ peer: Peer, at time: EngineTime, effects: inout [EngineEffect]) {
    guard isUp, peer.persistentKeepalive > 0 else { return }
    peer.persistentFrom = time.moment.nanoseconds
    sendKeepalive(peer, at: time, effects: &effects)
    rearm(peer)
  }

  /// Staged packets wait for a session: starts a handshake.
  private func sendStaged(_ peer: Peer, at time: EngineTime, effects: inout [EngineEffect]) {
    guard isUp, peer.initiation == nil, peer.current?.maySend != true, hasStaged(peer) else { return }
    initiate(peer, isRetry: false, at: time, effects: &effects)
    rearm(peer)
  }

  func configure(_ change: EngineChange, at time: EngineTime, effects: inout [EngineEffect]) {
    let hadKey = identity != nil
    let isNewKey = change.privateKey.map { setPrivateKey($0, effects: &effects) } ?? false
    if change.replacesPeers {
      for case let peer? in slots { remove(peer, effects: &effects) }
    }
    for change in change.peers { configure(change, at: time, effects: &effects) }
    // Work that waited for a key.
    guard isNewKey else { return }
    for case let peer? in slots {
      if !hadKey { startPersistentKeepalive(peer, at: time, effects: &effects) }
      sendStaged(peer, at: time, effects: &effects)
    }
  }

  /// True if the key is different from the current one.
  private func setPrivateKey(_ key: SecretBytes?, effects: inout [EngineEffect]) -> Bool {
    let new = key.flatMap { key in
      if key.isZero { return nil as Identity? }
      let copy = SecretBytes(copying: key.pointer)
      Curve25519.clamp(copy)
      return Identity(copy)
    }
    // Setting the same key again changes nothing.
    if let new, let identity, new.secret == identity.secret { return false }
    identity = new
    macs = identity.map { MessageMACs(receiver: $0.publicKey) }
    // A peer with our own key is removed.
    if let identity, let own = peers[identity.publicKey] { remove(own, effects: &effects) }
    for case let peer? in slots {
      peer.identity = PeerIdentity(peer.identity, ours: identity)
      // Sessions of the old key receive until they expire, but send no more: the next packet starts a handshake with the new key.
      forgetInitiation(peer)
      peer.lastHandshakeMessage = nil
      for session in [peer.current, peer.next] { session?.maySend = false }
      inSendingSection {
        peer.send.pointee.session = nil
        peer.send.pointee.next = nil
        peer.send.pointee.askAgainAt = 0
      }
    }
    return identity != nil
  }

  private func configure(_ change: PeerChange, at time: EngineTime, effects: inout [EngineEffect]) {
    let known = peers[change.publicKey]
    if change.removes {
      if let known { remove(known, effects: &effects) }
      return
    }
    if change.publicKey == identity?.publicKey || known == nil && change.updatesOnly { return }
    let peer = known ?? add(change.publicKey)
    if let key = change.presharedKey {
      peer.identity.presharedKey = key.map { SecretBytes(copying: $0.pointer) } ?? SecretBytes()
    }
    let isFirstEndpoint = change.endpoint != nil && endpoint(of: peer) == nil
    if let endpoint = change.endpoint {
      inBothSections(of: peer) {
        peer.send.pointee.endpoint = endpoint
        shared.forgetMove(of: peer.send)
        // The next authentic packet moves the endpoint again, whatever its source.
        peer.receive.pointee.source = nil
      }
    }
    setAllowedIPs(change, peer)
    if let interval = change.persistentKeepalive {
      let wasOff = peer.persistentKeepalive == 0
      peer.persistentKeepalive = interval
      if wasOff { startPersistentKeepalive(peer, at: time, effects: &effects) }
    }
    // Work that waited for an endpoint.
    if isFirstEndpoint { startPersistentKeepalive(peer, at: time, effects: &effects) }
    if let probe = change.probe { self.probe(peer, at: probe, at: time, effects: &effects) }
    rearm(peer)
  }

  private func setAllowedIPs(_ change: PeerChange, _ peer: Peer) {
    inAllSections {
      if change.replacesAllowedIPs {
        for prefix in peer.allowedIPs { shared.pointee.allowedIPs.remove(prefix) }
        peer.allowedIPs = []
      }
      for prefix in change.allowedIPs {
        if let owner = shared.pointee.allowedIPs.owner(of: prefix) { self.peer(at: owner)?.allowedIPs.remove(prefix) }
        shared.pointee.allowedIPs.set(prefix, to: peer.index)
        peer.allowedIPs.insert(prefix)
      }
      for prefix in change.removedAllowedIPs where peer.allowedIPs.remove(prefix) != nil { shared.pointee.allowedIPs.remove(prefix) }
    }
  }

  private func add(_ key: PublicKey) -> Peer {
    let slot = freeSlots.popLast() ?? slots.count
    let index = PeerIndex(slot: Int32(slot))
    let peer = Peer(
      PeerIdentity(key, presharedKey: SecretBytes(), ours: identity), index: index, shard: newShard(), jitter: entropy.jitter())
    if let removedPeer = removedPeers.removeValue(forKey: key) {
      peer.lastTimestampSent = removedPeer.timestamp
      peer.lastInitiationSent = removedPeer.at
      peer.initiatesFrom = removedPeer.at + ProtocolConstants.initiationDistance
    }
    if slot == slots.count { slots.append(peer) } else { slots[slot] = peer }
    peers[key] = peer
    inAllSections {
      while slot >= Int(shared.pointee.capacity) { shared.pointee.grow() }
      shared.pointee.states[slot] = PeerStates(send: peer.send, receive: peer.receive)
    }
    return peer
  }

  /// The shard with the fewest peers, and its number of peers after this one.
  private func newShard() -> Int {
    let shard = shards.indices.min { shards[$0].peerCount < shards[$1].peerCount } ?? 0
    shards[shard].peerCount += 1
    return shard
  }

  private func remove(_ peer: Peer, effects: inout [EngineEffect]) {
    if peer.lastTimestampSent != .zero {
      if removedPeers.count >= RemovedPeer.most { removedPeers = [:] }
      removedPeers[peer.identity.publicKey] = RemovedPeer(timestamp: peer.lastTimestampSent, at: peer.lastInitiationSent)
    }
    forgetKeys(peer)
    inAllSections {
      for prefix in peer.allowedIPs { shared.pointee.allowedIPs.remove(prefix) }
      unlinkPending(peer)
      shared.pointee.states[Int(peer.index.slot)] = PeerStates()
    }
    // Tickets count bytes in the peer's state.
    awaitSealing()
    shards[peer.shard].peerCount -= 1
    peers[peer.identity.publicKey] = nil
    slots[Int(peer.index.slot)] = nil
    freeSlots.append(Int(peer.index.slot))
    effects.append(.removed(peer.index))
  }

  /// Removes a deleted peer from the lists of peers with pending work.
  private func unlinkPending(_ peer: Peer) {
    var slot = sending.pointee.firstPending
    if slot == peer.index.slot { sending.pointee.firstPending = peer.send.pointee.nextPending }
    while slot >= 0, let sendState = shared.pointee[PeerIndex(slot: slot)].send {
      if sendState.pointee.nextPending == peer.index.slot { sendState.pointee.nextPending = peer.send.pointee.nextPending }
      slot = sendState.pointee.nextPending
    }
    let receiving = shards[peer.shard].state
    slot = receiving.pointee.firstPending
    if slot == peer.index.slot { receiving.pointee.firstPending = peer.receive.pointee.nextPending }
    while slot >= 0, let receiveState = shared.pointee[PeerIndex(slot: slot)].receive {
      if receiveState.pointee.nextPending == peer.index.slot { receiveState.pointee.nextPending = peer.receive.pointee.nextPending }
      slot = receiveState.pointee.nextPending
    }
  }

  func describe(_ chosen: [Peer?]) -> EngineState {
    var state = EngineState(privateKey: identity?.secret, publicKey: identity?.publicKey)
    for case let peer? in chosen {
      let endpoint = endpoint(of: peer)
      let sent = peer.send.pointee.sentBytes.load(ordering: .relaxed)
      var received: UInt64 = 0
      inReceivingSection(of: peer) { received = peer.receive.pointee.receivedBytes }
      let key = peer.identity.presharedKey
      state.peers.append(
        PeerState(
          index: peer.index, publicKey: peer.identity.publicKey, presharedKey: key.isZero ? nil : key, endpoint: endpoint,
          lastHandshakeSeconds: peer.lastHandshake.seconds, lastHandshakeNanoseconds: peer.lastHandshake.nanoseconds,
          receivedBytes: received, sentBytes: sent, persistentKeepalive: peer.persistentKeepalive, allowedIPs: peer.allowedIPs.sorted()))
    }
    return state
  }
}
