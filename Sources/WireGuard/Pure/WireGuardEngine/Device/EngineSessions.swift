/// Control: the sessions with which a peer sends and receives (section 6.3 of the paper, and the kernel's noise.c).
extension Engine {
  func peer(at index: PeerIndex) -> Peer? {
    index.slot >= 0 && index.slot < slots.count ? slots[Int(index.slot)] : nil
  }

  /// A local index: random, so that it cannot be guessed and does not reveal the number of sessions, except for the lowest bits. These are
  /// the number of the peer's shard.
  func newIndex(for peer: Peer) -> UInt32 {
    let shardBits = UInt32(truncatingIfNeeded: shards.count - 1)
    while true {
      let index = entropy.word() & ~shardBits | UInt32(truncatingIfNeeded: peer.shard)
      if owners[index] == nil {
        owners[index] = peer.index
        return index
      }
    }
  }

  /// The response arrived: the session is used at once.
  func beginAsInitiator(_ session: Session, _ peer: Peer) {
    let retired: [Session?]
    if let next = peer.next {
      retired = [peer.previous, peer.current]
      peer.previous = next
      peer.next = nil
    } else {
      retired = [peer.previous]
      peer.previous = peer.current
    }
    peer.current = session
    publish(peer, adding: session, retiring: retired)
  }

  /// We have responded: the session receives. It is used for sending after its first packet has arrived.
  func beginAsResponder(_ session: Session, _ peer: Peer) {
    let retired = [peer.next, peer.previous]
    peer.previous = nil
    peer.next = session
    publish(peer, adding: session, retiring: retired)
  }

  /// The first packet of the session has arrived.
  func confirm(_ index: UInt32, _ peer: Peer) -> Bool {
    guard let session = peer.next, session.localIndex == index else { return false }
    let retired = [peer.previous]
    peer.previous = peer.current
    peer.current = session
    peer.next = nil
    publish(peer, adding: nil, retiring: retired)
    return true
  }

  func forgetSessions(_ peer: Peer) {
    let retired = [peer.previous, peer.current, peer.next]
    peer.previous = nil
    peer.current = nil
    peer.next = nil
    publish(peer, adding: nil, retiring: retired)
  }

  func forgetInitiation(_ peer: Peer) {
    if let initiation = peer.initiation { owners[initiation.localIndex] = nil }
    peer.initiation = nil
  }

  /// Publishes the peer's sessions to the threads. The keys of retired sessions are wiped with the last reference, after the sections and
  /// after the last ticket in use.
  private func publish(_ peer: Peer, adding session: Session?, retiring retired: [Session?]) {
    for session in retired { if let session { owners[session.localIndex] = nil } }
    inSendingSection {
      peer.send.pointee.session = peer.current.flatMap { $0.maySend ? $0.sending : nil }
      peer.send.pointee.next = peer.next.flatMap { $0.maySend ? $0.sending : nil }
      peer.send.pointee.askAgainAt = 0
    }
    inReceivingSection(of: peer) {
      let state = shards[peer.shard].state
      for session in retired { if let session { state.pointee.sessions.remove(session.localIndex) } }
      if let session { state.pointee.sessions.insert(session.receiving) }
    }
    if retired.contains(where: { $0 != nil }) { awaitSealing() }
    withExtendedLifetime(retired) {}
  }
}
