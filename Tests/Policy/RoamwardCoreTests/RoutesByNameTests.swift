import KernelModel
import NetworkTypes
import TestKit
import Testing

@testable import RoamwardCore

@Suite struct RoutesByNameTests {
  private let now = Moment(nanoseconds: 0)
  private let name = Sample.domain("git.corp.example")

  private func address(_ number: Int) -> IPAddress { IPAddress(v4: 0xc612_0000 + UInt32(number)) }

  @Test("the longest domain decides, and of equal ones the name stays outside") func ways() {
    var routes = RoutePolicy()
    routes.includeDomains = [Sample.domain("corp.example"), Sample.domain("lab.example")]
    routes.excludeDomains = [Sample.domain("public.corp.example"), Sample.domain("lab.example")]
    func way(_ name: String) -> NameWay? { routes.way(of: Sample.domain(name)) }
    #expect(way("corp.example") == .include && way("git.corp.example") == .include)
    #expect(way("www.public.corp.example") == .exclude && way("lab.example") == .exclude && way("notcorp.example") == nil)
  }

  @Test("a route lives as long as the answer, with a floor and a limit, and longer while a connection needs it") func lifetimes() {
    var routes = RoutesByName()
    for (number, lifetime) in [(1, 5), (2, 400), (3, 86_400)] {
      #expect(routes.take(address(number), of: name, .include, in: "corp", for: .seconds(lifetime), at: now) == .new)
    }
    #expect(routes.take(address(1), of: name, .include, in: "corp", for: .seconds(5), at: now) == .known)
    #expect(routes.nextDeadline == now + .seconds(300) && routes.prefixes["corp"]?.included.count == 3)
    var asked = 0
    func expire(_ seconds: Int, keeping kept: Bool = false, _ connected: Set<IPAddress>? = []) -> [String] {
      routes.expire(
        at: now + .seconds(seconds), keeps: { _ in kept },
        connected: {
          asked += 1; return connected
        })
      return (routes.prefixes["corp"]?.included ?? []).map(\.description)
    }
    #expect(expire(299).count == 3 && asked == 0, "nothing is due")
    var unknown = routes
    unknown.expire(at: now + .seconds(300), keeps: { _ in false }, connected: { nil })
    #expect(unknown.prefixes["corp"]?.included.count == 3, "the kernel does not say")
    _ = unknown.take(address(9), of: name, .exclude, in: "corp", for: .seconds(5), at: now)
    unknown.expire(at: now + .seconds(300), keeps: { _ in true }, connected: { [] })
    #expect(unknown.prefixes["corp"]?.included.count == 3 && unknown.prefixes["corp"]?.excluded == [], "a hole closes with its answer")
    #expect(expire(300, [address(1)]).count == 3 && asked == 1, "a connection needs the first")
    #expect(expire(360) == ["198.18.0.2/32", "198.18.0.3/32"])
    #expect(expire(400, keeping: true).count == 2 && asked == 2, "the kill switch blocks its address")
    #expect(expire(460) == ["198.18.0.3/32"] && expire(600) == [] && routes.nextDeadline == nil && routes.entries.isEmpty)
  }

  @Test("of more than a thousand addresses an excluded one goes, and the first time is told; an included one stays") func bound() {
    var included = RoutesByName()
    for number in 0..<RoutesByName.limit { _ = included.take(address(number), of: name, .include, in: "corp", for: .seconds(5), at: now) }
    #expect(included.take(address(5000), of: name, .include, in: "corp", for: .seconds(5), at: now) == .full)
    #expect(included.take(address(5000), of: name, .exclude, in: "corp", for: .seconds(5), at: now) == .full)
    #expect(included.take(address(1), of: name, .include, in: "corp", for: .seconds(5), at: now) == .known)
    #expect(included.entries["corp"]?.count == RoutesByName.limit && included.entries["corp"]?[address(5000)] == nil)
    var routes = RoutesByName()
    for number in 0..<RoutesByName.limit { _ = routes.take(address(number), of: name, .exclude, in: "corp", for: .seconds(5), at: now) }
    _ = routes.take(address(0), of: name, .exclude, in: "corp", for: .seconds(5), at: now)
    #expect(routes.take(address(5000), of: name, .include, in: "corp", for: .seconds(5), at: now) == .newInsteadOfOther)
    #expect(routes.take(address(5001), of: name, .include, in: "corp", for: .seconds(5), at: now) == .new)
    let known = routes.entries["corp"] ?? [:]
    #expect(known.count == RoutesByName.limit && known[address(0)] != nil && known[address(1)] == nil && known[address(2)] == nil)
    #expect(routes.evicted["corp"] == 2)
  }

  @Test("an address of an included and an excluded name goes through the tunnel; one of another name is told once") func shared() {
    var routes = RoutesByName()
    _ = routes.take(address(1), of: name, .exclude, in: "corp", for: .seconds(5), at: now)
    #expect(routes.take(address(1), of: name, .include, in: "corp", for: .seconds(5), at: now) == .new)
    #expect(routes.take(address(1), of: name, .exclude, in: "corp", for: .seconds(5), at: now) == .known)
    #expect(routes.prefixes["corp"] == PrefixesByName(included: [.host(address(1))]))
    // By the included name a change of the policies is judged.
    var tunnel = Sample.tunnel("corp", rules: [])
    tunnel.routes = RoutePolicy()
    tunnel.routes?.includeDomains = [Sample.domain("corp.example")]
    tunnel.routes?.excludeDomains = [Sample.domain("ads.corp.example")]
    _ = routes.take(address(1), of: Sample.domain("x.ads.corp.example"), .exclude, in: "corp", for: .seconds(5), at: now)
    routes.follow(PolicySet(tunnels: [tunnel]))
    #expect(routes.prefixes["corp"] == PrefixesByName(included: [.host(address(1))]))
    #expect(routes.share(address(1), with: "www.other.example") == ["corp"] && routes.share(address(1), with: "b.example") == [])
    #expect(routes.share(address(2), with: "www.other.example") == [] && routes.entries["corp"]?[address(1)]?.other == "www.other.example")
  }

  @Test("what the policies do not ask for any more ends at once") func policies() {
    var routes = RoutesByName()
    _ = routes.take(address(1), of: name, .include, in: "corp", for: .seconds(5), at: now)
    routes.adopt(["corp": PrefixesByName(excluded: [.host(address(2))])], at: now)
    var tunnel = Sample.tunnel("corp", rules: [])
    tunnel.routes = RoutePolicy()
    tunnel.routes?.includeDomains = [Sample.domain("corp.example")]
    routes.follow(PolicySet(tunnels: [tunnel]))
    #expect(routes.prefixes["corp"] == PrefixesByName(included: [.host(address(1))]))
    tunnel.routes?.includeDomains = [Sample.domain("lab.example")]
    routes.follow(PolicySet(tunnels: [tunnel]))
    #expect(routes.prefixes.isEmpty)
  }

  @Test("the kernel's routes with our metric are those of an agent before, by the link's tunnel") func adopted() {
    var kernel = KernelState()
    kernel.links = [Link(index: Sample.index(7), name: "corp", alias: Ownership.alias(ofTunnel: "work"))]
    let table = Ownership.tables.lowerBound + 3
    kernel.routes = [
      Route(to: .host(address(1)), on: "corp", table: table, metric: Route.metricByName),
      Route(to: .host(address(2)), kind: .throw, table: table, metric: Route.metricByName),
      Route(to: .host(address(3)), on: "corp", table: table),
    ]
    let found = PrefixesByName.inKernel(kernel)
    #expect(found == ["work": PrefixesByName(included: [.host(address(1))], excluded: [.host(address(2))])])
    var routes = RoutesByName()
    routes.adopt(found, at: now)
    #expect(routes.nextDeadline == now + .seconds(600) && routes.prefixes == found)
  }
}

/// The state that follows from addresses of names.
@Suite struct RoutesOfNamesTests {
  private func setup(
    _ routes: RoutePolicy, included: [String] = [], excluded: [String] = [], level: TunnelMachine.Level = .full, isGuarding: Bool = false,
    dns: DNSPolicy? = nil
  ) -> TunnelSetup {
    var setup = RoutePolicyTests().setup(routes, addresses: ["10.77.0.2/32"], allowed: ["0.0.0.0/0", "::/0"], isGuarding: isGuarding)
    setup.byName = PrefixesByName(included: included.map(Sample.prefix).ascending, excluded: excluded.map(Sample.prefix).ascending)
    setup.level = level
    setup.policy.dns = dns
    return setup
  }

  private func names(include: [String] = [], exclude: [String] = [], _ prefixes: [String] = []) -> RoutePolicy {
    var routes = RoutePolicy(include: PrefixList(prefixes.map(Sample.prefix)))
    (routes.includeDomains, routes.excludeDomains) = (include.map(Sample.domain), exclude.map(Sample.domain))
    return routes
  }

  private let cafe = RoutePolicyTests().attached("198.51.100.23/24")

  private func fit(_ backend: ResolverChoice = .file) -> UnderlayFit {
    var choice = backend
    choice.nameServer = .value(true)
    choice.reasonAgainstNameServer = backend.backend == .resolved ? "systemd-resolved knows names apart" : nil
    return UnderlayFit(cafe, resolver: choice)
  }

  @Test("addresses of included names alone go in; a family that the tunnel has not is unreachable") func included() {
    let setup = setup(names(include: ["shop.example"]), included: ["203.0.113.7/32", "2001:db8:5::7/128"])
    #expect(
      RoutePolicyTests().routes(setup, on: cafe) == ["203.0.113.7/32 dev corp metric 53", "unreachable 2001:db8:5::7/128 metric 53"])
    #expect(RoutePolicyTests().routes(self.setup(names(include: ["shop.example"])), on: cafe) == [])
    #expect(setup.policy.armingObstacle == .names)
  }

  @Test("addresses of excluded names stay outside a full tunnel, and its kill switch lets packets to them pass") func excluded() {
    let setup = setup(names(exclude: ["video.example"], ["0.0.0.0/0", "::/0"]), excluded: ["203.0.113.7/32"], isGuarding: true)
    #expect(RoutePolicyTests().routes(setup, on: cafe).contains("throw 203.0.113.7/32 metric 53"))
    let desired = DesiredState(of: [setup], on: fit())
    #expect(desired.fate(of: Sample.address("203.0.113.7")) == .outside)
    #expect(desired.fate(of: Sample.address("203.0.113.8")) == .inside(link: "corp", by: .everything(.v4)))
    #expect(desired.holdingBack(Sample.address("203.0.113.7")) == [] && desired.holdingBack(Sample.address("203.0.113.8")) == ["corp"])
  }

  @Test("while the tunnel is down its kill switch blocks known addresses, and refuses names, whose addresses it cannot know") func down() {
    let setup = setup(names(include: ["shop.example"]), included: ["203.0.113.7/32"], level: .nothing, isGuarding: true)
    let desired = DesiredState(of: [setup], on: fit())
    #expect(desired.routes.isEmpty && desired.holdingBack(Sample.address("203.0.113.7")) == ["corp"])
    #expect(desired.nameServer?.refused.map(\.text) == ["shop.example"] && desired.nameServer?.routings == [])
    let open = DesiredState(of: [self.setup(names(include: ["shop.example"]), level: .nothing)], on: fit())
    #expect(open.nameServer == nil && open.resolvConf == nil)
  }

  @Test("programs are led to our name server while such a tunnel is up, also with servers for all names") func led() {
    for servers in [[], ["10.77.0.1"]] {
      let dns = DNSPolicy(servers: servers.map(Sample.address))
      let desired = DesiredState(of: [setup(names(include: ["shop.example"]), dns: dns)], on: fit())
      #expect(desired.resolvConf?.nameServers == [NameServerSettings.address] && desired.nameServer?.routed.map(\.text) == ["shop.example"])
      let fate = desired.fate(of: Sample.domain("www.shop.example"), on: cafe, by: fit().resolver)
      #expect(fate.routes.map(\.description) == ["through corp (include-domains: shop.example)"])
      #expect(fate.askees.first?.tunnel == (servers.isEmpty ? nil : "corp"))
      #expect(desired.fate(of: Sample.domain("www.example"), on: cafe, by: fit().resolver).routes.isEmpty)
    }
  }

  @Test("systemd-resolved asks us for routed names, also for those that a tunnel's link would have") func resolved() {
    var choice = ResolverChoice.file
    choice.backend = .resolved
    let dns = DNSPolicy(
      servers: [Sample.address("10.77.0.1")], matchDomains: [Sample.pattern("git.shop.example"), Sample.pattern("corp.example")])
    let desired = DesiredState(of: [setup(names(include: ["shop.example"]), dns: dns)], on: fit(choice))
    let ours = desired.resolvedLinks[Ownership.refusalLink]
    #expect(
      ours?.servers == [NameServerSettings.addressOnLink]
        && Set(ours?.domains.compactMap(\.name?.text) ?? []) == ["shop.example", "git.shop.example"])
    #expect(desired.resolvedLinks["corp"]?.domains.compactMap(\.name?.text) == ["corp.example"])
    #expect(desired.nameServer?.shares.map(\.tunnel) == ["corp"] && desired.nameServer?.listensAt == NameServerSettings.addressOnLink)
    let fate = desired.fate(of: Sample.domain("git.shop.example"), on: cafe, by: fit(choice).resolver)
    #expect(fate.askees.first?.tunnel == "corp" && fate.routes.count == 1 && fate.ownServer == NameServerSettings.addressOnLink)
  }

  @Test(
    "a domain of the network that systemd-resolved prefers to ours is told, unless questions are captured",
    arguments: [
      ("shop.example", true), ("git.shop.example", true), ("example", false), ("cafe.example", false),
    ])
  func announced(domain: String, isTold: Bool) {
    var choice = ResolverChoice.file
    choice.backend = .resolved
    var underlay = fit(choice)
    underlay.searchDomains = [Sample.domain(domain)]
    underlay.resolver.reasonNotToCapture = nil
    func notes(_ dns: DNSPolicy?, on underlay: UnderlayFit) -> [String] {
      DesiredState(of: [setup(names(include: ["shop.example"]), dns: dns)], on: underlay).notes.map(\.description)
        .filter { $0.contains("the network announces the domain \(domain),") }
    }
    #expect(notes(nil, on: underlay).count == (isTold ? 1 : 0))
    #expect(notes(DNSPolicy(servers: [Sample.address("10.77.0.1")], names: .capture), on: underlay) == [])
    var file = fit()
    file.searchDomains = underlay.searchDomains
    #expect(notes(nil, on: file) == [])
  }

  @Test(
    "addresses that must not be routed are refused, with the reason",
    arguments: [
      ("127.0.0.9", "of this machine"), ("224.0.0.251", "multicast"), ("169.254.1.1", "link-local"), ("fe80::1", "link-local"),
      ("255.255.255.255", "broadcast"), ("10.77.0.1", "name server"), ("198.51.100.77", "attached"),
    ])
  func refused(address: String, reason: String) {
    let setup = setup(names(include: ["shop.example"]), dns: DNSPolicy(servers: [Sample.address("10.77.0.1")]))
    #expect(setup.refusal(of: Sample.address(address), .include, on: fit(), besides: [])?.contains(reason) == true)
    #expect(setup.refusal(of: Sample.address("203.0.113.7"), .include, on: fit(), besides: []) == nil)
  }

  @Test("an excluded name does not lead packets out to private prefixes of the tunnel") func rebinding() {
    let setup = setup(names(exclude: ["video.example"], ["10.77.0.0/16", "0.0.0.0/0"]))
    #expect(setup.refusal(of: Sample.address("10.77.3.4"), .exclude, on: fit(), besides: [])?.contains("private") == true)
    #expect(setup.refusal(of: Sample.address("203.0.113.7"), .exclude, on: fit(), besides: []) == nil)
    let full = self.setup(names(exclude: ["video.example"], ["0.0.0.0/0", "::/0"]))
    #expect(full.refusal(of: Sample.address("10.77.3.4"), .exclude, on: fit(), besides: [])?.contains("private") == true)
    #expect(full.refusal(of: Sample.address("198.51.100.9"), .exclude, on: fit(), besides: []) == nil)
  }

  @Test("an included name does not reach into another tunnel's private network") func neighbours() {
    let media = setup(names(include: ["cdn.example"]))
    var corp = setup(RoutePolicy(include: PrefixList([Sample.prefix("10.20.0.0/16")])))
    corp.policy.name = "other"
    #expect(
      media.refusal(of: Sample.address("10.20.1.2"), .include, on: fit(), besides: [media, corp])
        == "other includes 10.20.0.0/16, which is private")
    #expect(media.refusal(of: Sample.address("10.21.1.2"), .include, on: fit(), besides: [media, corp]) == nil)
  }
}
