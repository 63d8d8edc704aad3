import KernelModel
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Split DNS on hosts without systemd-resolved: our own name server, and the file that leads to it.
@Suite struct NameServerPlanTests {
  private static let hand = "nameserver 192.0.2.1\n"
  private let corp = Self.dns("10.0.0.53", "corp.example")
  private let lab = Self.dns("10.88.0.1", "lab.example")

  private static func dns(_ server: String, _ domain: String, whenDown: NamesWhenDown = .ask) -> DNSPolicy {
    DNSPolicy(
      servers: [IPAddress(server)].compactMap { $0 }, matchDomains: [.within(Sample.domain(domain))], whenDown: whenDown)
  }

  private static func facts(_ answer: Answer<Bool> = .value(true)) -> ResolverFacts {
    var facts = ResolverFacts(original: ResolvConfReport(parsing: hand))
    facts.nameServer = answer
    return facts
  }

  private func setup(_ name: String, _ dns: DNSPolicy, slot: UInt32, include: String, level: TunnelMachine.Level = .full) -> TunnelSetup {
    let routes = RoutePolicy(include: [Sample.prefix(include)])
    let configuration = Sample.wireGuard()
    let device = WireGuardDevice(
      engine: .kernel, privateKey: configuration.privateKey, publicKey: configuration.publicKey, peers: configuration.peers)
    var setup = TunnelSetup(
      policy: Sample.tunnel(name, rules: [], routes: routes, dns: dns), level: level, slot: slot, link: name, device: .wireGuard(device))
    setup.refusesNames = dns.refusesWhenDown && level == .nothing
    return setup
  }

  private func desired(_ setups: [TunnelSetup], _ facts: ResolverFacts = Self.facts()) -> DesiredState {
    let cafe = Sample.network(Sample.wifi("Cafe", domains: ["cafe.example"], servers: ["198.51.100.1"]))
    return DesiredState(of: setups, on: UnderlayFit(cafe, resolver: ResolverChoice(facts, file: .file(Self.hand))))
  }

  private func lines(_ plan: Plan) -> [String] { plan.steps.filter(\.isOfResolver).map(\.description) }

  private func state(_ facts: ResolverFacts = Self.facts()) -> SimulatedState {
    var state = SimulatedState()
    state.keepResolver(ObservedResolver(facts: facts), file: .file(Self.hand))
    return state
  }

  @Test("two tunnels have their own names, the network all others; the name server starts before the file leads to it, and ends after it")
  func shares() throws {
    var state = state()
    let wanted = desired([setup("corp", corp, slot: 0, include: "10.0.0.0/16"), setup("lab", lab, slot: 1, include: "10.88.0.0/16")])
    let plan = Plan(from: state.observed, to: wanted)
    #expect(
      lines(plan) == [
        "resolv.conf: nameserver 127.82.0.53, search cafe.example",
        "roamward-names at 127.82.0.53: corp.example 10.0.0.53; lab.example 10.88.0.1; . 198.51.100.1",
      ])
    #expect(wanted.nameServer?.blocked == [Sample.prefix("10.0.0.0/16"), Sample.prefix("10.88.0.0/16")])
    #expect(wanted.notes.isEmpty)
    state.apply(plan.steps)
    #expect(Plan(from: state.observed, to: wanted).isEmpty)
    let end = Plan(from: state.observed, to: desired([]))
    #expect(lines(end) == ["resolv.conf: put back the file that stood there", "roamward-names: end"])
    let other = Sample.network(Sample.wifi("Other", servers: ["203.0.113.1"]))
    let moved = DesiredState(
      of: [setup("corp", corp, slot: 0, include: "10.0.0.0/16")],
      on: UnderlayFit(other, resolver: ResolverChoice(Self.facts(), file: .file(Self.hand))))
    #expect(moved.nameServer != wanted.nameServer)
  }

  @Test("each name's fate") func fates() {
    let refusing = Self.dns("10.99.0.1", "secret.lab.example", whenDown: .refuse)
    let state = desired([
      setup("corp", corp, slot: 0, include: "10.0.0.0/16"), setup("lab", lab, slot: 1, include: "10.88.0.0/16"),
      setup("secret", refusing, slot: 2, include: "10.99.0.0/16", level: .nothing),
    ])
    let network = Sample.network(Sample.wifi("Cafe", servers: ["198.51.100.1"]))
    func servers(_ name: String) -> [String] {
      let fate = state.fate(of: Sample.domain(name), on: network, by: .file)
      return fate.refusal != nil ? ["refused"] : fate.askees.flatMap(\.servers).map(\.description)
    }
    #expect(servers("wiki.corp.example") == ["10.0.0.53"])
    #expect(servers("lab.example") == ["10.88.0.1"])
    #expect(servers("xlab.example") == ["198.51.100.1"])
    #expect(servers("a.secret.lab.example") == ["refused"])
    #expect(servers("www.example") == ["198.51.100.1"])
  }

  @Test("of two tunnels that claim a name the first has it, and that is told") func conflict() {
    let state = desired([
      setup("corp", corp, slot: 0, include: "10.0.0.0/16"),
      setup("other", Self.dns("10.88.0.1", "corp.example"), slot: 1, include: "10.88.0.0/16"),
    ])
    #expect(state.nameServer?.shares.map(\.tunnel) == ["corp"])
    #expect(
      state.notes.map(\.description) == [
        "other: its name servers get no queries for corp.example, because those of corp are"
      ])
  }

  @Test("a public prefix of a tunnel, and one that the machine reaches by itself, may be in answers of the network") func allowed() {
    #expect(desired([setup("corp", corp, slot: 0, include: "203.0.113.0/24")]).nameServer?.blocked == [])
  }

  @Test("one tunnel for every name needs no name server; without one, one list answers all, and the reason is told") func without() {
    let all = DNSPolicy(servers: corp.servers)
    let single = desired([setup("corp", all, slot: 0, include: "10.0.0.0/16")])
    #expect(single.nameServer == nil && single.resolvConf?.nameServers == corp.servers)
    let missing = desired([setup("corp", corp, slot: 0, include: "10.0.0.0/16")], Self.facts(.unavailable(reason: "port 53 is taken")))
    #expect(missing.nameServer == nil && missing.resolvConf?.nameServers == corp.servers)
    #expect(missing.notes.map(\.description).contains { $0.contains("split DNS is not possible with resolv.conf (port 53 is taken)") })
  }

  @Test("where glibc asks systemd-resolved past resolv.conf, both have the names, and both refuse them") func bothWays() throws {
    var facts = Self.facts()
    facts.resolved = .value(true)
    facts.hosts = HostsLookup(parsing: "hosts: files resolve [!UNAVAIL=return] dns")
    facts.hasResolveModule = true
    let refusing = Self.dns("10.99.0.1", "secret.example", whenDown: .refuse)
    let wanted = desired(
      [
        setup("corp", corp, slot: 0, include: "10.0.0.0/16"),
        setup("lab", Self.dns("10.88.0.1", "corp.example"), slot: 1, include: "10.88.0.0/16"),
        setup("secret", refusing, slot: 2, include: "10.99.0.0/16", level: .nothing),
      ], facts)
    #expect(wanted.resolvedLinks["corp"]?.description == "dns 10.0.0.53 domain ~corp.example default-route no dnssec no")
    #expect(wanted.resolvedLinks[Ownership.refusalLink]?.domains.map(\.description) == ["~secret.example"])
    #expect(wanted.nameServer?.shares.map(\.tunnel) == ["corp"] && wanted.nameServer?.refused == [Sample.domain("secret.example")])
    #expect(wanted.resolvConf?.namesOwnServer == true)
    // Both ways have the same conflict; it is told once.
    #expect(wanted.notes.count == 1, "\(wanted.notes)")
    var state = state(facts)
    let plan = Plan(from: state.observed, to: wanted)
    #expect(plan.steps.contains { if case .setLinkResolver(_, link: "corp") = $0 { true } else { false } })
    state.apply(plan.steps)
    #expect(Plan(from: state.observed, to: wanted).isEmpty)
  }

  @Test("Debian's resolvconf gets a record of `lo`") func record() {
    var facts = ResolverFacts(target: "/etc/resolvconf/run/resolv.conf", resolvconf: .debian)
    facts.nameServer = .value(true)
    let cafe = Sample.network(Sample.wifi("Cafe", servers: ["198.51.100.1"]))
    let choice = ResolverChoice(facts, file: .untouchable(reason: "a link"))
    let state = DesiredState(of: [setup("corp", corp, slot: 0, include: "10.0.0.0/16")], on: UnderlayFit(cafe, resolver: choice))
    #expect(state.record?.name == "lo.roamward" && state.record?.content.nameServers == [NameServerSettings.address])
    #expect(state.resolvConf == nil && state.nameServer?.network.map(\.description) == ["198.51.100.1"])
    // Without the name server, the tunnel's servers take its place in the same record: the file never names the network's meanwhile.
    facts.nameServer = .unavailable(reason: "it was killed")
    let without = UnderlayFit(cafe, resolver: ResolverChoice(facts, file: .untouchable(reason: "a link")))
    #expect(DesiredState(of: [setup("corp", corp, slot: 0, include: "10.0.0.0/16")], on: without).record?.name == "lo.roamward")
  }
}
