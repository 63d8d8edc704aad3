import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// Tunnels that belong to users, and rules by users.
@Suite struct OwnerTests {
  private func network(_ users: Fact<[UserName]>) -> NetworkSnapshot {
    var network = Sample.network(Sample.wifi("Cafe"))
    network.users = users
    return network
  }

  private static let policies: PolicySet = {
    var own = Sample.tunnel("own", rules: [Sample.rule(.always, .connect)])
    own.availability.owner = UserName("alice")
    var off = own
    (off.name, off.isEnabled) = ("off", false)
    return PolicySet(tunnels: [own, off, Sample.tunnel("all", rules: [Sample.rule(.always, .connect)])])
  }()

  private func decisions(_ users: Fact<[UserName]>) -> [Decision] {
    Evaluator(networks: []).decide(Self.policies, on: network(users))
  }

  @Test("a tunnel with an owner is acted on while the owner is logged in, or that is unknown; its policy's own word comes first")
  func acts() {
    for present: Fact<[UserName]> in [.known(Sample.users("alice", "bob")), .unknown(reason: "no logind")] {
      #expect(decisions(present).map(\.inert) == [nil, .disabled, nil])
    }
    let away = decisions(.known(Sample.users("bob")))
    #expect(away.map(\.inert) == [.ownerAway(Sample.users("alice")[0]), .disabled, nil])
    #expect(away[0].code == .ownerAway && away[0].reason.hasPrefix("not acted on, because it belongs to alice, who is not logged in"))
  }

  @Test("where the owner is away, nothing is wanted of it: no kill switch, no names, not by hand; what goes through it says why")
  func absent() throws {
    var set = Self.policies
    set.tunnels[0].killSwitch = .always
    set.tunnels[2].through = OuterTunnel("own", location: Sample.place())
    #expect(set.owners == ["own": Sample.users("alice")[0], "off": Sample.users("alice")[0]])
    #expect(set.owned(by: .known(Sample.users("alice", "bob"))).isSameValue(as: set) && !set.owned(by: .notNeeded).tunnels[0].isEnabled)
    let away = set.owned(by: .known([]))
    let tunnel = try #require(away.tunnel(named: "own"))
    #expect(!tunnel.isEnabled && tunnel.availability.isEnabled && tunnel.availability.absentOwner?.text == "alice")
    let manual = ManualOverride(wantsUp: true, since: 0, lifetime: .resume)
    let decision = Evaluator(networks: []).decide(tunnel, on: network(.known([])))
    #expect(Intent(tunnel, decision: decision, override: manual) == .down)
    let decided = Evaluator(networks: []).decide(set, on: network(.known([])))
    #expect(decided[2].inert == .blocked(by: "own", .ownerAway(Sample.users("alice")[0])))
    #expect(decided[2].inert?.text == "it goes through own, which belongs to alice, who is not logged in")
    #expect(away.owned(by: .known(Sample.users("alice"))) == set && set.owned(by: .unknown(reason: "x")) == set)
    #expect(set.neededFacts.contains(.users) && !PolicySet(tunnels: [set.tunnels[2]]).neededFacts.contains(.users))
  }

  @Test("a rule asks whether one of some users is logged in") func rules() {
    func decide(_ users: Fact<[UserName]>) -> Decision {
      Evaluator(networks: []).decide(
        Sample.tunnel(rules: [Sample.rule(.loggedIn(Sample.users("alice", "carol")), .connect), Sample.rule(.always, .disconnect)]),
        on: network(users), patience: .isOver)
    }
    #expect(decide(.known(Sample.users("bob", "carol"))).outcome == .connect)
    #expect(decide(.known([])).outcome == .disconnect && decide(.known(Sample.users("bob"))).outcome == .disconnect)
    #expect(decide(.unknown(reason: "no logind")).outcome == .connect)
    #expect(decide(.known([])).trace[0].finding.reason == "no user is logged in")
  }

  @Test("names of users are those of this machine and of directories") func names() {
    for name in ["alice", "a", "a@corp.example", "CORP\\alice", "_apt", "jos\u{e9}", "no", "x86"] { #expect(UserName(name)?.text == name) }
    for name in ["", "a b", "a:b", "a/b", "-a", "1000", "a\n", "a\u{7f}", String(repeating: "a", count: 257), "a\u{202e}b"] {
      #expect(UserName(name) == nil, "\(name)")
    }
  }
}
