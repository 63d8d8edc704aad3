import KeyMemory
import NetworkTypes
import SeededRandom

@testable import WireGuardEngine

/// Nodes, the way between them, and simulated time. What the way does to datagrams is drawn from a seed.
final class SimulatedNetwork {
  struct Faults {
    var loss = 0.0
    var duplication = 0.0
    var reordering = 0.0
    var corruption = 0.0
  }

  private struct Flight {
    let at: UInt64
    let order: Int
    let bytes: [UInt8]
    let from: DatagramAddress
    let to: DatagramAddress
  }

  var nodes: [SimulatedNode]
  var now = Moment(nanoseconds: 1_000_000_000)
  var faults = Faults()
  /// One way.
  var latency: UInt64 = 10_000_000
  /// The deadlines at which a node was advanced by itself.
  var wakeUps: [(node: String, at: Moment, reason: EngineDeadline.Reason)] = []
  /// Whether a node takes what arrives from another at the same moment as one batch.
  var takesTogether = false
  /// Drops what it says.
  var filter: (_ from: DatagramAddress, _ bytes: [UInt8]) -> Bool = { _, _ in true }
  private var flights: [Flight] = []
  private var launched = 0
  private var random: SplitMix64

  init(_ nodes: [SimulatedNode], seed: UInt64 = 1) {
    self.nodes = nodes
    random = SplitMix64(seed: seed)
  }

  /// Runs until nothing is left before `end`.
  func run(until end: Moment) {
    while true {
      for node in nodes { launch(node) }
      let flight = flights.indices.min { (flights[$0].at, flights[$0].order) < (flights[$1].at, flights[$1].order) }
      let deadlines = nodes.compactMap { node in node.engine.nextDeadline.map { (node, $0) } }
      let deadline = deadlines.min { $0.1.moment < $1.1.moment }
      if let flight, flights[flight].at <= deadline?.1.moment.nanoseconds ?? .max {
        guard flights[flight].at <= end.nanoseconds else { break }
        let arrived = flights.remove(at: flight)
        now = max(now, Moment(nanoseconds: arrived.at))
        var batch = [arrived.bytes]
        if takesTogether {
          let others = flights.filter { $0.at == arrived.at && $0.from == arrived.from && $0.to == arrived.to }
          batch += others.sorted { $0.order < $1.order }.map(\.bytes)
          flights.removeAll { $0.at == arrived.at && $0.from == arrived.from && $0.to == arrived.to }
        }
        nodes.first { $0.address == arrived.to }?.receive(batch, from: arrived.from, at: now)
      } else if let (node, due) = deadline {
        guard due.moment <= end else { break }
        now = max(now, due.moment)
        wakeUps.append((node.name, now, due.reason))
        node.advance(at: now)
      } else {
        break
      }
    }
    now = end
  }

  func run(for seconds: Double) { run(until: now + .nanoseconds(Int64(seconds * 1e9))) }

  func send(_ node: SimulatedNode, _ packets: [[UInt8]]) {
    node.send(packets, at: now)
    launch(node)
  }

  /// Takes out what is under way to an address, in the order in which it was sent.
  func takeFlights(to address: DatagramAddress) -> [[UInt8]] {
    defer { flights.removeAll { $0.to == address } }
    return flights.filter { $0.to == address }.sorted { $0.order < $1.order }.map(\.bytes)
  }

  private func launch(_ node: SimulatedNode) {
    let outbox = node.outbox
    node.outbox = []
    for (to, bytes) in outbox where filter(node.address, bytes) {
      for _ in 0..<(random.chance(faults.duplication) ? 2 : 1) where !random.chance(faults.loss) {
        var bytes = bytes
        if random.chance(faults.corruption), !bytes.isEmpty {
          bytes[Int(random.next() % UInt64(bytes.count))] ^= 1 << UInt8(random.next() % 8)
        }
        let detour = random.chance(faults.reordering) ? random.next() % 200_000_000 : 0
        flights.append(Flight(at: now.nanoseconds + latency + detour, order: launched, bytes: bytes, from: node.address, to: to))
        launched += 1
      }
    }
  }
}

/// Two nodes that know each other: 10.0.0.1 and fd00::1 at `a`, 10.0.0.2 and fd00::2 at `b`.
struct Pair {
  let a: SimulatedNode
  let b: SimulatedNode
  let network: SimulatedNetwork

  init(seed: UInt64 = 1, psk: SecretBytes? = nil, bKnowsA: Bool = true, keepalive: UInt16? = nil, senders: Int = 1) {
    a = SimulatedNode("a", "192.0.2.1:1001", senders: senders)
    b = SimulatedNode("b", "198.51.100.2:1002")
    network = SimulatedNetwork([a, b], seed: seed)
    a.start(at: network.now)
    b.start(at: network.now)
    a.addPeer(b, "10.0.0.2/32", "fd00::2/128", keepalive: keepalive, psk: psk, at: network.now)
    b.addPeer(a, "10.0.0.1/32", "fd00::1/128", endpoint: bKnowsA, psk: psk, at: network.now)
  }

  let aToB = innerPacket(from: "10.0.0.1", to: "10.0.0.2")
  let bToA = innerPacket(from: "10.0.0.2", to: "10.0.0.1")

  /// A session, begun by `a`, and 100 ms of quiet.
  func connect() {
    network.send(a, [aToB])
    network.run(for: 0.1)
  }
}
