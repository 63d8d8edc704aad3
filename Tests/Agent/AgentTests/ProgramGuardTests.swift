import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Control groups in memory, and what was done to them.
private final class Groups {
  var log: [String] = []
  var found: [ProgramGuard] = []
  var failure: String?
  /// The handlers that wait for the end of `roamward guard`, by process.
  var ended: [Int32: (GuardEnd) -> Void] = [:]
  /// The handlers that wait for the end of the processes in a group.
  var emptied: [(Bool) -> Void] = []

  var platform: GuardPlatform {
    GuardPlatform(
      namespace: 7, found: { [self] in found }, claim: { [self] in log.append("claim \($0)") },
      makeGroup: { [self] process throws(PlatformError) in
        if let failure { throw PlatformError(failure) }
        log.append("group \(process)")
        return ProviderGroup(number: UInt64(process), level: 4)
      }, admit: { [self] in log.append("admit \($0.process)") }, watch: { [self] in ended[$0.process] = $1 },
      end: { [self] program, done in
        log.append("end \(program.process)")
        emptied.append(done)
      }, hold: { [self] in log.append("hold \($0.process)") }, forget: { [self] in log.append("forget \($0.process)") },
      presence: { "/state/presence-\($0.process)" }, usage: { _ in nil })
  }

  func empty() {
    let done = emptied
    emptied = []
    for one in done { one(true) }
  }
}

@Suite("Guards of programs") struct ProgramGuardLifeTests {
  private let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))

  private func life(_ groups: Groups) -> WatchedAgent {
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .disconnect)]), on: cafe)
    life.guards = groups.platform
    return life
  }

  private func begin(_ life: WatchedAgent, process: Int32 = 4711, endpoints: [String] = ["203.0.113.10:1194"], namespace: Int64 = 7)
    -> Result<GuardReply, RequestError>?
  {
    var result: Result<GuardReply, RequestError>?
    life.agent.beginGuard(GuardRequest(program: "openvpn", endpoints: endpoints, namespace: namespace), process: process) { result = $0 }
    if result == nil { life.machine.run(for: .seconds(6)) }
    return result
  }

  private func table(_ life: WatchedAgent) -> FirewallTable? {
    guard
      case .replaceFirewall(let table)? = life.machine.log.applied.last(where: { step in
        switch step {
        case .replaceFirewall, .removeFirewall: true
        default: false
        }
      })
    else { return nil }
    return table
  }

  @Test("the table is in force before the process is in its group, and until nothing is in it") func order() throws {
    let groups = Groups()
    let life = life(groups)
    life.start()
    life.machine.whenApplied = { groups.log.append("\($0)".hasPrefix("nft table") ? "table" : "\($0)") }
    #expect(try begin(life)?.get() == GuardReply(endpoints: ["203.0.113.10:1194"], presence: "/state/presence-4711"))
    #expect(groups.log == ["claim 4711", "group 4711", "table", "admit 4711"])
    #expect(
      life.status.firewall == FirewallStatus(situation: .guarded, guards: ["openvpn (guard 4711)"], blocking: ["openvpn (guard 4711)"]))
    #expect(life.status.guards.map(\.endpoints) == [["203.0.113.10:1194"]])
    groups.ended[4711]?(.wanted)
    life.machine.run(for: .seconds(1))
    #expect(groups.log.last == "end 4711" && table(life) != nil)
    groups.empty()
    life.machine.run(for: .seconds(1))
    #expect(groups.log.contains("forget 4711") && !groups.log.contains("hold 4711"))
    #expect(table(life) == nil && life.status.guards.isEmpty && life.status.firewall == FirewallStatus())
  }

  @Test("a new link of a program is the guard's within a pass, and not one that was there") func links() throws {
    let groups = Groups()
    let life = life(groups)
    life.machine.state.add(Link(index: Sample.index(5), name: "old0", kind: "tun"))
    life.start()
    #expect(try begin(life)?.get().links == [])
    life.machine.state.add(Link(index: Sample.index(6), name: "tun0", kind: "tun"))
    life.agent.networkChanged()
    // It does not wait for the network to settle.
    #expect(table(life)?.insides.map(\.link) == ["tun0"])
    life.machine.run(for: .seconds(1))
    #expect(table(life)?.insides.map(\.link) == ["tun0"])
    #expect(life.status.firewall == FirewallStatus(situation: .guarded, guards: ["openvpn (guard 4711)"]))
  }

  @Test("names are looked up first, on the network; without an address the program does not start") func names() throws {
    let groups = Groups()
    let life = life(groups)
    life.machine.network = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
    life.machine.dns.names[Sample.domain("vpn.example")] = [Sample.address("203.0.113.9"), Sample.address("2001:db8::9")]
    life.start()
    #expect(
      try begin(life, endpoints: ["vpn.example:1194", "203.0.113.10"])?.get().endpoints
        == ["203.0.113.9:1194", "203.0.113.10", "[2001:db8::9]:1194"])
    let refused = begin(life, process: 4712, endpoints: ["no.example"])
    #expect(throws: RequestError.self) { try refused?.get() }
    #expect(life.status.guards.count == 1 && !groups.log.contains("group 4712"))
  }

  @Test("without marks, without a firewall, and in another namespace the program does not start, and nothing stays blocked")
  func refused() throws {
    let groups = Groups()
    let life = life(groups)
    life.start()
    #expect(throws: RequestError.self) { try begin(life, namespace: 8)?.get() }
    groups.failure = "no bpf(2)"
    #expect(throws: RequestError.self) { try begin(life)?.get() }
    groups.failure = nil
    life.machine.failingSteps = { if case .replaceFirewall = $0 { "no nftables" } else { nil } }
    #expect(throws: RequestError.self) { try begin(life)?.get() }
    #expect(!groups.log.contains("admit 4711") && groups.log.last == "end 4711")
    groups.empty()
    life.machine.run(for: .seconds(2))
    #expect(life.status.guards.isEmpty && life.status.firewall == FirewallStatus())
  }

  @Test("a suspended kill switch suspends a guard, and none begins then") func suspended() throws {
    let groups = Groups()
    let life = life(groups)
    life.start()
    _ = try begin(life)?.get()
    try life.agent.release(ReleaseRequest(until: .resume))
    #expect(table(life) == nil && life.status.guards.count == 1)
    #expect(throws: RequestError.self) { try begin(life, process: 4712)?.get() }
    try life.agent.resume(nil)
    #expect(table(life)?.guarded.count == 1)
  }

  @Test("the next agent goes on with a guard that a killed one has left, before and after it has policies") func crash() throws {
    let groups = Groups()
    let before = life(groups)
    before.start()
    _ = try begin(before)?.get()
    groups.found = [
      ProgramGuard(
        process: 4711, program: "openvpn", since: .distantFuture, endpoints: [], lastLinkBefore: 0,
        group: ProviderGroup(number: 4711, level: 4))
    ]
    let after = life(groups)
    after.machine.state = before.machine.state
    after.start()
    #expect(after.status.guards.map(\.process) == [4711] && table(after)?.guarded.count == 1)
    #expect(!after.machine.log.applied.contains(.removeFirewall))
    groups.ended[4711]?(.wanted)
    groups.empty()
    after.machine.run(for: .seconds(1))
    #expect(table(after) == nil && after.machine.log.applied.contains(.removeFirewall))
  }

  @Test("an end that nobody has wanted keeps it closed, also with the next agent, until a release; a new guard may begin beside it")
  func killed() throws {
    let groups = Groups()
    let life = life(groups)
    life.start()
    _ = try begin(life)?.get()
    groups.ended[4711]?(.unsaid)
    groups.empty()
    life.machine.run(for: .seconds(60))
    #expect(groups.log.suffix(2) == ["hold 4711", "end 4711"])
    // The programs of its group are gone: nothing may leave outside.
    #expect(table(life)?.guards.map(\.tunnel) == ["openvpn (guard 4711)"] && table(life)?.guarded == [])
    let held = try #require(life.status.guards.first.map { ProgramGuard($0) })
    #expect(held.heldSince != nil && life.status.firewall.blocking == ["openvpn (guard 4711)"])

    groups.found = [held]
    let after = self.life(groups)
    after.machine.state = life.machine.state
    after.start()
    after.machine.run(for: .seconds(60))
    #expect(!after.machine.log.applied.contains(.removeFirewall) && after.status.firewall.blocking == ["openvpn (guard 4711)"])
    // Its successor runs protected; a suspension ends the held one alone.
    _ = try begin(after, process: 4712)?.get()
    #expect(table(after)?.guards.count == 2 && table(after)?.guarded.count == 1)
    #expect(try after.agent.release(ReleaseRequest(until: .resume)) == ReleaseReply(endedGuards: ["openvpn (guard 4711)"]))
    #expect(groups.log.last == "forget 4711" && after.status.guards.map(\.process) == [4712])
    try after.agent.resume(nil)
    #expect(table(after)?.guards.count == 1)
  }

  @Test("a portal window leaves a held guard; a release ends it, and suspends nothing if there is nothing else")
  func releasesHeld() throws {
    let groups = Groups()
    let life = life(groups)
    life.start()
    _ = try begin(life)?.get()
    groups.ended[4711]?(.unsaid)
    groups.empty()
    life.machine.run(for: .seconds(1))
    #expect(try life.agent.release(ReleaseRequest(isPortal: true)) == ReleaseReply())
    #expect(life.status.guards.count == 1)
    try life.agent.resume(nil)
    #expect(try life.agent.release(ReleaseRequest()) == ReleaseReply(endedGuards: ["openvpn (guard 4711)"], isSuspended: false))
    #expect(table(life) == nil && life.status.guards.isEmpty && life.status.firewall == FirewallStatus())
    #expect(throws: RequestError.self) { try life.agent.release(ReleaseRequest()) }
  }

  @Test("a stop ends the program first; a restart leaves it, with its table", arguments: [false, true])
  func stops(isRestart: Bool) throws {
    let groups = Groups()
    let life = life(groups)
    life.start()
    _ = try begin(life)?.get()
    var hasEnded = false
    life.agent.stop(keepingBlock: isRestart) { hasEnded = true }
    life.machine.run(for: .seconds(1))
    #expect(hasEnded == isRestart && groups.log.contains("end 4711") == !isRestart && table(life) != nil)
    groups.empty()
    life.machine.run(for: .seconds(1))
    #expect(hasEnded && (table(life) != nil) == isRestart)
  }
}
