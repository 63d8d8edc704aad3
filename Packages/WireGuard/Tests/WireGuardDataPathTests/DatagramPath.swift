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
    path.mtu = 1420
    sockets = try TunnelSockets.make(port: 0, mark: 0, pairs: pairs)
    try path.start()
    try path.use(sockets)
    apply(EngineChange(privateKey: .some(.some(secret))))
    var effects: [EngineEffect] = []
    engine.setUp(true, at: .current, effects: &effects)
    perform(effects)
  }

  deinit { path.stop() }

  func add(_ other: DatagramPath, _ allowed: String) throws {
    var peer = PeerChange(other.publicKey)
    peer.allowedIPs = [try #require(IPPrefix(allowed))]
    peer.endpoint = DatagramAddress(IPAddress(v4: UInt32(INADDR_LOOPBACK)), port: other.sockets.port)
    apply(EngineChange(peers: [peer]))
  }

  private func apply(_ change: EngineChange) {
    var effects: [EngineEffect] = []
    engine.apply(change, at: .current, effects: &effects)
    perform(effects)
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

  /// A turn of the control thread.
  func control() {
    cwg_event_clear(path.control)
    var effects: [EngineEffect] = []
    path.handshakes.takeAll { _ = engine.receiveHandshake($0, from: $1, at: .current, effects: &effects) }
    engine.advance(to: .current, effects: &effects)
    perform(effects)
  }

  private func perform(_ effects: [EngineEffect]) {
    for effect in effects {
      switch effect {
      case .transmit(let bytes, let destination, _):
        var address = destination.socketAddress
        _ = withUnsafeBytes(of: &address) {
          sendto(path.sockets[0].v4, bytes, bytes.count, 0, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), 16)
        }
      case .flush(let peer):
        // What was staged is lost. The peer still needs a first packet.
        forget(peer)
        var further: [EngineEffect] = []
        engine.keepalive(peer, at: .current, effects: &further)
        perform(further)
      case .dropStaged(let peer), .removed(let peer): forget(peer)
      }
    }
  }

  /// No thread draws a ticket meanwhile, so packets pile up.
  func whileNothingIsSent(_ body: () -> Void) {
    _ = engine.send(by: DataPath.controlSender, at: .now, mtu: 1420) { batch in batch.inSection { _ in body() } }
  }

  private func forget(_ peer: PeerIndex) {
    _ = engine.send(by: DataPath.controlSender, at: .now, mtu: 1420) { batch in batch.inSection { _ in _ = path.staged.take(peer) } }
  }
}

extension EngineTime {
  fileprivate static var current: EngineTime {
    var wall = timespec()
    clock_gettime(CLOCK_REALTIME, &wall)
    return EngineTime(moment: .now, wallSeconds: Int64(wall.tv_sec), wallNanoseconds: UInt32(truncatingIfNeeded: wall.tv_nsec))
  }
}
