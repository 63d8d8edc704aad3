import NetworkTypes
import Testing
import WireGuardEngine

/// The interface for other packages, by what is public alone; `Engine`, which it drives, has the other tests.
@Suite("A device in memory")
struct DeviceTests {
  private final class End {
    let device: Device
    let key = PrivateKey()
    var address: DatagramAddress
    var delivered: [(packet: [UInt8], from: PublicKey)] = []

    init(_ address: String, at time: EngineTime) throws {
      self.address = try #require(DatagramAddress(address))
      device = Device(privateKey: key, at: time)
    }
  }

  /// Two ends, of which one knows where the other is; what they send arrives in order.
  private final class Lab {
    var now: UInt64 = 1_000_000_000
    let left: End
    let right: End
    /// Every datagram that was sent, and by whom.
    var sent: [(by: End, bytes: [UInt8])] = []
    var isCut = false

    var time: EngineTime {
      EngineTime(moment: Moment(nanoseconds: now), wallSeconds: 1_700_000_000 + Int64(now / 1_000_000_000), wallNanoseconds: 0)
    }

    init(preshared: PresharedKey? = nil, other: PresharedKey? = nil, keepalive: UInt16 = 0) throws {
      let start = EngineTime(moment: Moment(nanoseconds: 1_000_000_000), wallSeconds: 1_700_000_001, wallNanoseconds: 0)
      left = try End("192.0.2.1:51820", at: start)
      right = try End("[2001:db8::2]:51820", at: start)
      let (leftPrefix, rightPrefix) = (try #require(IPPrefix("10.0.0.1/32")), try #require(IPPrefix("10.0.0.2/32")))
      carry(
        right.device.setPeers([PeerSettings(publicKey: left.key.publicKey, presharedKey: other, allowedIPs: [leftPrefix])], at: time),
        of: right)
      carry(
        left.device.setPeers(
          [
            PeerSettings(
              publicKey: right.key.publicKey, presharedKey: preshared, endpoint: right.address, allowedIPs: [rightPrefix],
              persistentKeepalive: keepalive)
          ], at: time), of: left)
    }

    func carry(_ outputs: [Device.Output], of end: End) {
      for output in outputs {
        switch output {
        case .packet(let bytes, let peer): end.delivered.append((bytes, peer))
        case .datagram(let bytes, let destination):
          sent.append((end, bytes))
          let other = end === left ? right : left
          if isCut || destination.remoteEnd != other.address.remoteEnd { continue }
          carry(other.device.receive(bytes, from: end.address, at: time), of: other)
        }
      }
    }

    func send(_ packet: [UInt8], by end: End) { carry(end.device.send(packet, at: time), of: end) }

    /// Lets time pass until there is nothing to do, or this many seconds are over.
    func pass(seconds: UInt64) {
      let end = now + seconds * 1_000_000_000
      while true {
        let next = [left, right].compactMap { end in end.device.nextDeadline.map { (end, $0.moment.nanoseconds) } }.min { $0.1 < $1.1 }
        guard let (who, at) = next, at <= end else { break }
        now = max(now, at)
        carry(who.device.advance(to: time), of: who)
      }
      now = end
    }
  }

  private static func packet(_ length: Int, from: UInt8 = 1, to: UInt8 = 2, fill: UInt8 = 7) -> [UInt8] {
    [0x45, 0, UInt8(length >> 8), UInt8(length & 255), 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to]
      + [UInt8](repeating: fill, count: length - 20)
  }

  @Test("carries packets of every length both ways, after a handshake that the first one begins") func lengths() throws {
    let lab = try Lab()
    let packets = (20...1500).map { Self.packet($0, fill: UInt8($0 & 255)) } + [Self.packet(65_000)]
    for packet in packets { lab.send(packet, by: lab.left) }
    #expect(lab.right.delivered.map(\.packet) == packets)
    #expect(lab.right.delivered.allSatisfy { $0.from == lab.left.key.publicKey })
    let answers = [100, 1420, 20].map { Self.packet($0, from: 2, to: 1) }
    for packet in answers { lab.send(packet, by: lab.right) }
    #expect(lab.left.delivered.map(\.packet) == answers)
    #expect(lab.sent.filter { $0.bytes[0] == 1 }.count == 1 && lab.sent.filter { $0.bytes[0] == 2 }.count == 1)
    let peer = try #require(lab.left.device.peers.first)
    #expect(
      peer.lastHandshake == 1_700_000_001 && peer.publicKey == lab.right.key.publicKey && peer.receivedBytes > 0 && peer.sentBytes > 0)
  }

  @Test("keeps packets until the peer answers, the newest 128, and asks again every five seconds") func waiting() throws {
    let lab = try Lab()
    lab.isCut = true
    for i in 0..<200 { lab.send(Self.packet(100, fill: UInt8(i)), by: lab.left) }
    lab.pass(seconds: 12)
    #expect(lab.sent.count == 3 && lab.sent.allSatisfy { $0.bytes.count == 148 })
    lab.isCut = false
    lab.pass(seconds: 6)
    #expect(lab.right.delivered.map { $0.packet[99] } == (72..<200).map { UInt8($0) })
  }

  @Test("is silent where there is nothing to say, and keeps a session alive where that is asked for") func keepalive() throws {
    let silent = try Lab()
    silent.send(Self.packet(100), by: silent.left)
    silent.pass(seconds: 100)
    let count = silent.sent.count
    silent.pass(seconds: 10_000)
    #expect(silent.sent.count == count && silent.left.device.nextDeadline == nil)
    let alive = try Lab(keepalive: 25)
    alive.pass(seconds: 600)
    #expect(alive.sent.filter { $0.bytes[0] == 1 }.count >= 5 && alive.sent.filter { $0.bytes.count == 32 }.count >= 20)
  }

  @Test("answers a peer where it is now") func roaming() throws {
    let lab = try Lab()
    lab.send(Self.packet(100), by: lab.left)
    lab.left.address = try #require(DatagramAddress("198.51.100.7:4000"))
    lab.send(Self.packet(100), by: lab.left)
    lab.send(Self.packet(100, from: 2, to: 1), by: lab.right)
    #expect(lab.left.delivered.count == 1)
    #expect(lab.right.device.peers.first?.endpoint == lab.left.address)
  }

  @Test("a preshared key has to be the same at both ends", arguments: [true, false]) func preshared(isSame: Bool) throws {
    let key = PresharedKey()
    let lab = try Lab(preshared: key, other: isSame ? key : PresharedKey())
    lab.send(Self.packet(100), by: lab.left)
    #expect(lab.right.delivered.count == (isSame ? 1 : 0))
    #expect(isSame || lab.left.device.drops.refusedHandshakes == 1)
  }

  @Test("carries nothing from or to addresses that are nobody's, nothing twice, and nothing of a peer that is gone") func refusals() throws
  {
    let lab = try Lab()
    lab.send(Self.packet(100), by: lab.left)
    lab.send(Self.packet(100, from: 9), by: lab.left)
    #expect(lab.right.delivered.count == 1 && lab.right.device.drops.foreignSource == 1)
    lab.send(Self.packet(100, to: 9), by: lab.left)
    #expect(lab.left.device.drops.noPeer == 1)
    let last = try #require(lab.sent.last { $0.by === lab.left && $0.bytes[0] == 4 })
    #expect(lab.right.device.receive(last.bytes, from: lab.left.address, at: lab.time).isEmpty)
    #expect(lab.right.device.drops.replayed == 1)
    for bytes in [[], [4], [UInt8](repeating: 4, count: 31), [UInt8](repeating: 0, count: 65_535)] {
      #expect(lab.right.device.receive(bytes, from: lab.left.address, at: lab.time).isEmpty)
    }
    #expect(lab.right.device.send([], at: lab.time).isEmpty && lab.right.device.send([0x45], at: lab.time).isEmpty)
    #expect(lab.right.device.removePeers([lab.left.key.publicKey], at: lab.time).isEmpty && lab.right.device.peers.isEmpty)
    lab.send(Self.packet(100), by: lab.left)
    #expect(lab.right.delivered.count == 1 && lab.right.device.drops.unknownIndex == 1)
  }

  @Test("keys are 32 bytes, and a private key gives the public one of RFC 7748") func keys() throws {
    func bytes(_ digits: String) -> [UInt8] {
      let digits = Array(digits)
      return stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }
    // Section 6.1.
    let alice = try #require(PrivateKey(bytes: bytes("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")))
    #expect(alice.publicKey.bytes == bytes("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"))
    #expect(PrivateKey(bytes: [1, 2, 3]) == nil && PrivateKey(bytes: [UInt8](repeating: 0, count: 32)) == nil)
    #expect(PresharedKey(bytes: [UInt8](repeating: 0, count: 32)) == nil && PublicKey(bytes: [UInt8](repeating: 1, count: 31)) == nil)
    #expect(PrivateKey() != PrivateKey() && "\(PrivateKey())" == "\(PrivateKey())")
  }
}

extension DatagramAddress {
  /// As text: without our own end.
  fileprivate var remoteEnd: String { description }
}
