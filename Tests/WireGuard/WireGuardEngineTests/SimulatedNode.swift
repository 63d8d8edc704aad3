import KeyMemory
import NetworkTypes

@testable import WireGuardEngine

/// A machine with an engine, and what the data path does around it, in memory.
final class SimulatedNode {
  let name: String
  let engine: Engine
  let secret: SecretBytes
  let publicKey: PublicKey
  var address: DatagramAddress
  var mtu = 1420
  /// Seconds by which its wall clock has been set.
  var clockStep: Int64 = 0
  /// Inner packets that came out, with the peer that each came from.
  var delivered: [[UInt8]] = []
  var keepalives = 0
  var staged: [PeerIndex: [[UInt8]]] = [:]
  var effects: [EngineEffect] = []
  /// Datagrams on their way out: the network takes them.
  var outbox: [(to: DatagramAddress, bytes: [UInt8])] = []
  /// Each datagram sent, for tests that look at the wire.
  var sent: [[UInt8]] = []

  /// The packet that an application sends at once for a delivered inner packet, before control has looked at anything; `nil`: none.
  var answer: ([UInt8]) -> [UInt8]? = { _ in nil }

  init(
    _ name: String, _ address: String, entropy: Entropy = .system, senders: Int = 1, receivers: Int = 1,
    replyRoute: @escaping @Sendable (DatagramAddress) -> DatagramAddress = { $0 }
  ) {
    self.name = name
    self.address = datagramAddress(address)
    engine = Engine(entropy: entropy, senders: senders, receivers: receivers, replyRoute: replyRoute)
    secret = Entropy.system.ephemeral()
    publicKey = Curve25519.publicKey(of: secret)
  }

  static func time(_ now: Moment) -> EngineTime {
    let total = now.nanoseconds
    return EngineTime(
      moment: now, wallSeconds: 1_700_000_000 + Int64(total / 1_000_000_000), wallNanoseconds: UInt32(total % 1_000_000_000))
  }

  private func time(_ now: Moment) -> EngineTime {
    let time = Self.time(now)
    return EngineTime(moment: now, wallSeconds: time.wallSeconds + clockStep, wallNanoseconds: time.wallNanoseconds)
  }

  func apply(_ change: EngineChange, at now: Moment) {
    var new: [EngineEffect] = []
    engine.apply(change, at: time(now), effects: &new)
    perform(new, at: now)
  }

  func start(at now: Moment) {
    apply(EngineChange(privateKey: .some(.some(secret))), at: now)
    up(at: now)
  }

  func up(_ isUp: Bool = true, at now: Moment) {
    var new: [EngineEffect] = []
    engine.setUp(isUp, at: time(now), effects: &new)
    perform(new, at: now)
  }

  func addPeer(
    _ other: SimulatedNode, _ allowed: String..., endpoint: Bool = true, keepalive: UInt16? = nil, psk: SecretBytes? = nil,
    at now: Moment = Moment(nanoseconds: 0)
  ) {
    var peer = PeerChange(other.publicKey)
    peer.allowedIPs = allowed.compactMap { IPPrefix($0) }
    peer.endpoint = endpoint ? other.address : nil
    peer.persistentKeepalive = keepalive
    if let psk { peer.presharedKey = .some(.some(psk)) }
    apply(EngineChange(peers: [peer]), at: now)
  }

  func advance(at now: Moment) {
    var new: [EngineEffect] = []
    engine.advance(to: time(now), effects: &new)
    perform(new, at: now)
  }

  /// Sends inner packets, as one batch.
  func send(_ packets: [[UInt8]], at now: Moment, asksControl: Bool = true) {
    let outcome = engine.send(at: now, mtu: mtu) { batch in
      for packet in packets { self.seal(packet, for: nil, &batch) }
    }
    if outcome.needsControl, asksControl { advance(at: now) }
  }

  private func seal(_ packet: [UInt8], for peer: PeerIndex?, _ batch: inout SendBatch) {
    func stage(_ peer: PeerIndex) {
      staged[peer, default: []].append(packet)
      if staged[peer, default: []].count > ProtocolConstants.maximumStaged { staged[peer]?.removeFirst() }
    }
    var verdict = SendVerdict.drop
    batch.inSection { section in
      guard let peer = peer ?? packet.withUnsafeBytes({ section.route($0) }) else { return }
      verdict = packet.withUnsafeBytes { section.prepare($0, for: peer) }
      if case .stage = verdict { stage(peer) }
    }
    guard case .ready(var ticket) = verdict else { return }
    var buffer = [UInt8](repeating: 0xee, count: 64 + packet.count + 15 + 528)
    buffer.replaceSubrange(64..<64 + packet.count, with: packet)
    let length = buffer.withUnsafeMutableBytes { batch.seal(packet.count, at: $0.address(64), with: &ticket) }
    post(Array(buffer[48..<48 + length]), to: ticket.endpoint)
  }

  /// Takes one datagram from the network.
  @discardableResult
  func receive(_ datagram: [UInt8], from source: DatagramAddress, at now: Moment) -> Opened {
    receive([datagram], from: source, at: now)[0]
  }

  /// Takes datagrams from the network as one batch, as the data path does: handshakes are control's, when the whole batch has been opened.
  @discardableResult
  func receive(_ datagrams: [[UInt8]], from source: DatagramAddress, at now: Moment) -> [Opened] {
    var opened: [Opened] = []
    let alreadyDelivered = delivered.count
    var isToAdvance = false
    if engine.shardCount == 1 {
      let outcome = engine.receive(at: now) { batch in
        for datagram in datagrams { opened.append(open(datagram, from: source, &batch)) }
      }
      precondition(outcome.needsControl == engine.hasPending)
      isToAdvance = outcome.needsControl
    } else {
      for datagram in datagrams {
        let shard = datagram.withUnsafeBytes {
          ReceiveBatch.shard(of: $0.address(0), count: $0.count, shardCount: engine.shardCount)
        }
        let outcome = engine.receive(shard: shard, at: now) { opened.append(open(datagram, from: source, &$0)) }
        if outcome.needsControl { isToAdvance = true }
      }
    }
    let answers = delivered[alreadyDelivered...].compactMap { answer($0) }
    if !answers.isEmpty { send(answers, at: now, asksControl: false) }
    if engine.hasPending { isToAdvance = true }
    for (datagram, opened) in zip(datagrams, opened) where opened == .handshake {
      var new: [EngineEffect] = []
      let deadline = engine.nextDeadline
      let mayChange = datagram.withUnsafeBytes { engine.receiveHandshake($0, from: source, at: time(now), effects: &new) }
      // A handshake of no peer needs no look at the timers, which a flood of it would pay for.
      precondition(mayChange || engine.nextDeadline == deadline)
      if mayChange { isToAdvance = true }
      perform(new, at: now)
    }
    if isToAdvance { advance(at: now) }
    return opened
  }

  /// Opens one datagram, and leaves what it tells of the peer to whoever looks first: the sending section or control.
  func open(_ datagram: [UInt8], from source: DatagramAddress, at now: Moment) {
    _ = engine.receive(at: now) { _ = open(datagram, from: source, &$0) }
  }

  private func open(_ datagram: [UInt8], from source: DatagramAddress, _ batch: inout ReceiveBatch) -> Opened {
    var opened = Opened.dropped
    var record = [UInt8](repeating: 0xdd, count: 48 + datagram.count + 512)
    record.replaceSubrange(48..<48 + datagram.count, with: datagram)
    var plaintext = [UInt8](repeating: 0xcc, count: 64 + datagram.count + 512)
    record.withUnsafeMutableBytes { record in
      plaintext.withUnsafeMutableBytes { plaintext in
        opened = batch.open(record.address(48), count: datagram.count, from: source, into: plaintext.address(64))
      }
    }
    precondition(record[48..<48 + datagram.count].elementsEqual(datagram))
    switch opened {
    case .packet(let length, _): delivered.append(Array(plaintext[64..<64 + length]))
    case .keepalive: keepalives += 1
    case .handshake, .dropped: break
    }
    return opened
  }

  private func perform(_ new: [EngineEffect], at now: Moment) {
    effects += new
    for effect in new {
      switch effect {
      case .transmit(let bytes, let to, _): post(bytes, to: to)
      case .flush(let peer):
        let packets = staged.removeValue(forKey: peer) ?? []
        if packets.isEmpty {
          var new: [EngineEffect] = []
          engine.keepalive(peer, at: time(now), effects: &new)
          perform(new, at: now)
        } else {
          send(packets, at: now)
        }
      case .dropStaged(let peer), .removed(let peer): staged[peer] = nil
      }
    }
  }

  private func post(_ bytes: [UInt8], to endpoint: DatagramAddress) {
    outbox.append((endpoint, bytes))
    sent.append(bytes)
  }

  func peer(_ other: SimulatedNode) -> PeerState {
    guard let peer = engine.state.peers.first(where: { $0.publicKey == other.publicKey }) else { fatalError("no such peer") }
    return peer
  }
}

/// Kinds of datagrams on the wire.
func kinds(_ datagrams: [[UInt8]]) -> [UInt8] { datagrams.map { $0[0] } }

extension Moment {
  static func seconds(_ seconds: Double) -> Moment { Moment(nanoseconds: UInt64(seconds * 1e9)) }
  var inSeconds: Double { Double(nanoseconds) / 1e9 }
}

/// An IPv4 or IPv6 packet that says how long it is, filled with bytes that tell it from others.
func innerPacket(from source: String, to destination: String, length: Int = 100, fill: UInt8 = 7) -> [UInt8] {
  let (source, destination) = (address(source), address(destination))
  if source.family == .v4 {
    var packet = [UInt8](repeating: fill, count: max(20, length))
    packet[0] = 0x45
    packet[2] = UInt8(packet.count >> 8)
    packet[3] = UInt8(packet.count & 255)
    packet[9] = 6
    packet.replaceSubrange(12..<16, with: source.bytes)
    packet.replaceSubrange(16..<20, with: destination.bytes)
    return packet
  }
  var packet = [UInt8](repeating: fill, count: max(40, length))
  packet[0] = 0x60
  packet[4] = UInt8((packet.count - 40) >> 8)
  packet[5] = UInt8((packet.count - 40) & 255)
  packet[6] = 6
  packet.replaceSubrange(8..<24, with: source.bytes)
  packet.replaceSubrange(24..<40, with: destination.bytes)
  return packet
}

func address(_ text: String) -> IPAddress {
  guard let address = IPAddress(text) else { fatalError("not an address: \(text)") }
  return address
}

func datagramAddress(_ text: String) -> DatagramAddress {
  guard let endpoint = Endpoint(text), let address = endpoint.address else { fatalError("not an endpoint: \(text)") }
  return DatagramAddress(address, port: endpoint.port)
}

extension SendBatch {
  /// Draws a ticket for one packet, for the peer that its address leads to; `nil`: it cannot be sent now.
  mutating func ticket(for packet: [UInt8], _ count: Int = 1) -> SendTicket? {
    var ticket: SendTicket?
    inSection { section in
      packet.withUnsafeBytes { packet in
        guard let peer = section.route(packet), case .ready(let drawn) = section.prepare(packet, count, for: peer) else { return }
        ticket = drawn
      }
    }
    return ticket
  }
}

extension UnsafeMutablePointer<SendingSession> {
  /// Seals with the session's next counter, without an engine.
  func seal(_ count: Int, at payload: UnsafeMutableRawPointer) -> Int {
    var state = SendState()
    return withUnsafeMutablePointer(to: &state) { state in
      var ticket = SendTicket(1, of: self, state, to: datagramAddress("192.0.2.1:1"))
      return ticket.seal(count, at: payload, mtu: 0)
    }
  }
}
