import Glibc
import KeyMemory
import NetworkTypes
import TestSupport
import Testing

@testable import WireGuardEngine

private let canRun = canMakeNamespaces && access("/dev/net/tun", R_OK | W_OK) == 0 && (try? shell("command -v wireguard-go wg ip")) != nil

/// The engine on a UDP socket of its own against Debian's wireguard-go, whose kernel answers pings: both sides of every message.
@Suite("interoperation with wireguard-go", .serialized, .enabled(if: canRun, "needs wireguard-go, wg, ip, /dev/net/tun and namespaces"))
struct WireGuardGoTests {
  /// wireguard-go as 10.7.0.2 and fd07::2 behind 127.0.0.1:51702, in namespaces of its own; gone with the namespace.
  private func lab(keepalive: Bool = false, psk: Bool = false, _ body: (SimulatedNode, SimulatedNode, UDPSocket) throws -> Void) throws {
    let folder = try TemporaryFolder()
    try inNamespaces(mounts: true) {
      try bind(folder.path, over: "/run")
      let node = SimulatedNode("we", "127.0.0.1:51701")
      let other = SimulatedNode("they", "127.0.0.1:51702")
      let key = psk ? Entropy.system.ephemeral() : nil
      let socket = try UDPSocket(port: 51701)
      try shell("ip link set lo up; setsid wireguard-go rw7 > /dev/null 2>&1 < /dev/null")
      defer { _ = try? shell("ip link del rw7; sleep 0.2") }
      try write(other.secret, to: folder.path + "/key")
      if let key { try write(key, to: folder.path + "/psk") }
      try shell(
        """
        wg set rw7 private-key \(folder.path)/key listen-port 51702 peer \(base64(node.publicKey.bytes)) \
        \(psk ? "preshared-key \(folder.path)/psk" : "") allowed-ips 10.7.0.1/32,fd07::1/128 endpoint 127.0.0.1:51701 \
        \(keepalive ? "persistent-keepalive 1" : "")
        ip address add 10.7.0.2/24 dev rw7; ip address add fd07::2/64 dev rw7 nodad; ip link set rw7 mtu 1420 up
        # The kernel takes packets to the address from a moment on that comes later on a busy machine.
        until ip -6 route show table local | grep -q fd07::2; do sleep 0.01; done
        """)
      node.start(at: now())
      node.addPeer(other, "10.7.0.2/32", "fd07::2/128", psk: key, at: now())
      try body(node, other, socket)
    }
  }

  @Test(
    "as initiator: handshake, keepalive and pings of all sizes, IPv4 and IPv6, with and without a preshared key", arguments: [false, true])
  func initiator(psk: Bool) throws {
    try lab(psk: psk) { node, _, socket in
      let sizes = [28, 64, 100, 500, 1279, 1280, 1408, 1419, 1420]
      for (i, size) in sizes.enumerated() {
        node.send([echo(size, UInt16(i))], at: now())
        socket.pump(node, until: { node.delivered.count > i })
      }
      #expect(node.delivered.map(\.count) == sizes)
      for (i, reply) in node.delivered.enumerated() {
        // An echo reply with what we sent.
        #expect(reply[20] == 0 && Array(reply[24...]) == Array(echo(sizes[i], UInt16(i))[24...]))
      }
      node.send([echo6()], at: now())
      socket.pump(node, until: { node.delivered.last?[0] == 0x60 })
      #expect(node.delivered.last?[40] == 129)
      #expect(node.sent.filter { $0[0] == 1 }.count == 1)
      let handshake = try shell("wg show rw7 latest-handshakes")
      #expect(handshake.split(separator: "\t").last?.hasPrefix("0") == false)

    }
  }

  @Test("as responder: it begins, and its keepalives arrive; pings pass the other way") func responder() throws {
    try lab(keepalive: true) { node, other, socket in
      socket.pump(node, until: { node.keepalives > 0 })
      #expect(node.keepalives > 0)
      #expect(kinds(node.sent) == [2])
      #expect(node.peer(other).lastHandshakeSeconds > 0)
      node.send([echo(84, 1)], at: now())
      socket.pump(node, until: { !node.delivered.isEmpty })
      #expect(node.delivered.map(\.count) == [84])
      #expect(kinds(node.sent) == [2, 4])
      #expect(node.engine.drops == EngineDrops())
    }
  }

  @Test("we move to another port: it follows, and answers there") func roaming() throws {
    try lab { node, _, socket in
      node.send([echo(84, 1)], at: now())
      socket.pump(node, until: { node.delivered.count == 1 })
      let other = try UDPSocket(port: 51709)
      node.send([echo(84, 2)], at: now())
      other.pump(node, until: { node.delivered.count == 2 })
      #expect(node.delivered.count == 2)
      let endpoints = try shell("wg show rw7 endpoints")
      #expect(endpoints.contains("127.0.0.1:51709"))
    }
  }

  // MARK: - The world

  private func now() -> Moment {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return Moment(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
  }

  private func write(_ secret: SecretBytes, to path: String) throws {
    try shell("umask 077; echo \(base64(secret.withUnsafeBytes { Array($0) })) > \(path)")
  }

  private func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = (0..<3).reduce(0) { $0 << 8 | (start + $1 < bytes.count ? Int(bytes[start + $1]) : 0) }
      for i in 0..<4 { text.append(start + i <= bytes.count ? digits[group >> (18 - 6 * i) & 63] : "=") }
    }
    return text
  }

  /// An ICMP echo request of this length.
  private func echo(_ length: Int, _ number: UInt16) -> [UInt8] {
    var packet = innerPacket(from: "10.7.0.1", to: "10.7.0.2", length: length, fill: UInt8(truncatingIfNeeded: number &* 37 &+ 1))
    packet.replaceSubrange(1..<2, with: [0])
    packet.replaceSubrange(4..<12, with: [0, 0, 0, 0, 64, 1, 0, 0])
    let header = checksum(Array(packet[..<20]))
    packet.replaceSubrange(10..<12, with: [UInt8(header >> 8), UInt8(header & 255)])
    packet.replaceSubrange(20..<28, with: [8, 0, 0, 0, 7, 7, UInt8(number >> 8), UInt8(number & 255)])
    let body = checksum(Array(packet[20...]))
    packet.replaceSubrange(22..<24, with: [UInt8(body >> 8), UInt8(body & 255)])
    return packet
  }

  private func echo6() -> [UInt8] {
    var packet = innerPacket(from: "fd07::1", to: "fd07::2", length: 104)
    packet[6] = 58
    packet[7] = 64
    packet.replaceSubrange(40..<48, with: [128, 0, 0, 0, 7, 7, 0, 1])
    let sum = checksum(Array(packet[8..<40]) + [0, 0, 0, 64, 0, 0, 0, 58] + Array(packet[40...]))
    packet.replaceSubrange(42..<44, with: [UInt8(sum >> 8), UInt8(sum & 255)])
    return packet
  }

  private func checksum(_ bytes: [UInt8]) -> UInt16 {
    var sum: UInt32 = 0
    for i in stride(from: 0, to: bytes.count, by: 2) { sum += UInt32(bytes[i]) << 8 + (i + 1 < bytes.count ? UInt32(bytes[i + 1]) : 0) }
    while sum >> 16 != 0 { sum = sum & 0xffff + sum >> 16 }
    return ~UInt16(truncatingIfNeeded: sum)
  }

  /// A socket on loopback that does for a node what the data path does, one datagram at a time.
  private final class UDPSocket {
    private let descriptor: Int32

    init(port: UInt16) throws {
      descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
      var name = Self.name(port)
      let status = withUnsafePointer(to: &name) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
      }
      try #require(descriptor >= 0 && status == 0)
    }

    deinit { close(descriptor) }

    private static func name(_ port: UInt16) -> sockaddr_in {
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_port = port.bigEndian
      name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      return name
    }

    /// Carries datagrams and timers until the condition holds, twenty seconds at most.
    func pump(_ node: SimulatedNode, until isDone: () -> Bool) {
      let suite = WireGuardGoTests()
      let end = suite.now() + .seconds(20)
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while !isDone(), suite.now() < end {
        for (to, bytes) in node.outbox {
          var name = Self.name(to.port)
          _ = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
              sendto(descriptor, bytes, bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
          }
        }
        node.outbox = []
        var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&poller, 1, 20) > 0 else {
          node.advance(at: suite.now())
          continue
        }
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count >= 0 { node.receive(Array(buffer[..<count]), from: datagramAddress("127.0.0.1:51702"), at: suite.now()) }
      }
    }
  }
}
