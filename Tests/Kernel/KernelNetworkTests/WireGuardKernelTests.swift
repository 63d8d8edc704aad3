import Glibc
import KernelModel
import KernelNetwork
import KeyMemory
import NetworkTypes
import RoamwardCore
import TestSupport
import Testing

@Suite("WireGuard in the kernel", .needsNamespaces)
struct WireGuardKernelTests {
  private static let kernelHasIt = geteuid() == 0 && ((try? WireGuardKernel().isSupported()) ?? false)

  /// Key pairs from wg(8).
  private static func keyPair() throws -> (secret: SecretKey, public: WireGuardKey) {
    let secret = try shell("wg genkey").filter { !$0.isNewline }
    return (try Self.secret(secret), try key(try shell("echo '\(secret)' | wg pubkey")))
  }

  private static func secret(_ base64: String) throws -> SecretKey { try #require(SecretKey(base64: base64.filter { !$0.isNewline })) }

  private static func key(_ base64: String) throws -> WireGuardKey {
    let hex = try shell("echo '\(base64.filter { !$0.isNewline })' | base64 -d | od -An -v -tx1").split(whereSeparator: \.isWhitespace)
    return try #require(WireGuardKey(bytes: hex.compactMap { UInt8($0, radix: 16) }))
  }

  @Test("asking whether the kernel has it leaves nothing behind, and the answer is that of ip(8)")
  func support() throws {
    try inNamespaces {
      let before = try shell("ip -o link | cut -d: -f2")
      let canAdd = (try? shell("ip link add wgtest type wireguard && ip link del wgtest")) != nil
      #expect(try WireGuardKernel().isSupported() == canAdd)
      #expect(try shell("ip -o link | cut -d: -f2") == before)
    }
  }

  @Test("a link of another kind, or none, has no WireGuard state")
  func otherLinks() throws {
    try inNamespaces {
      try shell("ip link add lan0 type veth peer name far0")
      let wireGuard = try WireGuardKernel()
      #expect(try wireGuard.read("lan0") == nil)
      #expect(try wireGuard.read("gone0") == nil)
    }
  }

  @Test("without WireGuard in the kernel a link of it is refused", .disabled(if: kernelHasIt, "this kernel has WireGuard"))
  func refusal() throws {
    try inNamespaces {
      let result = try KernelApplier().apply([.addWireGuardLink("corp", .kernel)])
      #expect(result.map { $0.error?.code } == [EOPNOTSUPP])
      #expect(try shell("ip -o link").contains("corp") == false)
    }
  }

  @Test("a device is made, configured, read back and shown by wg(8) alike", .enabled(if: kernelHasIt, "this kernel has no WireGuard"))
  func device() throws {
    try inNamespaces {
      let own = try Self.keyPair()
      let peers = try (0..<3).map { _ in try Self.keyPair().public }
      let preshared = try Self.secret(try shell("wg genpsk"))
      let device = WireGuardDevice(
        engine: .kernel, privateKey: own.secret, publicKey: own.public, listenPort: 51900,
        peers: [
          WireGuardPeer(
            publicKey: peers[0], presharedKey: preshared, endpoint: Endpoint("192.0.2.1:51820"),
            allowedIPs: ["0.0.0.0/0", "::/0"].compactMap { IPPrefix($0) }, persistentKeepalive: 25),
          WireGuardPeer(
            publicKey: peers[1], endpoint: Endpoint("[2001:db8::1]:4242"), allowedIPs: ["10.1.0.0/16"].compactMap { IPPrefix($0) }),
          WireGuardPeer(publicKey: peers[2]),
        ])
      let steps: [Step] = [
        .addWireGuardLink("corp", .kernel), .setAlias(link: "corp", alias: "roamward:corp"), .configureWireGuard(link: "corp", device),
        .setMTU(link: "corp", mtu: 1380, was: 1420), .addAddress(try #require(InterfaceAddress("10.9.0.2/24")), link: "corp"),
        .setUp(link: "corp"),
      ]
      let applier = try KernelApplier()
      #expect(applier.apply(steps).map(\.outcome) == Array(repeating: .done, count: 6))
      let again = applier.apply(steps)
      #expect(again[0].outcome == .alreadySo && again[2].outcome == .alreadySo && again.allSatisfy { $0.error == nil })

      let wireGuard = try WireGuardKernel()
      let state = try #require(try wireGuard.read("corp"))
      #expect(device.isSatisfied(by: state))
      #expect(state.listenPort == 51900 && state.firewallMark == Ownership.mark && state.engine == .kernel && state.lastHandshake == nil)
      let shown = try shell("wg show corp dump").split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
      #expect(shown[0].suffix(2) == ["51900", "0x52000000"])
      let lines = Dictionary(uniqueKeysWithValues: try shown.dropFirst().map { (try Self.key($0[0]), $0) })
      #expect(lines[peers[0]]?[2...3] == ["192.0.2.1:51820", "0.0.0.0/0,::/0"] && lines[peers[0]]?.last == "25")
      #expect(try lines[peers[0]].map { try Self.secret($0[1]) } == preshared)
      #expect(lines[peers[1]]?[2...3] == ["[2001:db8::1]:4242", "10.1.0.0/16"] && lines[peers[1]]?[1] == "(none)")
      #expect(lines[peers[2]]?[2...3] == ["(none)", "(none)"])

      try wireGuard.setEndpoints([peers[0]: try #require(Endpoint("198.51.100.7:1"))], link: "corp")
      try wireGuard.poke(link: "corp", peers: [peers[1]], keepaliveSeconds: 11)
      let poked = try #require(try wireGuard.read("corp"))
      #expect(poked.peers.first { $0.publicKey == peers[0] }?.endpoint == Endpoint("198.51.100.7:1"))
      #expect(poked.peers.first { $0.publicKey == peers[1] }?.persistentKeepalive == 11)

      // As wg syncconf: one peer goes, the endpoint that roamed stays.
      var fewer = device
      fewer.peers.remove(at: 1)
      fewer.peers[1].allowedIPs = ["10.2.0.0/16"].compactMap { IPPrefix($0) }
      #expect(try wireGuard.configure(link: "corp", fewer))
      let changed = try #require(try wireGuard.read("corp"))
      #expect(fewer.isSatisfied(by: changed) && changed.peers.count == 2)
      #expect(changed.peers.first { $0.publicKey == peers[0] }?.endpoint == Endpoint("198.51.100.7:1"))
      #expect(try wireGuard.configure(link: "corp", fewer, settingEndpoints: true))
      #expect(try wireGuard.read("corp")?.peers.first { $0.publicKey == peers[0] }?.endpoint == Endpoint("192.0.2.1:51820"))
      #expect(applier.apply([.deleteLink("corp", .kernel)]).map(\.outcome) == [.done])

      try shell("ip link add corp type wireguard")
      #expect(applier.apply([.addWireGuardLink("corp", .kernel)]).map { $0.error?.code } == [EEXIST], "it has no alias of ours")
    }
  }

  @Test("many peers and a peer with many prefixes pass in parts", .enabled(if: kernelHasIt, "this kernel has no WireGuard"))
  func large() throws {
    try inNamespaces {
      try shell("ip link add corp type wireguard")
      let own = try Self.keyPair()
      var device = WireGuardDevice(engine: .kernel, privateKey: own.secret, publicKey: own.public)
      device.peers = try (0..<400).map { i in
        let key = try #require(WireGuardKey(bytes: [UInt8(i % 256), UInt8(i / 256)] + [UInt8](repeating: 9, count: 30)))
        return WireGuardPeer(publicKey: key, allowedIPs: [IPPrefix.host(IPAddress(v4: 0x0a00_0000 + UInt32(i)))])
      }
      device.peers[200].allowedIPs = (0..<3000).map { IPPrefix.host(IPAddress(v4: 0x0b00_0000 + UInt32($0))) }
      let wireGuard = try WireGuardKernel()
      #expect(try wireGuard.configure(link: "corp", device))
      let state = try #require(try wireGuard.read("corp"))
      #expect(state.peers.count == 400 && state.peers.map(\.allowedIPs.count).max() == 3000)
      #expect(device.isSatisfied(by: state))
      #expect(try !wireGuard.configure(link: "corp", device))
      #expect(try shell("wg show corp allowed-ips | tr ' ' '\\n' | grep -c '/32'").contains("3000") == false)
    }
  }

  @Test("a handshake between two namespaces shows in the state", .enabled(if: kernelHasIt, "this kernel has no WireGuard"))
  func handshake() throws {
    try inNamespaces {
      let (a, b) = (try Self.keyPair(), try Self.keyPair())
      // Both ends in one namespace, over loopback.
      let applier = try KernelApplier()
      let wireGuard = try WireGuardKernel()
      for (name, own, other, port, otherPort) in [("wga", a, b, UInt16(5001), 5002), ("wgb", b, a, UInt16(5002), 5001)] {
        let peer = WireGuardPeer(
          publicKey: other.public, endpoint: Endpoint("127.0.0.1:\(otherPort)"), allowedIPs: [.everything(.v4)])
        let device = WireGuardDevice(
          engine: .kernel, privateKey: own.secret, publicKey: own.public, listenPort: port, firewallMark: 0, peers: [peer])
        let results = applier.apply([.addWireGuardLink(name, .kernel), .configureWireGuard(link: name, device), .setUp(link: name)])
        #expect(results.allSatisfy { $0.outcome == .done })
      }
      try wireGuard.poke(link: "wga", peers: [b.public], keepaliveSeconds: 0)
      for _ in 1...50 where try wireGuard.read("wgb")?.lastHandshake == nil { usleep(100_000) }
      let state = try #require(try wireGuard.read("wgb"))
      #expect(abs((state.lastHandshake ?? 0) - Int64(time(nil))) < 60)
      #expect(state.peers[0].receivedBytes > 0 && state.peers[0].sentBytes > 0)
      #expect(try wireGuard.read("wga")?.peers[0].persistentKeepalive == 0)
    }
  }
}
