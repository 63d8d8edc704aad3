import CWireGuardIO
import Glibc
import KeyMemory
import LinuxIO
import NetworkTypes
import Testing
import WireGuardControl
import WireGuardEngine

@testable import WireGuardDataPath

/// A data path with its engine, between datagram sockets instead of the queues of a TUN device, and UDP sockets at the loopback interface.
/// The test does the work of the control thread.
final class DatagramPath {
  let path: DataPath
  let publicKey: PublicKey
  private let engine: Engine
  private let secret: SecretBytes
  /// The test's end of each queue.
  private let ends: [FileDescriptor]
  private let sockets: TunnelSockets

  init(pairs: Int) throws {
    let key = PrivateKey()
    publicKey = key.publicKey
    secret = try #require(key.withUnsafeBytes { SecretBytes(bytes: $0) })
    var (ends, queues): ([FileDescriptor], [FileDescriptor]) = ([], [])
    for _ in 0..<pairs {
      var numbers: [Int32] = [0, 0]
      try #require(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0, &numbers) == 0)
      var room: Int32 = 1 << 20
      setsockopt(numbers[0], SOL_SOCKET, SO_SNDBUF, &room, 4)
      ends.append(FileDescriptor(owning: numbers[0]))
      queues.append(FileDescriptor(owning: numbers[1]))
    }
    self.ends = ends
    engine = Engine(senders: 1 + pairs, receivers: pairs) { $0 }
    let tun = TunDevice("none", queues[0], queues, hasVirtioHeader: false, offloads: [])
    path = try DataPath(engine, tun, wanting: [.socketSegmentation, .socketJoining])
    path.turns.mtu = 1420
    sockets = try TunnelSockets.make(port: 0, mark: 0, pairs: pairs)
    try path.start()
    try path.use(sockets)
    apply(EngineChange(privateKey: .some(.some(secret))))
    path.turns.take { engine, effects in engine.setUp(true, at: .now, effects: &effects) }
  }

  deinit { path.stop() }

  var port: UInt16 { sockets.port }
  var drops: EngineDrops { engine.drops }

  func add(_ other: DatagramPath, _ allowed: String) throws {
    var peer = PeerChange(other.publicKey)
    peer.allowedIPs = [try #require(IPPrefix(allowed))]
    peer.endpoint = DatagramAddress(IPAddress(v4: UInt32(INADDR_LOOPBACK)), port: other.sockets.port)
    apply(EngineChange(peers: [peer]))
  }

  private func apply(_ change: EngineChange) {
    path.turns.take { engine, effects in engine.apply(change, at: .now, effects: &effects) }
  }

  /// Puts a packet into a queue. False: there is no room.
  func put(_ packet: [UInt8], in queue: Int) -> Bool { send(ends[queue].number, packet, packet.count, Int32(MSG_DONTWAIT)) == packet.count }

  /// No packet waits in a queue.
  var hasReadAll: Bool {
    var byte: UInt8 = 0
    return path.tun.queues.allSatisfy { recv($0.number, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) < 0 }
  }

  /// The next packet that has come to a queue.
  func take(from queue: Int) -> [UInt8]? {
    var packet = [UInt8](repeating: 0, count: 65_536)
    let count = recv(ends[queue].number, &packet, packet.count, Int32(MSG_DONTWAIT))
    return count > 0 ? Array(packet[..<count]) : nil
  }

  /// A turn of the control thread, which does what is due too.
  func control() {
    cwg_event_clear(path.turns.event)
    path.turns.work()
    path.turns.take { engine, effects in engine.advance(to: .now, effects: &effects) }
  }

  /// No thread draws a ticket meanwhile, so packets pile up.
  func whileNothingIsSent(_ body: () -> Void) {
    _ = engine.send(by: ControlTurns.sender, at: .now, mtu: 1420) { batch in batch.inSection { _ in body() } }
  }
}

/// A UDP packet over IPv4: the flow, and a number.
func packet(from source: [UInt8], to target: [UInt8], flow: Int, _ number: UInt32, length: Int) -> [UInt8] {
  func bytes(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 255)] }
  var packet: [UInt8] = [0x45, 0] + bytes(length) + [0, 0, 0, 0, 64, 17, 0, 0] + source + target
  packet += [0x80, UInt8(flow), 0, 53] + bytes(length - 20) + [0, 0, UInt8(flow)]
  packet += (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
  return packet + [UInt8](repeating: 7, count: length - packet.count)
}

/// Whether the condition comes true within ten seconds; `rounds`: of a tenth of a millisecond.
func waits(for condition: () -> Bool, rounds: Int = 100_000) -> Bool {
  for _ in 0..<rounds {
    if condition() { return true }
    usleep(100)
  }
  return condition()
}
