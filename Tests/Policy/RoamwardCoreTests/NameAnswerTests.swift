import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// `roamward dns NAME --ask`: the servers on an answer's way.
@Suite("The way of an answer") struct NameAnswerTests {
  private static let resolved = ResolverFacts(target: "/run/systemd/resolve/stub-resolv.conf", resolved: .value(true))
  private static let hand = ResolverFacts(original: ResolvConfReport(parsing: "nameserver 198.51.100.1\n"))
  private static let split = DNSPolicy(servers: [Sample.address("10.0.0.53")], matchDomains: [Sample.pattern("corp.example")])
  private static let elsewhere = "the plan would use another server: its DNS settings are not active now"
  private let cafe = Sample.network(Sample.wifi("Cafe", servers: ["198.51.100.1"]))

  private func corp(_ dns: DNSPolicy = split, level: TunnelMachine.Level = .full, include: IPPrefix = Sample.prefix("10.0.0.0/16"))
    -> TunnelSetup
  {
    let configuration = Sample.wireGuard()
    let device = WireGuardDevice(
      engine: .kernel, privateKey: configuration.privateKey, publicKey: configuration.publicKey, peers: configuration.peers)
    let policy = Sample.tunnel("corp", rules: [], routes: RoutePolicy(include: [include]), dns: dns)
    return TunnelSetup(policy: policy, level: level, slot: 0, link: "corp", device: .wireGuard(device))
  }

  private func choice(_ facts: ResolverFacts = hand) -> ResolverChoice {
    var facts = facts
    facts.nameServer = .value(true)
    return ResolverChoice(facts, file: facts.target == nil ? .file("") : .untouchable(reason: "a link"))
  }

  private func desired(_ setups: [TunnelSetup], _ choice: ResolverChoice) -> DesiredState {
    DesiredState(of: setups, on: UnderlayFit(cafe, resolver: choice))
  }

  /// The text of an answer, without its time and address.
  private func lines(
    _ name: String, by source: NameAnswer.Source, _ setups: [TunnelSetup], _ facts: ResolverFacts = hand, isCaptured: Bool = false
  ) -> [String] {
    let choice = choice(facts)
    let desired = self.desired(setups, choice)
    var observed = ObservedState()
    if isCaptured { observed.nameCapture = .table(digest: "", isIntact: true, isGuarding: false) }
    let fate = desired.fate(of: Sample.domain(name), on: cafe, by: choice)
    let answer = NameAnswer(addresses: [Sample.address("192.0.2.7")], by: source)
    let lines = desired.lines(of: answer, after: .milliseconds(3), for: fate, on: cafe, by: choice, in: observed)
    #expect(lines.first?.hasSuffix(" in 3 ms: 192.0.2.7") == true, "\(lines)")
    return lines.map { $0.replacing("answered by ", with: "").replacing(" in 3 ms: 192.0.2.7", with: "") }
  }

  private static func server(_ text: String) -> NameAnswer.Source { .server(Sample.address(text)) }

  @Test("answers of the network are withheld or allowed, those of the tunnel are neither") func rebinding() {
    var allowing = Self.split
    allowing.rebindAllowed = [Sample.domain("home.example")]
    let choice = choice()
    func rebinding(_ name: String, _ dns: DNSPolicy) -> NameFate.Rebinding? {
      desired([corp(dns)], choice).fate(of: Sample.domain(name), on: cafe, by: choice).rebinding
    }
    #expect(rebinding("nas.home.example", Self.split) == .withheld([Sample.prefix("10.0.0.0/16")]))
    #expect(rebinding("nas.home.example", allowing) == .allowed(Sample.domain("home.example")))
    #expect(rebinding("nas.other.example", allowing) == .withheld([Sample.prefix("10.0.0.0/16")]))
    #expect(rebinding("wiki.corp.example", allowing) == nil)
  }

  @Test("by resolv.conf our own name server answers, and asks the tunnel's servers or the network's") func stub() {
    let stub = Self.server("127.82.0.53")
    #expect(lines("wiki.corp.example", by: stub, [corp()]) == ["roamward-names (127.82.0.53), which asks 10.0.0.53 (corp),"])
    #expect(lines("www.example", by: stub, [corp()]) == ["roamward-names (127.82.0.53), which asks 198.51.100.1,"])
    #expect(lines("www.example", by: stub, []) == ["roamward-names (127.82.0.53)", Self.elsewhere])
    #expect(lines("www.example", by: Self.server("198.51.100.1"), [corp()]) == ["198.51.100.1", Self.elsewhere])
    #expect(lines("www.example", by: .machine, [corp()]) == ["this machine (/etc/hosts, or a cache)"])
  }

  @Test("`roamward dns` names our own name server where a question passes it, and no closed port that refuses") func stations() {
    func station(_ name: String, _ setups: [TunnelSetup], _ facts: ResolverFacts) -> String? {
      desired(setups, choice(facts)).fate(of: Sample.domain(name), on: cafe, by: choice(facts)).wayStation
    }
    var refusing = Self.split
    (refusing.whenDown, refusing.names) = (.refuse, .capture)
    var down = corp(refusing, level: .nothing)
    down.refusesNames = true
    for name in ["wiki.corp.example", "www.example"] {
      #expect(station(name, [corp()], Self.hand) == "roamward-names (127.82.0.53)")
      #expect(station(name, [], Self.hand) == nil)
      #expect(station(name, [corp()], Self.resolved) == nil)
      #expect(station(name, [down], Self.resolved) == nil)
    }
    #expect(station("wiki.corp.example", [down], Self.hand) == "roamward-names (127.82.0.53)")
    down.watch = NameWatch(
      tunnel: "corp", servers: refusing.servers, entries: [NameWatch.Entry(domains: refusing.ownDomains, fate: .always)])
    #expect(station("wiki.corp.example", [down], Self.resolved) == "roamward-names (192.0.0.8, asked by systemd-resolved)")
    #expect(station("www.example", [down], Self.resolved) == nil)
  }

  @Test("without our own name server the answerer is the server itself") func direct() {
    let all = DNSPolicy(servers: [Sample.address("10.0.0.53")])
    #expect(lines("www.example", by: Self.server("10.0.0.53"), [corp(all)]) == ["10.0.0.53 (corp)"])
    #expect(lines("www.example", by: Self.server("198.51.100.1"), [corp(all)]) == ["198.51.100.1", Self.elsewhere])
    #expect(lines("wiki.corp.example", by: .link("corp"), [corp()], Self.resolved) == ["corp (corp)"])
    #expect(lines("wiki.corp.example", by: .link("wlan0"), [corp()], Self.resolved) == ["wlan0", Self.elsewhere])
  }

  @Test("systemd-resolved asks it by its link for the names that start a tunnel") func link() {
    var down = corp(level: .nothing)
    let entries = [
      NameWatch.Entry(domains: [Sample.domain("corp.example")], fate: .always),
      NameWatch.Entry(domains: [Sample.domain("lab.example")], fate: .ifNeeded(servers: [])),
    ]
    down.watch = NameWatch(tunnel: "corp", servers: [Sample.address("10.0.0.53")], entries: entries)
    let link = NameAnswer.Source.link(Ownership.refusalLink)
    let own = "roamward-names (192.0.0.8, asked by systemd-resolved)"
    #expect(lines("wiki.corp.example", by: link, [down], Self.resolved) == ["\(own), which asks 10.0.0.53 (corp),"])
    #expect(lines("box.lab.example", by: link, [down], Self.resolved) == ["\(own), which asks 198.51.100.1 first,"])
    #expect(lines("www.example", by: .link("wlan0"), [down], Self.resolved) == ["wlan0"])
    #expect(lines("wiki.corp.example", by: link, [], Self.resolved) == [own, Self.elsewhere])
  }

  @Test("where programs of glibc ask systemd-resolved past resolv.conf, its answer by the tunnel's link is the plan's")
  func pastResolvConf() {
    var facts = Self.hand
    facts.resolved = .value(true)
    facts.hosts = HostsLookup(parsing: "hosts: files resolve [!UNAVAIL=return] dns")
    facts.hasResolveModule = true
    #expect(lines("wiki.corp.example", by: .link("corp"), [corp()], facts) == ["corp (corp)"])
    #expect(lines("www.example", by: .link("wlan0"), [corp()], facts) == ["wlan0"])
  }

  @Test("captured questions of systemd-resolved, and of programs that ask a server outside") func captured() {
    var dns = Self.split
    dns.names = .capture
    let capture = "roamward-names (`names: capture`)"
    let wifi = lines("www.example", by: .link("wlan0"), [corp(dns)], Self.resolved, isCaptured: true)
    #expect(wifi == ["wlan0 through \(capture)"])
    #expect(lines("www.example", by: .link("wlan0"), [corp(dns)], Self.resolved) == ["wlan0"])
    // A server with a private address inside the tunnel is asked directly.
    #expect(lines("wiki.corp.example", by: .link("corp"), [corp(dns)], Self.resolved, isCaptured: true) == ["corp (corp)"])
    let all = DNSPolicy(servers: [Sample.address("203.0.113.9")], names: .capture)
    let full = corp(all, include: .everything(.v4))
    let inside = lines("www.example", by: Self.server("203.0.113.9"), [full], isCaptured: true)
    #expect(inside == ["203.0.113.9 (corp) through \(capture)"])
    let other = lines("www.example", by: Self.server("198.51.100.1"), [full], isCaptured: true)
    #expect(other == ["\(capture), which asks 203.0.113.9 (corp) in place of 198.51.100.1,"])
    let outside = lines("www.example", by: Self.server("198.51.100.1"), [corp(dns)], isCaptured: true)
    #expect(outside == ["198.51.100.1 through \(capture)", Self.elsewhere])
  }
}
