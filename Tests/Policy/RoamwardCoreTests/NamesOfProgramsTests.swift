import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// Names of programs with a route of their own, as plans: with each DNS backend they are looked up where the programs' packets go.
@Suite("Names of programs, planned") struct NamesOfProgramsTests {
  private static let stub = ResolverFacts(target: "/run/systemd/resolve/stub-resolv.conf", resolved: .value(true))
  private static let list = ResolverFacts(original: ResolvConfReport(parsing: "nameserver 198.51.100.1\n"))
  private static let local = ResolverFacts(original: ResolvConfReport(parsing: "nameserver 127.0.0.1\n"))

  private func choice(_ facts: ResolverFacts, _ nameServer: Answer<Bool> = .value(true)) -> ResolverChoice {
    var facts = facts
    facts.nameServer = nameServer
    return ResolverChoice(facts, file: facts.target == nil ? .file("") : .untouchable(reason: "a link"))
  }

  private func tunnel(level: TunnelMachine.Level = .full, split: Bool = false, servers: [String] = ["10.0.0.53"]) -> TunnelSetup {
    var policy = Sample.tunnel("corp", rules: [Sample.rule(.always, .connect)])
    policy.routes = RoutePolicy(include: [Sample.prefix("10.0.0.0/16")])
    policy.dns = DNSPolicy(servers: servers.map(Sample.address), matchDomains: split ? [Sample.pattern("corp.example")] : [])
    return TunnelSetup(policy: policy, level: level, slot: 500, link: "corp", device: .foreign, isGuarding: false)
  }

  private let programs = [
    ProgramGroup(
      path: "/a/roamward-1-through-1", group: ProviderGroup(number: 9, level: 2), route: .through("corp", number: 1), user: 1000),
    ProgramGroup(path: "/a/roamward-1-outside", group: ProviderGroup(number: 10, level: 2), route: .outside, user: 1000),
  ]

  private func desired(
    _ tunnel: TunnelSetup, _ choice: ResolverChoice, programs: [ProgramGroup]? = nil, network: [String] = ["198.51.100.1"]
  ) -> DesiredState {
    let cafe = Sample.network(Sample.wifi("Cafe", servers: network))
    return DesiredState(of: [tunnel], on: UnderlayFit(cafe, resolver: choice), programs: programs ?? self.programs)
  }

  private func redirections(_ desired: DesiredState) -> [String] {
    guard case .table(let table) = desired.firewall else { return [] }
    let chain = table.transaction.components(between: "chain programs_names {", and: "  }\n") ?? ""
    return chain.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter { $0.contains("dnat ip to 127.82") }
  }

  private func servers(_ desired: DesiredState) -> [UInt16: [String]] {
    Dictionary(uniqueKeysWithValues: desired.nameServer?.programs?.routes.map { ($0.number, $0.servers.map(\.description)) } ?? [])
  }

  @Test("systemd-resolved: what they ask its stub comes to our own name server, which leads nobody else") func resolved() {
    let desired = desired(tunnel(split: true), choice(Self.stub))
    #expect(
      redirections(desired) == [
        "meta mark 0x52400000 ip daddr { 127.0.0.53, 127.0.0.54 } meta l4proto { tcp, udp } th dport 53 dnat ip to 127.82.0.53:20954",
        "meta mark 0x52c00001 ip daddr { 127.0.0.53, 127.0.0.54 } meta l4proto { tcp, udp } th dport 53 dnat ip to 127.82.0.53:20955",
      ])
    #expect(servers(desired) == [0: ["198.51.100.1"], 1: ["10.0.0.53"]])
    #expect(desired.resolvConf == nil && desired.notes.isEmpty)
    guard case .table(let table) = desired.firewall else { Issue.record("no table"); return }
    for (port, mark) in [(20954, "0x52400000"), (20955, "0x52c00001")] {
      for address in ["ip daddr 127.82.0.53", "ip6 daddr ::1"] {
        let rule = "\(address) meta l4proto { tcp, udp } th dport \(port) meta mark != \(mark) counter drop"
        #expect(table.transaction.contains(rule), "\(rule)")
      }
    }
  }

  @Test("our own name server: what they ask it comes to another port of it") func own() {
    let desired = desired(tunnel(split: true), choice(Self.list))
    #expect(desired.resolvConf?.nameServers == [NameServerSettings.address])
    #expect(redirections(desired).allSatisfy { $0.contains("ip daddr { 127.82.0.53 } ") } && redirections(desired).count == 2)
    #expect(servers(desired) == [0: ["198.51.100.1"], 1: ["10.0.0.53"]])
  }

  @Test("a list with the tunnel's servers: those of programs outside alone, for all others ask servers through their own route")
  func listed() {
    let desired = desired(tunnel(), choice(Self.list))
    #expect(desired.resolvConf?.nameServers.map(\.description) == ["10.0.0.53"])
    #expect(redirections(desired).map { $0.hasPrefix("meta mark 0x52400000 ip daddr { 10.0.0.53 } ") } == [true])
    #expect(servers(desired) == [0: ["198.51.100.1"]])
  }

  @Test("a resolver of this machine: programs outside ask it through us, past the tunnels") func local() {
    let desired = desired(tunnel(), choice(Self.local), network: ["127.0.0.1"])
    #expect(redirections(desired).map { $0.contains("127.0.0.1") } == [true, true])
    #expect(servers(desired) == [0: ["127.0.0.1"], 1: ["10.0.0.53"]])
  }

  @Test("without their tunnel they have no names; with one that has no servers, those of this machine") func without() {
    #expect(servers(desired(tunnel(level: .nothing), choice(Self.local)))[1] == [])
    #expect(servers(desired(tunnel(servers: []), choice(Self.local)))[1] == nil)
  }

  @Test("where our own name server cannot run, their questions fail, and the reason is told") func impossible() {
    let desired = desired(tunnel(split: true), choice(Self.stub, .unavailable(reason: "named has taken port 53")))
    #expect(redirections(desired).count == 2 && desired.nameServer == nil)
    #expect(desired.notes.map(\.text).contains { $0.hasSuffix(": named has taken port 53") }, "\(desired.notes)")
  }

  @Test("nothing changes without such programs, and a class without a port is refused") func none() {
    let before = desired(tunnel(split: true), choice(Self.stub), programs: [])
    #expect(before.nameServer == nil && before.firewall == .open)
    let many = ProgramGroup(path: "/b", group: ProviderGroup(number: 1, level: 1), route: .through("corp", number: 16), user: 0)
    let desired = desired(tunnel(split: true), choice(Self.stub), programs: [many])
    guard case .table(let table) = desired.firewall else { Issue.record("no table"); return }
    let rule = "meta mark 0x52c00010 ip daddr { 127.0.0.53, 127.0.0.54 } meta l4proto { tcp, udp } th dport 53 counter drop"
    #expect(table.transaction.contains(rule))
  }
}
