import GatewayCore
import KernelModel
import KeyMemory
import NetworkTypes
import Testing

@Suite struct AccessTests {
  /// alice is staff, bob is not.
  private func sample() throws -> Administration {
    var work = Administration()
    try work.addPool("10.77.0.0/24", isTranslated: true)
    try work.addPool("fd77::/64")
    for (i, user) in ["alice", "bob"].enumerated() {
      try work.addUser(try name(user))
      try work.addDevice(try path("\(user)/laptop"), publicKey: try key(UInt64(i)))
    }
    try work.addGroup(try name("staff"))
    try work.setMember(true, try name("alice"), of: try name("staff"))
    return work
  }

  private func rule(
    _ text: String, _ source: AccessRule.Source = .everybody, to destination: AccessRule.Destination, _ transport: Transport = .any,
    _ ports: [String] = [], allow: Bool = true
  ) throws -> AccessRule {
    AccessRule(
      id: 0, name: try name(text), position: 0, source: source, destination: destination, transport: transport,
      ports: try ports.map { try #require(PortRange($0)) }, isAllowing: allow)
  }

  private func decide(
    _ work: Administration, _ user: String, _ destination: String, _ transport: Transport = .tcp, _ port: UInt16? = 443
  ) throws -> AccessDecision {
    AccessDecision(
      AccessQuestion(
        user: try work.user(try name(user)).id, destination: try #require(IPAddress(destination)), transport: transport, port: port),
      in: work.directory)
  }

  @Test("the first matching rule decides, without one the packet is denied, and the reasons are named") func decisions() throws {
    var work = try sample()
    #expect(try decide(work, "alice", "10.1.2.3").text(in: work.directory) == "denied: no rule matches (0 evaluated)")
    let staff = try work.group(try name("staff")).id
    let net = try #require(IPPrefix("10.0.0.0/8"))
    try work.addRule(try rule("web", .group(staff), to: .prefixes([net]), .tcp, ["80", "443"]))
    try work.addRule(try rule("bob", .user(try work.user(try name("bob")).id), to: .devices(ofGroup: staff)))
    let allowed = try decide(work, "alice", "10.1.2.3")
    #expect(allowed.isAllowed)
    #expect(
      allowed.text(in: work.directory) == "allowed by rule web (allow web: group staff to 10.0.0.0/8 tcp 80,443)")
    #expect(try decide(work, "alice", "10.1.2.3", .udp).passed.map(\.reason) == [.transport, .source])
    #expect(try decide(work, "alice", "10.1.2.3", .tcp, 22).passed.map(\.reason) == [.port, .source])
    #expect(try decide(work, "alice", "192.0.2.1").passed.map(\.reason) == [.destination, .source])
    #expect(try decide(work, "bob", "10.77.0.2", .icmp, nil).isAllowed)
    #expect(try !decide(work, "bob", "10.77.0.3").isAllowed)
    try work.addRule(try rule("never", to: .everything, allow: false), before: try name("web"))
    #expect(try decide(work, "alice", "10.1.2.3").rule?.name.description == "never")
    #expect(work.directory.sortedRules.map(\.name.description) == ["never", "web", "bob"])
    #expect(throws: GatewayError.self) { try work.addRule(try rule("ports", to: .everything, .any, ["1"])) }
    #expect(throws: GatewayError.self) { try work.addRule(try rule("x", to: .everything), before: try name("nothing")) }
  }

  @Test("the table has a profile for each set of rules, and an element for each address") func table() throws {
    var work = try sample()
    let staff = try work.group(try name("staff")).id
    let prefixes = try ["10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"].map { try #require(IPPrefix($0)) }
    try work.addRule(try rule("web", .group(staff), to: .prefixes(prefixes), .tcp, ["80-100", "443", "90-110"]))
    try work.addRule(try rule("peers", to: .devices(ofGroup: staff), .icmp))
    let table = GatewayTable(work.directory, link: "wg-gateway", at: work.now)
    #expect(table.profiles.count == 2)
    let laptop = try #require(IPAddress("10.77.0.2"))
    let chain = try #require(table.sources[laptop])
    #expect(
      table.profiles[chain] == [
        "ct original ip daddr { 10.0.0.0/8 } meta l4proto tcp ct original proto-dst { 80-110, 443 } accept comment \"web\"",
        "ct original ip6 daddr { 2001:db8::/32 } meta l4proto tcp ct original proto-dst { 80-110, 443 } accept comment \"web\"",
        "ct original ip daddr @group_\(staff)_v4 meta l4proto { icmp, ipv6-icmp } accept comment \"peers\"",
        "ct original ip6 daddr @group_\(staff)_v6 meta l4proto { icmp, ipv6-icmp } accept comment \"peers\"",
      ])
    #expect(table.transaction.contains("ip saddr 10.77.0.0/24 oifname != \"wg-gateway\" goto translate"))
    // Behind masquerade, a connection has to begin with its first packet: from the middle of one, masquerade would pick the same port
    // again.
    #expect(
      table.transaction.contains(
        "iifname \"wg-gateway\" oifname != \"wg-gateway\" ip saddr 10.77.0.0/24 tcp flags & syn == 0 ct state new drop"))
    #expect(!table.transaction.contains("fd77::/64"))
    #expect(table.changes(from: table) == "")
    let before = table
    try work.setLocked(true, try name("bob"))
    let locked = GatewayTable(work.directory, link: "wg-gateway", at: work.now)
    // The default that remains is that no rule matches.
    #expect(
      locked.changes(from: before)?.split(separator: "\n").map { $0.prefix { $0 != ":" } } == [
        "delete element inet roamward_gateway sources_v4 { 10.77.0.3 ",
        "delete element inet roamward_gateway ends_v4 { 10.77.0.3 . 10.77.0.3 }",
        "delete element inet roamward_gateway sources_v6 { fd77", "delete element inet roamward_gateway ends_v6 { fd77",
        "delete element inet roamward_gateway returns_v6 { fd77",
      ])
    try work.removeDevice(try path("bob/laptop"))
    // The last device of a profile takes it along.
    #expect(GatewayTable(work.directory, link: "wg-gateway", at: work.now).changes(from: before) == nil)
    try work.addDevice(try path("bob/laptop"), publicKey: try key(1))
    try work.setLocked(false, try name("bob"))
    try work.addDevice(try path("alice/phone"), publicKey: try key(7))
    let more = GatewayTable(work.directory, link: "wg-gateway", at: work.now)
    #expect(
      more.changes(from: before) == """
        add element inet roamward_gateway sources_v4 { 10.77.0.4 : jump \(chain) }
        add element inet roamward_gateway ends_v4 { 10.77.0.4 . 10.77.0.4 }
        add element inet roamward_gateway group_\(staff)_v4 { 10.77.0.4 }
        add element inet roamward_gateway sources_v6 { fd77::4 : jump \(chain) }
        add element inet roamward_gateway ends_v6 { fd77::4 . fd77::4 }
        add element inet roamward_gateway returns_v6 { fd77::4 : jump \(chain.replacing("profile", with: "return")) }
        add element inet roamward_gateway group_\(staff)_v6 { fd77::4 }

        """)
    // A connection that is first seen in its middle is judged as if its device had begun it, where the pool is routed, and in no other.
    #expect(more.routed == [try #require(IPPrefix("fd77::/64"))])
    for line in [
      "ct reply ip6 daddr { 2001:db8::/32 } meta l4proto tcp ct reply proto-dst { 80-110, 443 } accept comment \"web\"",
      "iifname \"wg-gateway\" ct direction reply ct reply ip6 saddr vmap @returns_v6",
      "iifname != \"wg-gateway\" tcp flags & syn == 0 ct reply ip6 saddr vmap @returns_v6",
    ] {
      #expect(more.transaction.contains(line), "\(line)")
    }
    #expect(!more.transaction.contains("10.77.0.4 : jump return"))
    try work.removePool(try name("pool6"))
    #expect(!GatewayTable(work.directory, link: "wg-gateway", at: work.now).transaction.contains("return"))
  }

  @Test("the kernel's plan is empty once applied, repairs what others change, and leaves other programs' links alone") func plan() throws {
    var work = try sample()
    work.setSite(try #require(Endpoint("192.0.2.1:51820")), publicKey: try key(99), link: try #require(InterfaceName("wg-gateway")))
    let secret = try #require(SecretKey(bytes: [UInt8](repeating: 7, count: 32)))
    let desired = try #require(GatewayState(work.directory, privateKey: secret, engine: .kernel, at: work.now))
    #expect(
      desired.device.peers.map { $0.allowedIPs.map(\.description) } == [["10.77.0.2/32", "fd77::2/128"], ["10.77.0.3/32", "fd77::3/128"]])
    let first = GatewayPlan(from: KernelState(), nil, to: desired)
    #expect(
      first.steps.filter { if case .configureWireGuard = $0 { false } else { true } }.map(\.description) == [
        "ip link add dev wg-gateway type wireguard", "ip link set dev wg-gateway alias roamward-gateway",
        "ip link set dev wg-gateway mtu 1420", "ip address add 10.77.0.1/24 dev wg-gateway noprefixroute",
        "ip address add fd77::1/64 dev wg-gateway noprefixroute nodad", "ip link set dev wg-gateway up",
        "ip route add 10.77.0.0/24 dev wg-gateway proto 83 metric 1",
        "ip -6 route add fd77::/64 dev wg-gateway proto 83 metric 1", "ip route add unreachable 10.77.0.0/24 proto 83 metric 4278198272",
        "ip -6 route add unreachable fd77::/64 proto 83 metric 4278198272",
      ])
    var kernel = KernelState(
      links: [
        Link(index: try #require(InterfaceIndex(7)), name: "wg-gateway", kind: "wireguard", flags: 1, mtu: 1420, alias: "roamward-gateway")
      ],
      addresses: desired.addresses.map { LinkAddress(link: "wg-gateway", address: $0) }, routes: desired.routes)
    let peers = desired.device.peers.map { WireGuardState.Peer(publicKey: $0.publicKey, allowedIPs: $0.allowedIPs) }
    let device = WireGuardState(
      engine: .kernel, publicKey: desired.device.publicKey, listenPort: 51820, firewallMark: desired.device.firewallMark, peers: peers)
    #expect(GatewayPlan(from: kernel, device, to: desired).steps == [])
    try work.setLocked(true, try name("bob"))
    let locked = try #require(GatewayState(work.directory, privateKey: secret, engine: .kernel, at: work.now))
    #expect(GatewayPlan(from: kernel, device, to: locked).steps == [.configureWireGuard(link: "wg-gateway", locked.device)])
    #expect(GatewayPlan(cleaning: kernel).steps.count == 3)
    kernel.addresses.removeFirst()
    kernel.links[0].flags = 0
    #expect(
      GatewayPlan(from: kernel, device, to: desired).steps.map(\.description) == [
        "ip address add 10.77.0.1/24 dev wg-gateway noprefixroute", "ip link set dev wg-gateway up",
      ])
    kernel.links[0].alias = nil
    #expect(GatewayPlan(from: kernel, device, to: desired).conflict != nil)
    let unfinished = GatewayPlan(from: kernel, device, to: desired, unfinished: "wg-gateway")
    #expect(unfinished.steps.first == .setAlias(link: "wg-gateway", alias: "roamward-gateway"))
    kernel.links[0].alias = "roamward:corp"
    #expect(GatewayPlan(from: kernel, device, to: desired, unfinished: "wg-gateway").conflict != nil)
    #expect(GatewayPlan(from: kernel, device, to: desired).conflict?.contains("is not the gateway's") == true)
    #expect(GatewayPlan(cleaning: kernel).steps.count == 4)
  }

  @Test("the file of a stock client has its addresses, and routes of its own families") func clientFile() throws {
    var work = Administration()
    try work.addPool("10.77.0.0/24")
    try work.addUser(try name("alice"))
    let device = try work.addDevice(try path("alice/laptop"), publicKey: try key(1))
    #expect(throws: GatewayError.self) { try ClientFile(work.directory, device) }
    work.setSite(try #require(Endpoint("vpn.example.com:51820")), publicKey: try key(99), link: try #require(InterfaceName("wg0")))
    try work.change(
      PushedSettings(
        routes: [.everything(.v4), .everything(.v6)], dns: [try #require(IPAddress("10.0.0.53"))],
        search: [try #require(DomainName("corp.example"))], mtu: 1400, keepalive: 25), for: .everybody, named: "everybody")
    #expect(
      try ClientFile(work.directory, device).text(privateKey: "SECRET") == """
        [Interface]
        PrivateKey = SECRET
        Address = 10.77.0.2/32
        DNS = 10.0.0.53, corp.example
        MTU = 1400

        [Peer]
        PublicKey = \(base64(try key(99).bytes))
        Endpoint = vpn.example.com:51820
        AllowedIPs = 0.0.0.0/0
        PersistentKeepalive = 25

        """)
  }
}
