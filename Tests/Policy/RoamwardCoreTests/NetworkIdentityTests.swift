import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

@Suite struct NetworkIdentityTests {
  static let routers = ["192.0.2.1", "198.51.100.1", "fe80::1", "fe80::2"].map(Sample.address)
  static let macs = [MACAddress("02:00:00:00:00:01"), MACAddress("02:00:00:00:00:02"), MACAddress("00:00:5e:00:01:01")].compactMap { $0 }

  static func random() -> NetworkIdentity {
    if Int.random(in: 0..<10) == 0 { return .none }
    let routers = routers.filter { _ in Bool.random() }
    return NetworkIdentity(
      link: ["eth0", "wlan0"].randomElement(), type: [nil, .wifi, .ethernet].randomElement() ?? nil,
      ssid: [nil, Sample.ssid("Home"), Sample.ssid("Cafe")].randomElement() ?? nil,
      gateways: Dictionary(routers.map { ($0, Bool.random() ? nil : macs.randomElement()) }) { first, _ in first })
  }

  static func identity(_ gateways: [String: String?], ssid: String? = "Home") -> NetworkIdentity {
    NetworkIdentity(
      link: "wlan0", type: .wifi, ssid: ssid.map(Sample.ssid),
      gateways: Dictionary(gateways.map { (Sample.address($0.key), $0.value.flatMap { MACAddress($0) }) }) { first, _ in first })
  }

  @Test("both questions are symmetric, and what is surely the same may be") func symmetric() {
    for _ in 0..<5000 {
      let (a, b) = (Self.random(), Self.random())
      #expect(a.mayBeSame(as: b) == b.mayBeSame(as: a) && a.isProvenSame(as: b) == b.isProvenSame(as: a))
      #expect(!a.isProvenSame(as: b) || a.mayBeSame(as: b))
      #expect(a.mayBeSame(as: a))
    }
  }

  @Test("what one does not know does not tell them apart") func unknown() {
    for _ in 0..<5000 {
      let whole = Self.random()
      if whole.isNone { continue }
      var gateways = whole.gateways
      for address in gateways.keys where Bool.random() { gateways[address] = .some(nil) }
      if let family = [nil, IPAddress.Family.v4, .v6].randomElement() ?? nil { gateways = gateways.filter { $0.key.family != family } }
      let part = NetworkIdentity(
        link: "other", type: Bool.random() ? nil : whole.type, ssid: Bool.random() ? nil : whole.ssid, gateways: gateways)
      #expect(part.mayBeSame(as: whole))
      var learnt = part
      learnt.learn(whole)
      #expect(learnt.type == whole.type && learnt.ssid == whole.ssid && learnt.gateways == whole.gateways)
    }
  }

  @Test("what is learnt never contradicts what was known, and a network that is another one teaches nothing") func learning() {
    for _ in 0..<5000 {
      let (before, other) = (Self.random(), Self.random())
      var after = before
      after.learn(other)
      #expect(after.mayBeSame(as: before))
      if !before.mayBeSame(as: other) { #expect(after == before) }
      for (gateway, hardware) in before.gateways where hardware != nil { #expect(after.gateways[gateway] == hardware) }
    }
  }

  @Test("the later family, the other's router and the router's own sleep change nothing") func sameNetwork() {
    let first = Self.identity(["192.0.2.1": nil])
    let mac = "02:00:00:00:00:01"
    for same in [
      ["192.0.2.1": mac], ["fe80::1": "02:00:00:00:00:02"], ["192.0.2.1": nil, "fe80::1": nil], ["192.0.2.1": mac, "fe80::9": mac], [:],
    ] as [[String: String?]] { #expect(first.mayBeSame(as: Self.identity(same))) }
    var whole = first
    whole.learn(Self.identity(["192.0.2.1": mac, "fe80::1": mac]))
    // One router proven the same proves the network.
    #expect(whole.isProvenSame(as: Self.identity(["192.0.2.1": mac, "fe80::2": "02:00:00:00:00:09"])))
    #expect(whole.isProvenSame(as: Self.identity(["fe80::1": mac])))
  }

  @Test("another router, or the same address with another hardware address, is another network") func anotherNetwork() {
    let home = Self.identity(["192.0.2.1": "02:00:00:00:00:01"])
    #expect(!home.mayBeSame(as: Self.identity(["192.0.2.1": "02:00:00:00:00:02"])), "a twin of the same SSID")
    #expect(!home.mayBeSame(as: Self.identity(["198.51.100.1": "02:00:00:00:00:01"])), "another VLAN of the same router")
    #expect(!home.mayBeSame(as: Self.identity(["192.0.2.1": "02:00:00:00:00:01"], ssid: "Cafe")))
    #expect(!home.mayBeSame(as: .none) && home.mayBeSame(as: Self.identity(["192.0.2.1": nil])))
    #expect(!home.isProvenSame(as: Self.identity(["192.0.2.1": nil])), "it may be the same, but nobody knows")
  }

  /// A network of two families with everything a snapshot can have.
  static var whole: NetworkSnapshot {
    var link = Sample.wifi("Home", domains: ["home.example"], servers: ["192.0.2.1"])
    link.gateways.append(routers[2])
    link.gatewayMAC = .known(macs[0])
    return Sample.network(link)
  }

  @Test("nothing that is not the network's own alters it") func irrelevant() {
    let identity = NetworkIdentity(of: Self.whole)
    let changes: [(inout NetworkSnapshot) -> Void] = [
      { $0.links[0].addresses = [Sample.own("192.0.2.99/24")] }, { $0.links[0].dnsServers = .unknown(reason: "gone") },
      { $0.links[0].searchDomains = .known([]) }, { $0.links[0].mtu = 1280 }, { $0.links[0].bssid = .known(Self.macs[1]) },
      { $0.links[0].metered = .known(true) }, { $0.links[0].wifiSecurity = .unknown(reason: "not asked") },
      { $0.links[0].device = InterfaceIndex(9).map { DeviceIdentity(index: $0, generation: 3) } },
      { $0.links.append(LinkFacts(name: "docker0", type: .known(.bridge), addresses: [Sample.own("172.31.0.1/16")])) },
      { $0.power = .known(.battery) }, { $0.time = .known(LocalTime(day: .mon, second: 1)) }, { $0.captivePortal = .known(true) },
      { $0.internet = .unknown(reason: "not asked") }, { $0.probes = ["https://a.example/": .known(true)] },
      {
        $0.links[0].name = "wifi0"
        $0.primary = "wifi0"
      },
      { $0.links[0].gatewayMAC = .unknown(reason: "asleep") },
    ]
    for _ in 0..<500 {
      var snapshot = Self.whole
      for change in changes.shuffled().prefix(Int.random(in: 1...changes.count)) { change(&snapshot) }
      var after = identity
      after.learn(NetworkIdentity(of: snapshot))
      #expect(after.mayBeSame(as: identity) && after.gateways == identity.gateways)
      for family in IPAddress.Family.allCases { #expect(after.digest(family) == identity.digest(family)) }
    }
  }

  @Test("the digest is the same on every machine, one for each family, and there only when it is sure") func digest() {
    let mac = "02:00:00:00:00:01"
    let home = Self.identity(["192.0.2.1": mac])
    #expect(home.digest(.v4) == "affbcada" && home.digest(.v6) == nil)
    #expect(Self.identity(["192.0.2.1": nil]).digest(.v4) == nil && Self.identity(["192.0.2.1": mac], ssid: nil).digest(.v4) == nil)
    #expect(Self.identity(["192.0.2.1": mac, "fe80::1": mac]).digest(.v4) == home.digest(.v4))
    #expect(Self.identity(["192.0.2.1": mac], ssid: "Cafe").digest(.v4) != home.digest(.v4))
    #expect(home.text == "affbcada" && Self.identity([:]).text == "not known yet")
  }
}

@Suite struct LinkGenerationsTests {
  func link(_ index: UInt32, _ name: String, kind: String? = nil) throws -> Link {
    Link(index: try #require(InterfaceIndex(index)), name: name, kind: kind)
  }

  @Test("a device keeps its identity under any name; its successor has another one") func identify() throws {
    var generations = LinkGenerations()
    func device(_ links: [Link]) -> DeviceIdentity {
      var links = links
      generations.identify(&links)
      return links[0].device
    }
    let first = device([try link(2, "eth0"), try link(3, "eth1")])
    #expect(device([try link(2, "lan0"), try link(3, "eth1")]) == first)
    generations.linkIsGone(try link(2, "eth0").index)
    let second = device([try link(2, "eth0"), try link(3, "eth1")])
    #expect(second != first && second.index == first.index)
    #expect(device([try link(2, "eth0", kind: "veth")]) != second, "of another kind")
    _ = device([try link(3, "eth1")])
    #expect(device([try link(2, "eth0")]) != second, "it was not there in between")
  }
}

@Suite struct ObservationRateLimitTests {
  @Test("never more than ten looks in a second, and always one after the last change") func capped() {
    for settle in [Duration.zero, .milliseconds(1), .milliseconds(90), .milliseconds(500)] {
      var pace = ObservationRateLimit()
      var now = Moment(nanoseconds: 0)
      var looks: [Moment] = []
      var pending: Moment?
      for _ in 0..<20_000 {
        now = now + .microseconds(Int64.random(in: 1...2000))
        if let due = pending, due <= now {
          looks.append(due)
          pending = nil
        }
        if pending == nil { pending = pace.look(after: settle, at: now) }
      }
      if let pending { looks.append(pending) }
      #expect(pending.map { $0 >= now } ?? (looks.last == now) || looks.last.map { $0 >= now } ?? false)
      for (a, b) in zip(looks, looks.dropFirst(ObservationRateLimit.looksPerSecond)) { #expect(b >= a + .seconds(1)) }
    }
  }

  @Test("a quiet network is looked at without delay") func quiet() {
    var pace = ObservationRateLimit()
    for second in 0..<100 {
      let now = Moment(nanoseconds: 0) + .seconds(second)
      for _ in 0..<5 { #expect(pace.look(after: .zero, at: now) == now) }
    }
  }
}
