import AgentCore
import ControlProtocol
import JSON
import KernelModel
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// A tunnel that belongs to a user, on a machine in virtual time.
@Suite struct OwnerTests {
  private static func cafe(_ users: String...) -> NetworkSnapshot {
    var cafe = Sample.network(Sample.wifi("Cafe"))
    cafe.users = .known(users.compactMap { UserName($0) })
    return cafe
  }

  private func life(_ users: String...) -> WatchedAgent {
    var tunnel = Sample.tunnel("corp", rules: [Sample.rule(.always, .connect)])
    tunnel.availability.owner = UserName("alice")
    tunnel.killSwitch = .on
    var cafe = Self.cafe()
    cafe.users = .known(users.compactMap { UserName($0) })
    let life = WatchedAgent(tunnel, on: cafe)
    life.start()
    return life
  }

  private func change(_ network: NetworkSnapshot, _ life: WatchedAgent) {
    life.machine.network = network
    life.agent.networkChanged()
    life.machine.run(for: .seconds(2))
  }

  @Test("is up while the owner is logged in, also beside others, and down when the owner leaves, with the reason and without a kill switch")
  func follows() throws {
    let life = life("bob")
    #expect(try life.tunnel().state == "disconnected" && life.tunnel().code == .ownerAway && life.tunnel().owner == "alice")
    #expect(try life.tunnel().reason == "it belongs to alice, who is not logged in" && life.status.firewall.guards == [])
    change(Self.cafe("alice", "bob"), life)
    #expect(try life.tunnel().state == "connected" && life.status.firewall.guards == ["corp"])
    change(Self.cafe("alice"), life)
    #expect(try life.tunnel().state == "connected")
    change(Self.cafe(), life)
    #expect(try life.tunnel().state == "disconnected" && life.tunnel().code == .ownerAway && life.status.firewall.guards == [])
    #expect(life.machine.state.observed.kernel.links.isEmpty && life.machine.state.observed.kernel.ownRoutes.isEmpty)
  }

  @Test("cannot be started by hand while the owner is away, and a person's word holds when the owner is back") func byHand() throws {
    let life = life("alice")
    try life.agent.override("corp", OverrideRequest(wantsUp: false, until: .resume))
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel().state == "disconnected" && life.tunnel().code == .manualOverride)
    change(Self.cafe(), life)
    #expect(throws: RequestError(code: .disabled, message: "corp belongs to alice, who is not logged in")) {
      try life.agent.override("corp", OverrideRequest(wantsUp: true))
    }
    change(Self.cafe("alice"), life)
    #expect(try life.tunnel().state == "disconnected" && life.tunnel().code == .manualOverride)
    try life.agent.resume("corp")
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel().state == "connected")
  }

  @Test("is in no report and no event for others, whatever names it") func hidden() throws {
    let life = life("alice")
    change(Self.cafe(), life)
    let view = Visibility(hiding: ["corp"])
    #expect(!JSON(encoding: view.shown(life.status)).text().contains("corp"))
    let shown = life.events.compactMap { view.shown($0) }
    #expect(shown.count < life.events.count && shown.allSatisfy { $0.tunnel == nil })
    #expect(shown.allSatisfy { !JSON(encoding: Event(time: 0, kind: $0).report).text().contains("corp") })
    #expect(life.events.compactMap { Visibility(hiding: []).shown($0) } == life.events)
    let guarded = self.life("alice").status.firewall
    #expect(view.shown(guarded).guards == ["another user's tunnel"] && view.shown(guarded).code == guarded.code)
  }

  @Test(
    "hides a remark that has its name as a word, and none that has it inside another word",
    arguments: [
      ("corp: the key has no effect", true), ("policies/corp.yaml:3:1: unknown key", true), ("the link 'rw-corp' is another's", true),
      ("scorpion: the key has no effect", false), ("corporate.yaml: unknown key", false), ("corp2 is up, and so is corp", true),
      ("nothing", false),
    ])
  func remarks(text: String, isHidden: Bool) {
    let life = life("alice")
    var whole = life.status
    whole.policy.problems = [
      .init(file: "x.yaml", line: 1, column: 1, severity: "warning", message: text),
      .init(file: text, line: 1, column: 1, severity: "warning", message: "unknown key"),
    ]
    whole.policy.replacedFiles = [.init(file: text, line: 1, since: nil)]
    #expect(Visibility(hiding: ["corp"]).shown(whole).policy.replacedFiles.isEmpty == isHidden)
    #expect(Visibility(hiding: ["corp"]).shown(whole).policy.problems.isEmpty == isHidden)
  }
}
