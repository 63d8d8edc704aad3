internal import KeyMemory
internal import LinuxIO
internal import NetworkTypes
internal import WireGuardControl
internal import WireGuardEngine

/// One handshake between two engines in memory, for a packet that waits for it and arrives, by a process that waits for an interface: the
/// same code is in memory then, and the types of the Swift runtime exist, when a tunnel's first handshake needs them. Nothing of it
/// remains, and nothing depends on its result.
enum WarmUp {
  private static let near = DatagramAddress(IPAddress(v4: 0x7f00_0001), port: 1)
  /// An IPv4 packet of 28 bytes (UDP) between documentation addresses.
  private static let packet: [UInt8] = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2, 0, 7, 0, 7, 0, 8, 0, 0]

  /// Bytes before a payload and behind it, as sealing and opening need them.
  private static let (lead, tail) = (128, 1024)

  /// Whether the packet arrived.
  @discardableResult
  static func run() -> Bool {
    guard let key = SecretBytes(bytes: Array(repeating: 7, count: 32)) else { return false }
    let engines = [Engine(), Engine()]
    var effects: [EngineEffect] = []
    for engine in engines {
      engine.apply(EngineChange(privateKey: .some(.some(key))), at: now, effects: &effects)
    }
    // Two engines of one key would not talk to each other.
    let other = text("private_key", Array(repeating: 9, count: 32))
    configure(engines[1], "set=1\n\(other)\n", &effects)
    for (engine, peer) in [(engines[0], engines[1]), (engines[1], engines[0])] {
      guard let key = peer.state.publicKey else { return false }
      let settings = "endpoint=127.0.0.1:1\npersistent_keepalive_interval=\(engine === engines[0] ? 5 : 0)\nallowed_ip=0.0.0.0/0\n"
      configure(engine, "set=1\n\(text("public_key", key.bytes))\(settings)\n", &effects)
    }
    for engine in engines.reversed() {
      effects = []
      engine.setUp(true, at: now, effects: &effects)
    }
    // The packet waits; then come the initiation, the response, and the packet, which confirms the session.
    var staged = StagedPackets()
    _ = record(of: packet, by: engines[0], &staged)
    engines[0].advance(to: now, effects: &effects)
    for turn in 1...2 {
      let messages = effects
      effects = []
      for case .transmit(let bytes, _, _) in messages {
        bytes.withUnsafeBytes { _ = engines[turn % 2].receiveHandshake($0, from: near, at: now, effects: &effects) }
      }
    }
    var arrives = false
    for case .flush(let peer) in effects {
      for waiting in staged.take(peer) {
        if let record = record(of: waiting, by: engines[0], &staged) { arrives = isOpened(record, by: engines[1]) }
      }
      engines[0].keepalive(peer, at: now, effects: &effects)
    }
    for engine in engines {
      engine.advance(to: now, effects: &effects)
      _ = UAPIReplyText(engine.state, port: 1, mark: 1, cipher: "").take()
    }
    return arrives
  }

  /// The packet, sealed; `nil`: it waits.
  private static func record(of packet: [UInt8], by engine: Engine, _ staged: inout StagedPackets) -> [UInt8]? {
    var record: [UInt8]?
    _ = engine.send(at: .now, mtu: 1420) { batch in
      var ticket: SendTicket?
      batch.inSection { section in
        packet.withUnsafeBytes { bytes in
          guard let peer = section.route(bytes) else { return }
          switch section.prepare(bytes, for: peer) {
          case .drop: break
          case .stage: staged.append(bytes, for: peer)
          case .ready(let drawn): ticket = drawn
          }
        }
      }
      guard var ticket else { return }
      withUnsafeTemporaryAllocation(byteCount: lead + packet.count + tail, alignment: 64) { buffer in
        guard let start = buffer.baseAddress else { return }
        packet.withUnsafeBytes { bytes in bytes.baseAddress.map { (start + lead).copyMemory(from: $0, byteCount: bytes.count) } }
        let length = batch.seal(packet.count, at: start + lead, with: &ticket)
        record = Array(buffer[(lead - ProtocolConstants.transportHeader)...].prefix(length))
      }
    }
    return record
  }

  private static func isOpened(_ record: [UInt8], by engine: Engine) -> Bool {
    var isOpened = false
    withUnsafeTemporaryAllocation(byteCount: 2 * (lead + record.count + tail), alignment: 64) { buffer in
      guard let start = buffer.baseAddress else { return }
      let packet = start + (2 * lead + record.count + tail)
      record.withUnsafeBytes { bytes in bytes.baseAddress.map { (start + lead).copyMemory(from: $0, byteCount: bytes.count) } }
      _ = engine.receive(at: .now) { batch in
        if case .packet = batch.open(start + lead, count: record.count, from: near, into: packet) { isOpened = true }
      }
    }
    return isOpened
  }

  private static var now: EngineTime { EngineTime(moment: .now, wallSeconds: 0, wallNanoseconds: 0) }

  private static func configure(_ engine: Engine, _ request: String, _ effects: inout [EngineEffect]) {
    let bytes = Array(request.utf8)
    guard let end = UAPICall.end(in: bytes), case .set(let change)? = try? UAPICall(Array(bytes[..<end])) else { return }
    engine.apply(change.engineChange(bytes), at: now, effects: &effects)
  }

  private static func text(_ name: String, _ value: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    return "\(name)=" + value.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] } + "\n"
  }
}
