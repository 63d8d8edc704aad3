/// Control: which session a peer sends and receives with (section 6.3 of the paper, and the kernel's noise.c).
extension Engine {
  func peer(at index: PeerIndex) -> Peer? {
    index.slot >= 0 && index.slot < places.count ? places[Int(index.slot)] : nil
  }

  /// An index that nobody can guess and that tells nothing of how many there are.
  func newIndex(for peer: Peer) -> UInt32 {
    while true {
      let index = entropy.word()
      if owners[index] == nil {
        owners[index] = peer.index
        return index
      }
    }
  }

  /// The response came: the session is used at once.
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

  /// We have responded: the session receives, and is used for sending when its first packet has come in.
  func beginAsResponder(_ session: Session, _ peer: Peer) {
    let retired = [peer.next, peer.previous]
    peer.previous = nil
    peer.next = session
    publish(peer, adding: session, retiring: retired)
  }

  /// The first packet of the session has come in.
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

  /// Makes the peer's sessions what both threads use. The retired ones' keys are wiped when the last reference goes, after the sections.
  private func publish(_ peer: Peer, adding session: Session?, retiring retired: [Session?]) {
    for session in retired { if let session { owners[session.localIndex] = nil } }
    inSendingSection {
      peer.send.pointee.session = peer.current.flatMap { $0.maySend ? $0.sending : nil }
      peer.send.pointee.next = peer.next.flatMap { $0.maySend ? $0.sending : nil }
      peer.send.pointee.askAgainAt = 0
    }
    inReceivingSection {
      for session in retired { if let session { receiving.pointee.sessions.remove(session.localIndex) } }
      if let session { receiving.pointee.sessions.insert(session.receiving) }
    }
    withExtendedLifetime(retired) {}
  }
}
