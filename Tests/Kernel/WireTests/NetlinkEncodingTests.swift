import KernelModel
import KeyMemory
import NetworkTypes
import RoamwardCore
import Testing
import Wire

@Suite("Netlink: what we say")
struct NetlinkEncodingTests {
  private static let names: [UInt32: String] = [7: "corp"]

  private func messages(_ encode: (inout NetlinkWriter) -> Void) -> [NetlinkMessage] {
    var writer = NetlinkWriter()
    encode(&writer)
    return Array(NetlinkMessages(writer.bytes))
  }

  @Test(
    "a route reads back as it was written",
    arguments: ["0.0.0.0/0", "10.0.0.0/8", "192.0.2.1/32", "::/0", "2001:db8::/32", "2001:db8::1/128"].compactMap { IPPrefix($0) })
  func routes(_ prefix: IPPrefix) {
    var routes = [
      Route(to: prefix, on: "corp", table: 21_003), Route(to: prefix, via: IPAddress("2001:db8::9"), on: "corp", table: 254, metric: 5),
      Route(to: prefix, kind: .throw, table: 21_999, routeProtocol: 4), Route(to: prefix, kind: .unreachable, table: 255, metric: .max),
    ]
    if prefix.family == .v4 { routes.append(Route(to: prefix, via: IPAddress("192.0.2.9"), on: "corp")) }
    for route in routes {
      let index: UInt32? = route.link == nil ? nil : 7
      let sent = messages {
        $0.addRoute(route, linkIndex: index, sequence: 1, flags: 4)
        $0.removeRoute(route, linkIndex: index, sequence: 2, flags: 0)
      }
      #expect(sent.map { Route($0, linkNames: Self.names) } == [route, route])
      #expect(sent.map(\.type) == [24, 25] && sent.map(\.sequence) == [1, 2] && sent.map(\.flags) == [0x605, 1])
      #expect(sent.map { RouteMessage.table(of: $0) } == [route.table, route.table])
    }
  }

  @Test("the bytes of a route are those that ip(8) sends")
  func routeBytes() throws {
    // strace of `ip route add 10.20.0.0/16 dev corp table 21001 proto 82` shows the same 52 bytes.
    let route = Route(to: try #require(IPPrefix("10.20.0.0/16")), on: "corp", table: 21_001)
    var writer = NetlinkWriter()
    writer.addRoute(route, linkIndex: 7, sequence: 0x0102_0304, flags: 4)
    #expect(
      writer.bytes
        == bytes(
          """
          34000000 1800 0506 04030201 00000000
          02100000 00 52 fd 01 00000000
          0800 0100 0a140000
          0800 0f00 09520000
          0800 0400 07000000
          """))
  }

  @Test("the bytes of the question for our firewall table are those that nft(8) sends")
  func tableBytes() {
    // strace of `nft list table inet roamward` shows the same message.
    var writer = NetlinkWriter()
    writer.getTable(named: "roamward", sequence: 0x0102_0304, flags: 4)
    #expect(
      writer.bytes
        == bytes(
          """
          24000000 010a 0500 04030201 00000000
          01 00 0000
          0d00 0100 726f616d7761726400 000000
          """))
  }

  @Test("rules, addresses and links read back as they were written")
  func others() throws {
    let rules = [
      RoutingRule(family: .v4, priority: 21_001, table: 21_001, mark: 0x5200_0000, mask: 0xff00_0000, isInverted: true),
      RoutingRule(family: .v6, priority: 1, table: 254, routeProtocol: 0),
      RoutingRule(family: .v6, priority: .max, table: .max, mark: 0, mask: 0xff00_0000, routeProtocol: 3),
    ]
    #expect(messages { for rule in rules { $0.addRule(rule, sequence: 1, flags: 0) } }.map { RoutingRule($0) } == rules)
    #expect(messages { for rule in rules { $0.removeRule(rule, sequence: 1, flags: 0) } }.map { RoutingRule($0) } == rules)

    for (text, flags) in [("192.0.2.5/24", UInt32(0x200)), ("2001:db8::5/64", 0x202), ("10.0.0.1/32", 0x200)] {
      let address = try #require(InterfaceAddress(text))
      let sent = messages {
        $0.addAddress(address, toLink: 7, sequence: 1, flags: 0)
        $0.removeAddress(address, fromLink: 7, sequence: 2, flags: 0)
      }
      #expect(
        sent.map { LinkAddress($0, linkNames: Self.names) } == [
          LinkAddress(link: "corp", address: address, flags: flags), LinkAddress(link: "corp", address: address),
        ])
    }

    let made = messages { $0.addLink(named: "corp", kind: "wireguard", sequence: 1, flags: 4) }
    #expect(made.map(\.flags) == [0x605] && Link(made[0]) == nil, "it has no index yet")
    #expect(made[0].payload.suffix(20) == bytes("14 00 12 80 0d 00 01 00") + Array("wireguard".utf8) + [0, 0, 0])
    let changed = messages {
      $0.setAlias("roamward:corp", ofLink: 7, sequence: 1, flags: 0)
      $0.setMTU(1380, ofLink: 7, sequence: 2, flags: 0)
      $0.setLink(7, isUp: true, sequence: 3, flags: 0)
      $0.deleteLink(7, sequence: 4, flags: 0)
    }
    #expect(changed.map(\.type) == [16, 16, 16, 17] && changed.map { $0.payload.dropFirst(4).first } == [7, 7, 7, 7])
    #expect(changed[2].payload.dropFirst(8) == [1, 0, 0, 0, 1, 0, 0, 0])
  }

  @Test("requests for tables are strict: a filter, and nothing in the header that the kernel would refuse")
  func dumps() {
    let sent = messages {
      $0.dumpLinks(sequence: 1)
      $0.dumpAddresses(sequence: 2)
      $0.dumpRoutes(.v6, table: 21_001, sequence: 3)
      $0.dumpRules(.v4, sequence: 4)
      $0.dumpNeighbours(sequence: 5)
    }
    #expect(sent.map(\.type) == [18, 22, 26, 34, 30] && sent.allSatisfy { $0.flags == 0x301 })
    #expect(Array(sent[2].payload) == bytes("0a00000000000000 00000000 08000f0009520000"))
  }

  // MARK: WireGuard

  private func secret(_ n: Int) throws -> SecretKey { try #require(SecretKey(bytes: try key(n).bytes)) }

  private func key(_ n: Int) throws -> WireGuardKey {
    try #require(WireGuardKey(bytes: [UInt8(truncatingIfNeeded: n), UInt8(truncatingIfNeeded: n >> 8)] + Array(repeating: 7, count: 30)))
  }

  /// The state of a kernel after the requests: they are read as if they were its answers.
  private func state(after change: WireGuardChange, limit: Int) -> (state: WireGuardState?, largest: Int, count: Int) {
    var reader = WireGuardStateReader()
    let parts = change.split(limit: limit)
    var largest = 0
    for part in parts {
      var writer = NetlinkWriter()
      writer.setWireGuard(link: "corp", part, family: 40, sequence: 1, flags: 4)
      largest = max(largest, writer.bytes.count)
      for message in NetlinkMessages(writer.bytes) {
        // WG_CMD_SET_DEVICE and GET_DEVICE have the same attributes.
        reader.read(NetlinkMessage(type: message.type, payload: [0] + message.payload.dropFirst()))
      }
    }
    return (reader.state, largest, parts.count)
  }

  @Test("a new device's peers arrive whole, however small the parts", arguments: [400, 1000, 24_000])
  func wireGuardParts(limit: Int) throws {
    let peers = try (0..<40).map { i in
      WireGuardPeer(
        publicKey: try key(i), presharedKey: i.isMultiple(of: 3) ? try secret(1000 + i) : nil,
        endpoint: i.isMultiple(of: 2) ? Endpoint("192.0.2.\(i):51820") : Endpoint("[2001:db8::\(i)]:51820"),
        allowedIPs: (0..<UInt32(i * 7)).map { IPPrefix.host(IPAddress(v4: 0x0a00_0000 + UInt32(i) << 12 + $0)) }
          + (i == 39 ? [.everything(.v6)] : []),
        persistentKeepalive: UInt16(i))
    }
    let device = WireGuardDevice(engine: .kernel, privateKey: try secret(5000), publicKey: try key(5001), listenPort: 51820, peers: peers)
    let change = WireGuardChange(from: nil, to: device)
    #expect(change.replacesPeers && change.privateKey == device.privateKey)
    let (state, largest, count) = state(after: change, limit: limit)
    #expect(largest <= limit && (limit > 20_000 || count > 10))
    let read = try #require(state)
    #expect(read.listenPort == 51820 && read.firewallMark == Ownership.mark)
    #expect(read.peers.map(\.publicKey) == peers.map(\.publicKey) && read.peers.map(\.allowedIPs) == peers.map(\.allowedIPs))
    #expect(read.peers.map(\.endpoint) == peers.map(\.endpoint) && read.peers.map(\.presharedKey) == peers.map(\.presharedKey))
    #expect(read.peers.map(\.persistentKeepalive) == peers.map(\.persistentKeepalive))
  }

  @Test("from one state to the next only what differs is sent, and roamed endpoints stay")
  func wireGuardDifference() throws {
    let device = WireGuardDevice(
      engine: .kernel, privateKey: try secret(5000), publicKey: try key(5001),
      peers: [
        WireGuardPeer(publicKey: try key(1), endpoint: Endpoint("192.0.2.1:1"), allowedIPs: [.everything(.v4)], persistentKeepalive: 25),
        WireGuardPeer(publicKey: try key(2), endpoint: Endpoint("192.0.2.2:2"), allowedIPs: [.everything(.v6)]),
      ])
    var state = WireGuardState(
      engine: .kernel, publicKey: device.publicKey, listenPort: 40_000, firewallMark: Ownership.mark,
      peers: device.peers.map {
        .init(publicKey: $0.publicKey, endpoint: $0.endpoint, allowedIPs: $0.allowedIPs, persistentKeepalive: $0.persistentKeepalive)
      })
    #expect(WireGuardChange(from: state, to: device).isEmpty)
    state.peers[0].endpoint = Endpoint("198.51.100.1:9")
    #expect(WireGuardChange(from: state, to: device).isEmpty, "it roamed")
    #expect(WireGuardChange(from: state, to: device, settingEndpoints: true).peers.compactMap(\.endpoint).count == 2)
    state.peers[1].endpoint = nil
    state.peers[1].presharedKey = try secret(77)
    let gone = try key(3)
    state.peers.append(.init(publicKey: gone))
    let change = WireGuardChange(from: state, to: device)
    #expect(change.privateKey == nil && change.firewallMark == nil && change.listenPort == nil && !change.replacesPeers)
    #expect(change.peers.map(\.isRemoved) == [true, false] && change.peers[0].publicKey == gone)
    #expect(change.peers[1].endpoint == Endpoint("192.0.2.2:2") && change.peers[1].presharedKey == .some(nil))
    #expect(!change.peers[1].replacesAllowedIPs && change.peers[1].persistentKeepalive == nil)
  }
}
