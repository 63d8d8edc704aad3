import KeyMemory
import NetworkTypes
import WireGuardEngine

/// The memory of a silent peer, in bytes: the average of this many.
func bytesOfPeer(of peers: Int) throws -> Int {
  // The memory that the first use of the library takes is not a peer's.
  Node(number: 0).configure((1...100).compactMap { Node.change(of: $0) })
  let before = try residentBytes()
  let hub = Node(number: 0)
  hub.configure((1...peers).compactMap { Node.change(of: $0) })
  return (try residentBytes() - before) / peers
}

/// By the responder, from an initiation to a response: how many a second, and allocations for each.
func handshakes(rounds: Int) throws -> (rate: Double, allocations: Double) {
  let count = 500
  var rates: [Double] = []
  var allocations = 0
  var moment: UInt64 = 1_000_000_000
  for _ in 0..<rounds {
    let hub = Node(number: 0)
    let others = (1...count).map { Node(number: $0) }
    hub.configure(others.map { $0.change })
    var initiations: [(source: DatagramAddress, message: [UInt8])] = []
    for other in others {
      other.configure([hub.change(to: Node.address(0))])
      initiations.append((other.address, other.initiate(at: moment)))
    }
    var answered = 0
    let cost = measure {
      for (source, message) in initiations {
        // No more than a source's share, and the whole's: time goes on between them.
        moment += 20_000_000
        answered += hub.receive(message, from: source, at: moment)
      }
    }
    guard answered == count else { throw BenchmarkError("\(answered) of \(count) initiations were answered") }
    rates.append(Double(count) / cost.seconds)
    allocations = cost.allocations
  }
  return (median(rates), Double(allocations) / Double(count))
}

/// An engine with a key of its own, and a place in 198.18.0.0/15.
final class Node {
  let engine: Engine
  let address: DatagramAddress
  private let secret: SecretBytes
  private let publicKey: PublicKey

  /// `senders`: how many threads seal.
  init(number: Int, senders: Int = 1) {
    engine = Engine(senders: senders)
    address = Self.address(number)
    var bytes = [UInt8](repeating: 7, count: 32)
    for i in 0..<8 { bytes[8 + i] = UInt8(truncatingIfNeeded: number >> (8 * i)) }
    guard let secret = SecretBytes(bytes: bytes) else { preconditionFailure("32 bytes are a key") }
    self.secret = secret
    var effects: [EngineEffect] = []
    engine.apply(EngineChange(privateKey: .some(.some(secret))), at: Self.time(1), effects: &effects)
    engine.setUp(true, at: Self.time(1), effects: &effects)
    guard let key = engine.state.publicKey else { preconditionFailure("a key has a public key") }
    publicKey = key
  }

  static func address(_ number: Int) -> DatagramAddress { DatagramAddress(IPAddress(v4: 0xc612_0000 + UInt32(number)), port: 51820) }

  static func time(_ nanoseconds: UInt64) -> EngineTime {
    EngineTime(moment: Moment(nanoseconds: nanoseconds), wallSeconds: Int64(nanoseconds / 1_000_000_000), wallNanoseconds: 0)
  }

  /// As a peer, without a secret of its own: for a table of many.
  static func change(of number: Int) -> PeerChange? {
    var bytes = [UInt8](repeating: 9, count: 32)
    for i in 0..<8 { bytes[8 + i] = UInt8(truncatingIfNeeded: number >> (8 * i)) }
    guard let key = PublicKey(bytes: bytes) else { return nil }
    var change = PeerChange(key)
    change.endpoint = address(number)
    change.allowedIPs = allowedIPs(number)
    return change
  }

  /// An address within the tunnel.
  static func inner(_ number: Int) -> UInt32 { 0x0a00_0000 + UInt32(number) }

  private static func allowedIPs(_ number: Int) -> [IPPrefix] { [IPPrefix(IPAddress(v4: inner(number)), length: 32)].compactMap { $0 } }

  /// As a peer with an address within the tunnel.
  func change(number: Int) -> PeerChange {
    var change = PeerChange(publicKey)
    change.allowedIPs = Self.allowedIPs(number)
    return change
  }

  /// As the only peer, for all addresses.
  func gatewayChange(to endpoint: DatagramAddress) -> PeerChange {
    var change = change(to: endpoint)
    change.allowedIPs = [IPPrefix(IPAddress(v4: 0), length: 0)].compactMap { $0 }
    return change
  }

  var change: PeerChange { PeerChange(publicKey) }

  var removal: PeerChange {
    var change = change
    change.removes = true
    return change
  }

  func change(to endpoint: DatagramAddress) -> PeerChange {
    var change = PeerChange(publicKey)
    change.endpoint = endpoint
    change.persistentKeepalive = 25
    return change
  }

  func configure(_ peers: [PeerChange], at moment: UInt64 = 1) {
    var effects: [EngineEffect] = []
    engine.apply(EngineChange(peers: peers), at: Self.time(moment), effects: &effects)
    sent = effects
  }

  private var sent: [EngineEffect] = []

  /// The initiation that its keepalive began when it was given its peer; empty: none.
  func initiate(at moment: UInt64) -> [UInt8] {
    for case .transmit(let bytes, _, _) in sent { return bytes }
    return []
  }

  /// Takes a message of a handshake. Returns the number of messages that it answers with.
  func receive(_ message: [UInt8], from source: DatagramAddress, at moment: UInt64) -> Int {
    answers(message, from: source, at: moment).count
  }

  private func answers(_ message: [UInt8], from source: DatagramAddress, at moment: UInt64) -> [[UInt8]] {
    var effects: [EngineEffect] = []
    _ = message.withUnsafeBytes { engine.receiveHandshake($0, from: source, at: Self.time(moment), effects: &effects) }
    return effects.compactMap { if case .transmit(let bytes, _, _) = $0 { bytes } else { nil } }
  }

  /// Does the work that batches have left.
  func settle(at moment: UInt64) {
    var effects: [EngineEffect] = []
    engine.advance(to: Self.time(moment), effects: &effects)
  }

  /// Makes a session with a peer that it has been told of.
  func connect(to other: Node, at moment: UInt64) throws {
    for response in other.answers(initiate(at: moment), from: address, at: moment) {
      _ = answers(response, from: other.address, at: moment)
    }
    guard engine.state.peers.first?.lastHandshakeSeconds != 0 else { throw BenchmarkError("there is no session") }
  }
}
