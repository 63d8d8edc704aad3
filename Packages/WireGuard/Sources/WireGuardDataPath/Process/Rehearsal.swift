internal import KeyMemory
internal import LinuxIO
internal import NetworkTypes
internal import WireGuardControl
internal import WireGuardEngine

/// One handshake between two engines in memory, by a process that waits for an interface: the same code is in memory then, and the types of
/// the Swift runtime exist, when a tunnel's first handshake needs them. Nothing of it remains, and nothing depends on its result.
enum Rehearsal {
  private static let near = DatagramAddress(IPAddress(v4: 0x7f00_0001), port: 1)

  static func run() {
    guard let key = SecretBytes(bytes: Array(repeating: 7, count: 32)) else { return }
    let engines = [Engine(), Engine()]
    var effects: [EngineEffect] = []
    for engine in engines {
      engine.apply(EngineChange(privateKey: .some(.some(key))), at: now, effects: &effects)
    }
    // Two engines of one key would not talk to each other.
    let other = text("private_key", Array(repeating: 9, count: 32))
    configure(engines[1], "set=1\n\(other)\n", &effects)
    for (engine, peer) in [(engines[0], engines[1]), (engines[1], engines[0])] {
      guard let key = peer.state.publicKey else { return }
      let settings = "endpoint=127.0.0.1:1\npersistent_keepalive_interval=\(engine === engines[0] ? 5 : 0)\nallowed_ip=0.0.0.0/0\n"
      configure(engine, "set=1\n\(text("public_key", key.bytes))\(settings)\n", &effects)
    }
    engines[1].setUp(true, at: now, effects: &effects)
    effects = []
    engines[0].setUp(true, at: now, effects: &effects)
    // The initiation, the response, and the keepalive that confirms it.
    for turn in 1...2 {
      let messages = effects
      effects = []
      for case .transmit(let bytes, _, _) in messages {
        bytes.withUnsafeBytes { _ = engines[turn % 2].receiveHandshake($0, from: near, at: now, effects: &effects) }
      }
    }
    for case .flush(let peer) in effects { engines[0].keepalive(peer, at: now, effects: &effects) }
    for engine in engines {
      engine.advance(to: now, effects: &effects)
      _ = UAPIReplyText(engine.state, port: 1, mark: 1, cipher: "").take()
    }
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
