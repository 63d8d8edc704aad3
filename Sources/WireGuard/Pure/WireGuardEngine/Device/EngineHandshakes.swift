internal import NetworkTypes
internal import Synchronization

/// Control: incoming and outgoing handshake messages.
extension Engine {
  // MARK: - Out

  /// Sends an initiation, unless an initiation or a response was sent within the last five seconds.
  func initiate(_ peer: Peer, isRetry: Bool, at time: EngineTime, effects: inout [EngineEffect]) {
    let now = time.moment.nanoseconds
    if !isRetry { peer.attempts = 0 }
    if let last = peer.lastHandshakeMessage, elapsed(since: last, at: now) < ProtocolConstants.rekeyTimeout {
      // Staged packets must not depend on the next packet to retry: the response that was sent may never be confirmed.
      if peer.retransmitAt == nil, hasStaged(peer) { peer.retransmitAt = last + ProtocolConstants.rekeyTimeout + entropy.jitter() }
      return
    }
    if now < peer.initiatesFrom {
      peer.retransmitAt = peer.initiatesFrom
      return
    }
    peer.hasHurried = false
    sendInitiation(peer, at: time, effects: &effects)
  }

  /// Sends an initiation to an address that is not the peer's endpoint: an answer from there moves the peer, as any authentic message does.
  /// Packets go to the endpoint meanwhile, and so does the next initiation, which follows if there is no answer. Without effect within five
  /// seconds of a handshake message, while another handshake is under way, and for a peer without an endpoint.
  func probe(_ peer: Peer, at address: DatagramAddress, at time: EngineTime, effects: inout [EngineEffect]) {
    let now = time.moment.nanoseconds
    let isTooEarly = peer.lastHandshakeMessage.map { elapsed(since: $0, at: now) < ProtocolConstants.rekeyTimeout } ?? false
    guard !isTooEarly, peer.retransmitAt == nil, now >= peer.initiatesFrom, endpoint(of: peer) != nil else { return }
    peer.attempts = 0
    peer.hasHurried = false
    sendInitiation(peer, to: address, at: time, effects: &effects)
  }

  /// `address`: instead of the peer's endpoint.
  private func sendInitiation(_ peer: Peer, to address: DatagramAddress? = nil, at time: EngineTime, effects: inout [EngineEffect]) {
    guard isUp, let identity, let endpoint = address ?? endpoint(of: peer) else { return }
    let now = time.moment.nanoseconds
    forgetInitiation(peer)
    let index = newIndex(for: peer)
    let timestamp = Timestamp(time, after: peer.lastTimestampSent)
    var message = [UInt8](repeating: 0, count: InitiationLayout.length)
    let initiation = message.withUnsafeMutableBytes { message in
      let initiation = Initiation(
        to: peer.identity, from: identity, localIndex: index, timestamp: timestamp, entropy: entropy, into: message)
      peer.cookieState.sign(message, macs: peer.macs, at: now)
      return initiation
    }
    guard let initiation else {
      owners[index] = nil
      return
    }
    peer.lastTimestampSent = timestamp
    peer.lastInitiationSent = now
    peer.initiation = initiation
    peer.lastHandshakeMessage = now
    peer.retransmitAt = now + ProtocolConstants.rekeyTimeout + entropy.jitter()
    transmit(message, to: endpoint, peer, at: now, effects: &effects)
  }

  /// Sends an empty packet in the session, or an initiation if there is none.
  func sendKeepalive(_ peer: Peer, at time: EngineTime, effects: inout [EngineEffect]) {
    let now = time.moment.nanoseconds
    var record: [UInt8] = []
    var wantsRekey = false
    let room = TransportCipher.headroom
    inSendingSection {
      shared.follow(peer.send)
      guard let endpoint = peer.send.pointee.endpoint, let session = peer.send.pointee.session, session.pointee.canSend(at: now) else {
        return
      }
      withUnsafeTemporaryAllocation(byteCount: room + TransportCipher.tailroom, alignment: 16) { buffer in
        var ticket = SendTicket(1, of: session, peer.send, to: endpoint)
        let length = ticket.seal(0, at: buffer.address(room), mtu: 0)
        record = Array(buffer[(room - ProtocolConstants.transportHeader)...].prefix(length))
      }
      wantsRekey = session.pointee.wantsRekey(at: now)
    }
    guard !record.isEmpty, let endpoint = endpoint(of: peer) else { return initiate(peer, isRetry: false, at: time, effects: &effects) }
    transmit(record, counting: false, to: endpoint, peer, at: now, effects: &effects)
    if wantsRekey { initiate(peer, isRetry: false, at: time, effects: &effects) }
  }

  /// Sends an authentic message of ours: it acknowledges received data. `counting`: it is counted, unless a ticket has done so.
  private func transmit(
    _ message: [UInt8], counting: Bool = true, to endpoint: DatagramAddress, _ peer: Peer, at now: UInt64, effects: inout [EngineEffect]
  ) {
    inSendingSection { peer.send.pointee.recordSent(at: now, peer.receive) }
    if counting { peer.send.pointee.sentBytes.add(UInt64(message.count), ordering: .relaxed) }
    effects.append(.transmit(message, to: endpoint, peer: peer.index))
  }

  func hasStaged(_ peer: Peer) -> Bool {
    var hasStaged = false
    inSendingSection { hasStaged = peer.send.pointee.hasStaged }
    return hasStaged
  }

  func endpoint(of peer: Peer) -> DatagramAddress? {
    var endpoint: DatagramAddress?
    inSendingSection {
      shared.follow(peer.send)
      endpoint = peer.send.pointee.endpoint
    }
    return endpoint
  }

  // MARK: - In

  /// Checks in the order of their cost: length and type, first MAC, load, and only then X25519. True if the message is a peer's.
  func take(_ message: UnsafeRawBufferPointer, from source: DatagramAddress, at time: EngineTime, effects: inout [EngineEffect]) -> Bool {
    let now = time.moment.nanoseconds
    guard let kind = HandshakeKind(message) else {
      counted.malformed &+= 1
      return false
    }
    guard isUp, let identity, let macs else { return false }
    if kind == .cookieReply { return takeCookieReply(message, at: time, effects: &effects) }
    guard macs.isFirstRight(message) else {
      counted.wrongMAC &+= 1
      return false
    }
    // A response without a matching initiation does not deserve a cookie either.
    if kind == .response, owners[message.word(at: ResponseLayout.receiver)] == nil {
      counted.unknownIndex &+= 1
      return false
    }
    let hasProof = cookies.isSecondRight(message, from: source, at: now, entropy: entropy)
    let verdict = admission.judge(source.address, hasProof: hasProof, at: now, entropy: entropy)
    guard verdict.isAcceptance else {
      counted.overLoad &+= 1
      if verdict == .prove {
        let reply = cookies.reply(to: message, from: source, macs: macs, at: now, entropy: entropy)
        effects.append(.transmit(reply, to: source, peer: nil))
      }
      return false
    }
    let isTaken =
      kind == .initiation
      ? takeInitiation(message, identity, from: source, at: time, effects: &effects)
      : takeResponse(message, identity, from: source, at: time, effects: &effects)
    if isTaken { admission.giveBack(verdict) } else { counted.refusedHandshakes &+= 1 }
    return isTaken
  }

  private func takeInitiation(
    _ message: UnsafeRawBufferPointer, _ identity: Identity, from source: DatagramAddress, at time: EngineTime,
    effects: inout [EngineEffect]
  ) -> Bool {
    let now = time.moment.nanoseconds
    guard let received = ReceivedInitiation(message, ours: identity), let peer = peers[received.initiator],
      let timestamp = received.timestamp(message, peer: peer.identity), timestamp > peer.latestTimestamp,
      peer.lastConsumed.map({ elapsed(since: $0, at: now) >= ProtocolConstants.initiationInterval }) ?? true
    else { return false }
    peer.latestTimestamp = timestamp
    peer.lastConsumed = now
    let index = newIndex(for: peer)
    var response = [UInt8](repeating: 0, count: ResponseLayout.length)
    let keys = response.withUnsafeMutableBytes { response in
      let keys = received.respond(to: peer.identity, localIndex: index, entropy: entropy, into: response)
      peer.cookieState.sign(response, macs: peer.macs, at: now)
      return keys
    }
    guard let keys else {
      owners[index] = nil
      return false
    }
    // Data in the same batch may have confirmed the previous session, which this one would replace.
    takeConfirmation(of: peer, at: time, effects: &effects)
    heard(from: source, message.count, peer, at: now)
    peer.lastHandshakeMessage = now
    let session = Session(keys, localIndex: index, remoteIndex: received.remoteIndex, peer: peer.index, at: now, isInitiator: false)
    beginAsResponder(session, peer)
    peer.forgetAt = now + ProtocolConstants.forgetKeysAfter
    transmit(response, to: endpoint(of: peer) ?? source, peer, at: now, effects: &effects)
    rearm(peer)
    return true
  }

  private func takeResponse(
    _ message: UnsafeRawBufferPointer, _ identity: Identity, from source: DatagramAddress, at time: EngineTime,
    effects: inout [EngineEffect]
  ) -> Bool {
    let now = time.moment.nanoseconds
    let index = message.word(at: ResponseLayout.receiver)
    guard let owner = owners[index], let peer = peer(at: owner), let initiation = peer.initiation, initiation.localIndex == index,
      let (keys, remoteIndex) = initiation.keys(from: message, peer: peer.identity, ours: identity)
    else { return false }
    // The session takes over the index.
    peer.initiation = nil
    heard(from: source, message.count, peer, at: now, asked: endpoint(of: peer))
    beginAsInitiator(
      Session(keys, localIndex: index, remoteIndex: remoteIndex, peer: peer.index, at: now, isInitiator: true), peer)
    peer.forgetAt = now + ProtocolConstants.forgetKeysAfter
    complete(peer, at: time)
    // The responder must not send before it has received a packet in the new session.
    if !flush(peer, effects: &effects) { sendKeepalive(peer, at: time, effects: &effects) }
    rearm(peer)
    return true
  }

  private func takeCookieReply(_ message: UnsafeRawBufferPointer, at time: EngineTime, effects: inout [EngineEffect]) -> Bool {
    let now = time.moment.nanoseconds
    guard let owner = owners[message.word(at: CookieReplyLayout.receiver)], let peer = peer(at: owner) else {
      counted.unknownIndex &+= 1
      return false
    }
    // No state of the peer changes: a cookie reply proves that its sender saw our message, not the sender's identity.
    guard peer.cookieState.take(message, macs: peer.macs, at: now) else {
      counted.refusedHandshakes &+= 1
      return false
    }
    // Resend the initiation with the cookie at once, but at most once between two retransmissions by the timer.
    if peer.initiation != nil, !peer.hasHurried {
      peer.hasHurried = true
      sendInitiation(peer, at: time, effects: &effects)
      rearm(peer)
    }
    return true
  }

  /// An authentic handshake message arrived: its source becomes the peer's endpoint.
  ///
  /// `asked`: where our message went that this one answers. A first message of the peer from there has come to the address from which we
  /// have asked: the routing table has just chosen it, and need not be asked about it.
  private func heard(from source: DatagramAddress, _ count: Int, _ peer: Peer, at now: UInt64, asked: DatagramAddress? = nil) {
    inReceivingSection(of: peer) {
      let receiveState = peer.receive
      if receiveState.pointee.source != source {
        let isKnown = receiveState.pointee.source == nil && asked == source.remote
        receiveState.pointee.source = source
        if !isKnown { shared.move(peer.send, to: source) }
      }
      receiveState.pointee.receivedBytes &+= UInt64(count)
      receiveState.pointee.recordReceived(at: now, peer.send)
    }
  }

  /// The handshake is complete: both sides have the session.
  func complete(_ peer: Peer, at time: EngineTime) {
    peer.retransmitAt = nil
    peer.attempts = 0
    peer.lastHandshake = (time.wallSeconds, time.wallNanoseconds)
  }

  /// Tells the data path to send staged packets. False if there are none.
  func flush(_ peer: Peer, effects: inout [EngineEffect]) -> Bool {
    var hasStaged = false
    inSendingSection {
      hasStaged = peer.send.pointee.hasStaged
      peer.send.pointee.hasStaged = false
    }
    if hasStaged { effects.append(.flush(peer.index)) }
    return hasStaged
  }
}
