internal import NetworkTypes

/// A WireGuard interface without sockets, clocks or threads: datagrams, packets and the time go in, datagrams and packets come out.
///
/// The caller owns the UDP socket, the TUN device or the network stack, and the clock. It does the following, on one thread:
/// * `send` for each inner packet, `receive` for each datagram, `advance` at `nextDeadline`;
/// * after each call, perform the outputs in their order;
/// * after each call, set its timer to `nextDeadline`.
///
/// The device starts up. Handshakes, rekeys, keepalives, cookies, roaming and the wiping of keys follow sections 5 and 6 of the WireGuard
/// paper (<https://www.wireguard.com/papers/wireguard.pdf>). They follow the kernel's timers where the paper leaves them open. Packets for
/// a peer without a session are staged: 128 for each peer, 4 MiB in all. Beyond that the oldest are dropped. Nothing here throws: any input
/// is carried, answered or counted in `drops`.
public final class Device {
  /// An action for the caller.
  public enum Output: Hashable, Sendable {
    /// Send this datagram over UDP.
    case datagram([UInt8], to: DatagramAddress)
    /// Deliver this IP packet. It is authentic, and its source is one of that peer's allowed IPs.
    case packet([UInt8], from: PublicKey)
  }

  private let engine: Engine
  private let mtu: Int
  private var staged = StagedPackets()
  /// The buffer of a record, reused so that a packet allocates only its output.
  private var record: [UInt8] = []
  private var plaintext: [UInt8] = []

  /// `mtu`: the MTU of the inner interface, in bytes. Packets are padded to multiples of 16, but not beyond it; 0 sets no limit.
  public init(privateKey: PrivateKey, mtu: Int = 1420, at time: EngineTime) {
    engine = Engine()
    self.mtu = mtu
    var effects: [EngineEffect] = []
    engine.apply(EngineChange(privateKey: .some(privateKey.secret)), at: time, effects: &effects)
    engine.setUp(true, at: time, effects: &effects)
  }

  // MARK: - Configuration

  /// Adds peers or changes existing ones, by public key. The sessions of other peers continue. A peer with a persistent keepalive and an
  /// endpoint starts a handshake at once.
  public func setPeers(_ peers: [PeerSettings], at time: EngineTime) -> [Output] {
    apply(EngineChange(peers: peers.map(\.change)), at: time)
  }

  /// Removes the peers, with their sessions and staged packets. Unknown keys are ignored.
  public func removePeers(_ keys: [PublicKey], at time: EngineTime) -> [Output] {
    let changes = keys.map { key in
      var change = PeerChange(key)
      change.removes = true
      return change
    }
    return apply(EngineChange(peers: changes), at: time)
  }

  /// The state of every peer, as `wg show` prints it.
  public var peers: [PeerStatus] { engine.state.peers.map { PeerStatus($0) } }

  /// Counters of dropped packets and messages, since the device was created.
  public var drops: EngineDrops { engine.drops }

  // MARK: - Packets and time

  /// Sends an IPv4 or IPv6 packet to the peer whose allowed IPs contain its destination.
  public func send(_ packet: [UInt8], at time: EngineTime) -> [Output] {
    var outputs: [Output] = []
    let outcome = engine.send(at: time.moment, mtu: mtu) { batch in
      self.carry(packet, to: nil, &batch, &outputs)
    }
    if outcome.needsControl { advance(to: time, &outputs) }
    return outputs
  }

  /// Takes the payload of a UDP datagram. `source`: its sender. It becomes the peer's endpoint after the datagram is authenticated.
  public func receive(_ datagram: [UInt8], from source: DatagramAddress, at time: EngineTime) -> [Output] {
    var outputs: [Output] = []
    var opened = Opened.dropped
    let outcome = engine.receive(at: time.moment) { opened = self.open(datagram, from: source, &$0) }
    var isToAdvance = outcome.needsControl
    switch opened {
    case .packet(let length, let peer):
      if let key = engine.publicKey(of: peer) {
        outputs.append(.packet(Array(plaintext[TransportCipher.headroom..<TransportCipher.headroom + length]), from: key))
      }
    case .handshake:
      var effects: [EngineEffect] = []
      if datagram.withUnsafeBytes({ engine.receiveHandshake($0, from: source, at: time, effects: &effects) }) { isToAdvance = true }
      perform(effects, at: time, &outputs)
    case .keepalive, .dropped: break
    }
    if isToAdvance { advance(to: time, &outputs) }
    return outputs
  }

  /// Performs due actions: retransmissions, keepalives, new handshakes, the wiping of keys. A call before the deadline does nothing.
  public func advance(to time: EngineTime) -> [Output] {
    var outputs: [Output] = []
    advance(to: time, &outputs)
    return outputs
  }

  /// The time of the next `advance`; `nil` if no timer is pending.
  public var nextDeadline: EngineDeadline? { engine.nextDeadline }

  // MARK: - The engine

  private func apply(_ change: EngineChange, at time: EngineTime) -> [Output] {
    var outputs: [Output] = []
    var effects: [EngineEffect] = []
    engine.apply(change, at: time, effects: &effects)
    perform(effects, at: time, &outputs)
    return outputs
  }

  private func advance(to time: EngineTime, _ outputs: inout [Output]) {
    var effects: [EngineEffect] = []
    engine.advance(to: time, effects: &effects)
    perform(effects, at: time, &outputs)
  }

  private func perform(_ effects: [EngineEffect], at time: EngineTime, _ outputs: inout [Output]) {
    for effect in effects {
      switch effect {
      case .transmit(let bytes, let destination, _): outputs.append(.datagram(bytes, to: destination))
      case .flush(let peer): flush(peer, at: time, &outputs)
      case .dropStaged(let peer), .removed(let peer): _ = staged.take(peer)
      }
    }
  }

  /// The peer has a session: sends its staged packets. If none are left, sends an empty packet, because the other side waits for a first
  /// packet.
  private func flush(_ peer: PeerIndex, at time: EngineTime, _ outputs: inout [Output]) {
    let packets = staged.take(peer)
    if packets.isEmpty {
      var effects: [EngineEffect] = []
      engine.keepalive(peer, at: time, effects: &effects)
      return perform(effects, at: time, &outputs)
    }
    let outcome = engine.send(at: time.moment, mtu: mtu) { batch in
      for packet in packets { self.carry(packet, to: peer, &batch, &outputs) }
    }
    if outcome.needsControl { advance(to: time, &outputs) }
  }

  /// `peer`: `nil`: the one whose allowed IPs contain the destination.
  private func carry(_ packet: [UInt8], to peer: PeerIndex?, _ batch: inout SendBatch, _ outputs: inout [Output]) {
    var verdict = SendVerdict.drop
    batch.inSection { section in
      packet.withUnsafeBytes { bytes in
        guard let peer = peer ?? section.route(bytes) else { return }
        verdict = section.prepare(bytes, for: peer)
        if case .stage = verdict { staged.append(bytes, for: peer) }
      }
    }
    if case .ready(var ticket) = verdict {
      let room = TransportCipher.headroom
      Self.make(&record, hold: room + packet.count + ProtocolConstants.paddingMultiple + TransportCipher.tailroom)
      record.replaceSubrange(room..<room + packet.count, with: packet)
      let length = record.withUnsafeMutableBytes { batch.seal(packet.count, at: $0.address(room), with: &ticket) }
      let start = room - ProtocolConstants.transportHeader
      outputs.append(.datagram(Array(record[start..<start + length]), to: ticket.endpoint))
    }
  }

  private func open(_ datagram: [UInt8], from source: DatagramAddress, _ batch: inout ReceiveBatch) -> Opened {
    let room = TransportCipher.headroom
    Self.make(&record, hold: room + datagram.count + TransportCipher.tailroom)
    Self.make(&plaintext, hold: room + datagram.count + TransportCipher.tailroom)
    record.replaceSubrange(room..<room + datagram.count, with: datagram)
    return record.withUnsafeMutableBytes { record in
      plaintext.withUnsafeMutableBytes { plaintext in
        batch.open(record.address(room), count: datagram.count, from: source, into: plaintext.address(room))
      }
    }
  }

  private static func make(_ buffer: inout [UInt8], hold count: Int) {
    if buffer.count < count { buffer = [UInt8](repeating: 0, count: count) }
  }
}
