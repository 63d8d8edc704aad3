import KernelModel
import NetworkTypes
import RoamwardCore
import Testing

@Suite("Whose word counts on a link's name servers and domains")
struct DNSFactsTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var host = HostReports()
    var isPrimary = true
    /// `nil`: unknown.
    var servers: [String]?
    var domains: [String]?
    /// The believed sources.
    var from: [String?]
  }

  private static func dns(_ servers: [String], _ domains: [String] = [], routing: [String] = []) -> LinkDNS {
    LinkDNS(
      servers: servers.compactMap(IPAddress.init), domains: domains.compactMap(DomainName.init),
      routingDomains: routing.compactMap(DomainName.init))
  }

  private static func file(_ text: String) -> Answer<ResolvConfReport> { .value(ResolvConfReport(parsing: text)) }

  private static let own = MACAddress("02:00:00:00:00:01")
  private static let others = MACAddress("02:00:00:00:00:02")
  private static func manager(_ dns: LinkDNS, _ address: MACAddress? = own, state: ManagedDevice.State = .active) -> Answer<
    NetworkManagerReport
  > {
    .value(NetworkManagerReport(devices: ["eth0": ManagedDevice(address: address, state: state, dns: dns)]))
  }
  private static let stub = "nameserver 127.0.0.53\noptions edns0\nsearch cafe.example\n"
  private static func lease(_ address: String) -> Lease {
    Lease(link: "eth0", address: IPAddress(address), dns: dns(["192.0.2.7"], ["lease.example"]))
  }

  static let cases: [Case] = [
    Case(testDescription: "nobody", servers: nil, domains: nil, from: [nil, nil]),
    Case(
      testDescription: "resolved alone; what only routes is no domain",
      host: HostReports(resolved: .value([2: dns(["192.0.2.1"], ["cafe.example"], routing: ["corp.example"])])), servers: ["192.0.2.1"],
      domains: ["cafe.example"], from: ["systemd-resolved", "systemd-resolved"]),
    Case(
      testDescription: "resolved knows another link; resolv.conf speaks for the primary",
      host: HostReports(resolved: .value([3: dns(["192.0.2.1"])]), resolvConf: file("nameserver 192.0.2.9\nsearch a.example b.example")),
      servers: ["192.0.2.9"], domains: ["a.example", "b.example"], from: ["resolv.conf", "resolv.conf"]),
    Case(
      testDescription: "resolv.conf does not speak for other links",
      host: HostReports(resolvConf: file("nameserver 192.0.2.9")), isPrimary: false, servers: nil, domains: nil, from: [nil, nil]),
    Case(
      testDescription: "the stub's address is nobody's server",
      host: HostReports(resolvConf: file(stub)), servers: nil, domains: nil, from: [nil, nil]),
    Case(
      testDescription: "NetworkManager with resolved: servers as in use, domains with the connection's own",
      host: HostReports(
        resolved: .value([2: dns(["192.0.2.1"], ["a.cafe.example"])]),
        networkManager: manager(dns(["192.0.2.1", "192.0.2.2"], ["cafe.example", "a.cafe.example"])), resolvConf: file(stub)),
      servers: ["192.0.2.1"], domains: ["cafe.example", "a.cafe.example"], from: ["systemd-resolved", "NetworkManager"]),
    Case(
      testDescription: "a device of the same name elsewhere is another",
      host: HostReports(networkManager: manager(dns(["192.0.2.1"]), others), resolvConf: file("nameserver 192.0.2.9")),
      servers: ["192.0.2.9"],
      domains: [], from: ["resolv.conf", "resolv.conf"]),
    Case(
      testDescription: "NetworkManager leaves the link alone",
      host: HostReports(networkManager: manager(dns([]), state: .inactive), resolvConf: file("nameserver 192.0.2.9")),
      servers: ["192.0.2.9"],
      domains: [], from: ["resolv.conf", "resolv.conf"]),
    Case(
      testDescription: "networkd keeps its DHCP domain from resolved, but has it in the lease",
      host: HostReports(
        resolved: .value([2: dns(["192.0.2.1"])]),
        networkd: [
          2: NetworkdLink(dns: dns(["192.0.2.1"]), lease: Lease(address: IPAddress("192.0.2.5"), dns: dns(["192.0.2.1"], ["cafe.example"])))
        ]),
      servers: ["192.0.2.1"], domains: ["cafe.example"], from: ["systemd-resolved", "systemd-networkd"]),
    Case(
      testDescription: "a lease of another address is an old one",
      host: HostReports(networkd: [2: NetworkdLink(lease: Lease(address: IPAddress("198.51.100.5"), dns: dns(["198.51.100.1"])))]),
      servers: nil, domains: nil, from: [nil, nil]),
    Case(
      testDescription: "networkd does not manage the link",
      host: HostReports(networkd: [2: NetworkdLink(isManaged: false, dns: dns(["192.0.2.1"]))]), servers: nil, domains: nil,
      from: [nil, nil]),
    Case(
      testDescription: "records of resolvconf: of this link, also where another one's name begins with it",
      host: HostReports(
        resolvconf: [
          "eth0.dhclient": ResolvConf(parsing: "nameserver 192.0.2.1\nsearch cafe.example"),
          "eth0.inet6": ResolvConf(parsing: "nameserver 2001:db8::1"),
          "eth0.10.dhclient": ResolvConf(parsing: "nameserver 203.0.113.1"), "lo.named": ResolvConf(parsing: "nameserver 127.0.0.1"),
        ]), servers: ["192.0.2.1", "2001:db8::1"], domains: ["cafe.example"], from: ["resolvconf", "resolvconf"]),
    Case(
      testDescription: "dhclient's newest lease of an address that the link has",
      host: HostReports(leases: [lease("192.0.2.4"), lease("192.0.2.5"), lease("192.0.2.6")], resolvConf: file("nameserver 192.0.2.9")),
      servers: ["192.0.2.7"], domains: ["lease.example"], from: ["dhclient", "dhclient"]),
    Case(
      testDescription: "who has still to answer keeps worse sources from being believed",
      host: HostReports(resolved: .pending(reason: "it has not answered yet"), resolvConf: file("nameserver 192.0.2.9")), servers: nil,
      domains: nil, from: [nil, nil]),
    Case(
      testDescription: "NetworkManager is still at it: an address came before the servers",
      host: HostReports(networkManager: manager(dns([]), state: .configuring), resolvConf: file("")), servers: nil, domains: nil,
      from: [nil, nil]),
    Case(
      testDescription: "networkd is still at it, but has its lease",
      host: HostReports(
        networkd: [2: NetworkdLink(isConfiguring: true, lease: Lease(address: IPAddress("192.0.2.5"), dns: dns(["192.0.2.1"])))]),
      servers: ["192.0.2.1"], domains: [], from: ["systemd-networkd", "systemd-networkd"]),
    Case(
      testDescription: "networkd is still at it",
      host: HostReports(networkd: [2: NetworkdLink(isConfiguring: true)], resolvConf: file("nameserver 192.0.2.9")), servers: nil,
      domains: nil,
      from: [nil, nil]),
    Case(
      testDescription: "all say that there are none",
      host: HostReports(resolved: .value([2: dns([])]), resolvConf: file("")), servers: [], domains: [],
      from: ["systemd-resolved", "systemd-resolved"]),
  ]

  private static func link(isPrimary: Bool) -> LinkInQuestion {
    LinkInQuestion(
      name: "eth0", index: 2, hardwareAddress: own, addresses: ["192.0.2.5", "2001:db8::5"].compactMap(IPAddress.init),
      isPrimary: isPrimary,
      names: ["eth0", "eth0.10", "lo"])
  }

  @Test("by what each source says", arguments: cases)
  func choice(_ example: Case) {
    let link = Self.link(isPrimary: example.isPrimary)
    let servers = example.host.servers(of: link, at: 1000)
    let domains = example.host.domains(of: link, at: 1000)
    #expect(servers.fact.value?.map(\.description) == example.servers)
    #expect(domains.fact.value?.map(\.text) == example.domains)
    #expect([servers.origin, domains.origin].map { $0.believed?.source } == example.from)
    // Every source is accounted for, whatever comes of it.
    #expect(servers.origin.sources.count == 6 && Set(servers.origin.sources.map(\.source)) == Set(domains.origin.sources.map(\.source)))
    if case .unknown(let reason) = servers.fact {
      #expect(reason.contains("cure") || reason.contains("not answered yet") || reason.contains("still configuring"), "\(reason)")
    }
  }

  @Test("the trace tells why each was believed or not") func trace() {
    let host = HostReports(
      resolved: .unavailable(reason: "it does not run"), networkManager: Self.manager(Self.dns(["192.0.2.1"]), Self.others),
      resolvConf: Self.file("# Generated by NetworkManager\nnameserver 192.0.2.9"))
    let answers = host.servers(of: Self.link(isPrimary: true), at: 7).origin.sources
    #expect(
      answers.map { "\($0.source): \($0.said)\($0.reason.map { " (\($0))" } ?? "")\($0.isBelieved ? " *" : "")" } == [
        "systemd-resolved: nothing: it does not run",
        "NetworkManager: nothing: its eth0 has the hardware address 02:00:00:00:00:02, not 02:00:00:00:00:01",
        "systemd-networkd: nothing: no /run/systemd/netif/links/2", "resolvconf: nothing: it has no records here",
        "dhclient: nothing: it has no lease here", "resolv.conf: 192.0.2.9 (NetworkManager's) *",
      ])
  }
}

@Suite("Paid for by volume, and the way to the internet")
struct ConnectionFactsTests {
  private static let link = LinkInQuestion(name: "eth0", index: 2, addresses: [IPAddress("192.0.2.5")].compactMap { $0 })

  private static func manager(metered: UInt32 = 0, connectivity: UInt32 = 0, checks: Bool = true) -> HostReports {
    let device = ManagedDevice(metered: metered, connectivity: connectivity)
    return HostReports(networkManager: .value(NetworkManagerReport(devices: ["eth0": device], checksConnectivity: checks)))
  }

  @Test("NetworkManager's word and its guesses count", arguments: zip([UInt32(1), 2, 3, 4, 0], [true, false, true, false, nil]))
  func metered(word: UInt32, expected: Bool?) {
    let traced = Self.manager(metered: word).metered(Self.link, .ethernet, at: 1)
    #expect(traced.fact.value == expected)
    #expect((traced.origin.believed?.reason == "it guesses") == (word > 2))
  }

  @Test("without it, the same evidence") func evidence() {
    let phone = HostReports(networkd: [2: NetworkdLink(lease: Lease(address: IPAddress("192.0.2.5"), isMetered: true))])
    #expect(phone.metered(Self.link, .wifi, at: 1).fact == .known(true))
    let old = HostReports(networkd: [2: NetworkdLink(lease: Lease(address: IPAddress("192.0.2.6"), isMetered: true))])
    #expect(old.metered(Self.link, .wifi, at: 1).fact == .known(false))
    for type in [InterfaceType.cellular, .usbTether, .bluetooth] {
      #expect(HostReports().metered(Self.link, type, at: 1).fact == .known(true))
    }
    #expect(HostReports().metered(Self.link, .ethernet, at: 1).fact.value == nil, "nothing tells")
    #expect(Self.manager(metered: 2).metered(Self.link, .cellular, at: 1).fact == .known(false), "a person has said so")
  }

  @Test(
    "portal and internet",
    arguments: zip([UInt32(1), 2, 3, 4, 0], [[false, false], [true, false], [false, false], [false, true], [nil, nil]]))
  func connectivity(state: UInt32, expected: [Bool?]) {
    let host = Self.manager(connectivity: state)
    #expect([host.captivePortal(Self.link).fact.value, host.internet(Self.link).fact.value] == expected)
  }

  @Test("without its check NetworkManager takes every connection for full, and is not believed") func unchecked() {
    let fact = Self.manager(connectivity: 4, checks: false).internet(Self.link).fact
    guard case .unknown(let reason) = fact else { return #expect(Bool(false), "\(fact)") }
    #expect(reason.contains("network-manager-config-connectivity-debian"))
  }
}

@Suite struct SleepClockTests {
  @Test("sleep is what the clocks differ by more than before") func sleep() {
    var clock = SleepClock()
    let readings: [Duration] = [
      .seconds(3600), .seconds(3600) + .microseconds(3), .seconds(3600) - .microseconds(2), .seconds(3602), .seconds(3602),
    ]
    // The first is sleep before the agent began.
    #expect(readings.map { clock.hasSlept($0) } == [false, false, false, true, false])
  }
}
