import KernelModel
import KeyMemory
import NetworkTypes
import RoamwardCore
import Testing
import Wire

/// Captured in a namespace with `lan0` (index 3 or so) as the commands in each test's comment made it.
@Suite("Netlink: what the kernel said")
struct NetlinkDecodingTests {
  private static let links = NetlinkMessages(CapturedRoutes.links).compactMap { Link($0) }
  private static let names = Dictionary(uniqueKeysWithValues: links.map { ($0.index.value, $0.name) })

  @Test("links: ip link add lan0 type veth peer far0; set lan0 address … mtu 1400 alias roamward:corp up")
  func links() throws {
    let lan = try #require(Self.links.first { $0.name == "lan0" })
    #expect(lan.kind == "veth" && lan.mtu == 1400 && lan.alias == "roamward:corp" && lan.hardwareType == 1)
    #expect(lan.address == MACAddress("02:00:00:00:00:01") && lan.isUp && lan.hasCarrier && !lan.isLoopback)
    let loopback = try #require(Self.links.first { $0.name == "lo" })
    #expect(loopback.isLoopback && loopback.hardwareType == 772 && loopback.mtu == 65536 && loopback.kind == nil)
  }

  @Test("addresses: the own one of a pair, flags of 32 bits")
  func addresses() {
    let addresses = NetlinkMessages(CapturedRoutes.addresses).compactMap { LinkAddress($0, linkNames: Self.names) }
    let text = addresses.map { "\($0.link) \($0.address)" }
    #expect(Set(text).isSuperset(of: ["lo 127.0.0.1/8", "lan0 192.0.2.5/24", "lan0 10.9.0.1/32", "lan0 2001:db8::5/64", "lo ::1/128"]))
    // IFA_F_PERMANENT and IFA_F_NODAD.
    #expect(addresses.first { $0.address.description == "2001:db8::5/64" }?.flags == 0x82)
  }

  @Test("routes: a gateway, several next hops, a gateway of the other family, one that leads nowhere, another table")
  func routes() {
    let all = [CapturedRoutes.routes4, CapturedRoutes.routes6, CapturedRoutes.own4].flatMap { dump in
      NetlinkMessages(dump).compactMap { Route($0, linkNames: Self.names) }
    }
    #expect(
      Set(all.map(\.description)).isSuperset(of: [
        "default via 192.0.2.1 dev lan0 proto 3 metric 50", "198.51.100.0/24 via 192.0.2.7 dev lan0 proto 3",
        "203.0.113.0/24 via fe80::9 dev lan0 proto 3", "192.0.2.0/24 dev lan0 proto 2",
        "default via 2001:db8::1 dev lan0 proto 3 metric 1024", "unreachable 2001:db8:bad::/48 proto 3 metric 1024",
        "throw 10.0.0.0/8 table 21003 proto 82", "9.9.9.0/24 dev lan0 table 21003 proto 82",
      ]))
    #expect(all.allSatisfy { !$0.isDead })
    #expect(NetlinkMessages(CapturedRoutes.own4).compactMap { Route($0, linkNames: [:])?.link }.allSatisfy { $0.hasPrefix("if") })
  }

  @Test("a route's flags and those of its next hops tell that it is dead; the first that is alive counts")
  func deadNextHops() throws {
    func route(flags: UInt32, hops: [(flags: UInt8, link: UInt8)]) -> Route? {
      let body: [UInt8] = hops.flatMap { hop -> [UInt8] in [8, 0, hop.flags, 0, hop.link, 0, 0, 0] }
      var payload: [UInt8] = [2, 0, 0, 0, 254, 3, 0, 1] + (0..<4).map { UInt8(truncatingIfNeeded: flags >> UInt32(8 * $0)) }
      if hops.isEmpty { payload += [8, 0, 4, 0, 1, 0, 0, 0] } else { payload += [UInt8(4 + body.count), 0, 9, 0] + body }
      return Route(NetlinkMessage(type: 24, payload: payload[...]), linkNames: [1: "a", 2: "b"])
    }
    #expect(route(flags: 0, hops: [])?.isDead == false)
    #expect(route(flags: 0x10, hops: [])?.isDead == true)
    #expect(route(flags: 0x1, hops: [])?.isDead == true)
    #expect(route(flags: 0x200, hops: []) == nil, "a cloned route is no route of a table")
    #expect(route(flags: 0, hops: [(0x11, 1), (0, 2)]).map { [$0.link, "\($0.isDead)"] } == ["b", "false"])
    #expect(route(flags: 0, hops: [(0x10, 1), (0x10, 2)]).map { [$0.link, "\($0.isDead)"] } == ["a", "true"])
  }

  @Test("rules: inverted, marked, ours; those that look up no table are left out")
  func rules() {
    let rules = NetlinkMessages(CapturedRoutes.rules).compactMap { RoutingRule($0) }
    #expect(
      rules.map(\.description) == [
        "priority 0 lookup 255 protocol 2", "priority 21003 not fwmark 0x52000000/0xff000000 lookup 21003 protocol 82",
        "priority 32766 lookup 254 protocol 2", "priority 32767 lookup 253 protocol 2",
      ])
  }

  @Test("neighbours: only those that answer have a hardware address, and groups are left out")
  func neighbours() {
    let neighbours = NetlinkMessages(CapturedRoutes.neighbours).compactMap { Neighbour($0, linkNames: Self.names) }
    let known = neighbours.filter { $0.macAddress != nil }.map { "\($0.link) \($0.address) \($0.macAddress?.description ?? "")" }
    #expect(Set(known) == ["lan0 192.0.2.1 02:aa:bb:cc:dd:ee", "lan0 2001:db8::1 02:aa:bb:cc:dd:ef"])
    #expect(neighbours.allSatisfy { !$0.address.isMulticast })
  }

  @Test("verdicts: the kernel's number and words, from an error and from the end of a dump")
  func verdicts() {
    let refusal = NetlinkMessages(CapturedRoutes.refusal).compactMap { NetlinkAcknowledgement($0) }
    #expect(refusal.map(\.code) == [101] && refusal.map(\.text) == ["Nexthop has invalid gateway"] && refusal.map(\.sequence) == [7])
    let missing = NetlinkMessages(CapturedRoutes.noTable).compactMap { NetlinkAcknowledgement($0) }
    #expect(missing.map(\.code) == [2] && missing.map(\.text) == ["ipv4: FIB table does not exist"])
    #expect(NetlinkMessages(CapturedRoutes.links).compactMap { NetlinkAcknowledgement($0) }.map(\.code) == [0])
    #expect(NetlinkMessages(CapturedRoutes.links).allSatisfy { !$0.isInterrupted })
    #expect(NetlinkMessage(type: 16, flags: 0x12, payload: []).isInterrupted)
    // An error that was not capped carries the whole request before its text.
    let request: [UInt8] = [20, 0, 0, 0, 24, 0, 5, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]
    let whole = NetlinkMessage(
      type: 2, flags: 0x200, sequence: 7, payload: ([0xef, 0xff, 0xff, 0xff] + request + [8, 0, 1, 0, 104, 105, 33, 0])[...])
    #expect(NetlinkAcknowledgement(whole)?.code == 17 && NetlinkAcknowledgement(whole)?.text == "hi!")
  }

  @Test("WireGuard: keys, ports, endpoints, prefixes; a preshared key of zeros is none")
  func wireGuard() throws {
    var reader = WireGuardStateReader()
    for message in NetlinkMessages(CapturedGeneric.wireguard) where NetlinkAcknowledgement(message) == nil { reader.read(message) }
    let state = try #require(reader.state)
    #expect(state.engine == .kernel && state.listenPort == 51900 && state.firewallMark == 0x5200_0000 && state.publicKey != nil)
    #expect(state.peers.count == 2)
    let first = try #require(state.peers.first { $0.publicKey == WireGuardKey(bytes: Array(repeating: UInt8(ascii: "a"), count: 32)) })
    #expect(first.presharedKey == SecretKey(bytes: Array(repeating: UInt8(ascii: "b"), count: 32)))
    #expect(first.endpoint == Endpoint("192.0.2.1:51820") && first.persistentKeepalive == 25 && first.lastHandshake == 0)
    #expect(Set(first.allowedIPs) == Set(IPAddress.Family.allCases.map { IPPrefix.everything($0) }))
    let second = try #require(state.peers.first { $0.publicKey != first.publicKey })
    #expect(
      second.endpoint == Endpoint("[2001:db8::1]:4242") && second.presharedKey == nil
        && second.allowedIPs.map(\.description) == ["10.1.0.0/16"])
  }

  @Test("WireGuard: a peer that goes on in the next message stays one peer")
  func wireGuardContinuation() throws {
    let answers = NetlinkMessages(CapturedGeneric.wireguardLong).filter { NetlinkAcknowledgement($0) == nil }
    #expect(answers.count > 1)
    var reader = WireGuardStateReader()
    for message in answers { reader.read(message) }
    let state = try #require(reader.state)
    #expect(state.peers.count == 3 && state.listenPort == 51900)
    #expect(Set(state.peers.map(\.allowedIPs.count)) == [2, 1, 300])
    #expect(Set(state.peers.flatMap(\.allowedIPs)).count == 303)
  }

  @Test("nl80211: radios, and the network that one is on")
  func wireless() throws {
    let radios = NetlinkMessages(CapturedGeneric.nl80211).compactMap { WirelessInterface($0) }
    let cafe = try #require(SSID("Café"))
    // wlan2 is idle, wlan1 a station of which this kernel forgets the SSID, wlan0 the access point.
    #expect(
      radios == [
        WirelessInterface(index: 4, type: 2, ssid: nil), WirelessInterface(index: 3, type: 2, ssid: nil),
        WirelessInterface(index: 2, type: 3, ssid: cafe),
      ])
    #expect(radios.map(\.isClient) == [true, true, false])
    let networks = NetlinkMessages(CapturedGeneric.nl80211Scan).compactMap { WirelessNetwork($0) }
    #expect(networks.map(\.ssid) == [cafe] && networks.map(\.isJoined) == [true])
  }
}
