import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// Decisions on groups without an agent, and beside other tunnels.
@Suite struct GroupDecisionTests {
  static let cafe = Sample.network(Sample.wifi("Cafe"))

  private func set(_ precedence: TunnelClass = .personal, others: [TunnelPolicy] = []) -> PolicySet {
    let tunnels = ["paris", "lyon", "tcp"].map { Sample.tunnel($0, rules: [Sample.rule(.always, .connect)], precedence: precedence) }
    let group = TunnelGroup(
      name: "work", members: tunnels.map { TunnelGroup.Member($0.name, location: $0.location) }, onDemand: tunnels[0].onDemand,
      location: Sample.place())
    return PolicySet(tunnels: others + tunnels, groups: [group])
  }

  private func inert(_ set: PolicySet, _ overrides: [String: ManualOverride] = [:], turns: [String: GroupTurn] = [:]) -> [Inert?] {
    Evaluator(networks: []).decide(set, on: Self.cafe, under: overrides, turns: turns).map(\.inert)
  }

  private func override(_ up: Bool) -> ManualOverride { ManualOverride(wantsUp: up, since: 1, lifetime: .resume) }

  @Test("the first usable member is acted on; people and the agent's turn come before") func first() {
    let standby = { Inert.standby(in: "work", for: $0) }
    #expect(inert(set()) == [nil, standby("paris"), standby("paris")])
    #expect(inert(set(), ["paris": override(false)]) == [standby("lyon"), nil, standby("lyon")])
    #expect(inert(set(), ["tcp": override(true)]) == [standby("tcp"), standby("tcp"), .overridden(wantsUp: true)])
    var disabled = set()
    disabled.tunnels[0].isEnabled = false
    #expect(inert(disabled) == [.disabled, nil, standby("lyon")])
    let turn = GroupTurn(group: "work", members: ["paris", "lyon", "tcp"], member: "lyon", trial: "paris")
    #expect(inert(set(), turns: ["work": turn]) == [nil, nil, standby("lyon")], "the trial may be up too")
    let decisions = Evaluator(networks: []).decide(set(), on: Self.cafe)
    #expect(report(decisions, explained: false).contains("not acted on: its group work uses paris"))
    #expect(
      explanation(of: set().groups[0], decisions).hasPrefix(
        "group work, in the order of its list: paris is in use, lyon stands by, tcp stands by  ("))
  }

  @Test("of a group of enterprise tunnels only the member in use competes with others") func enterprise() {
    let other = Sample.tunnel("hq", rules: [Sample.rule(.always, .connect)], precedence: .enterprise)
    let standby = { Inert.standby(in: "work", for: $0) }
    #expect(inert(set(.enterprise, others: [other])) == [nil, .excluded(by: "hq"), standby("paris"), standby("paris")])
    let turn = GroupTurn(group: "work", members: ["paris", "lyon", "tcp"], member: "lyon", trial: "paris")
    #expect(inert(set(.enterprise), turns: ["work": turn]) == [nil, nil, standby("lyon")])
    // A group that has to be down has no trial either.
    let excluded = inert(set(.enterprise, others: [other]), turns: ["work": turn])
    #expect(excluded == [nil, .excluded(by: "lyon"), .excluded(by: "hq"), standby("lyon")])
  }

  @Test("at rest one member is up, and the kill switches of all are closed") func atRest() {
    var policies = set()
    for i in policies.tunnels.indices { policies.tunnels[i].killSwitch = .on }
    let setups = DesiredTunnels(policies, on: Self.cafe).atRest.setups
    #expect(setups.filter { $0.level.hasRoutes }.map(\.policy.name) == ["paris"])
    #expect(setups.filter(\.isGuarding).count == 3)
  }

  @Test("a member that stands by has its names refused only if those of the one in use are others") func names() {
    var policies = set()
    for i in policies.tunnels.indices {
      policies.tunnels[i].dns = DNSPolicy(
        servers: [Sample.address("10.0.0.53")], matchDomains: [Sample.pattern(i == 2 ? "other.example" : "corp.example")], whenDown: .refuse
      )
    }
    let setups = DesiredTunnels(policies, on: Self.cafe).atRest.setups
    #expect(setups.filter(\.refusesNames).map(\.policy.name).sorted() == ["paris", "tcp"], "its own are refused while it is down")
  }
}
