import AgentCore
import ControlProtocol
import KernelModel
import LinuxPlatform
import NetworkTypes
import PolicySource
import RoamwardCore
import Simulation
import TestKit
import Testing

@Suite struct KillSwitchTests {
  let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  let home = Sample.network(Sample.wifi("Home"))

  func tunnel(_ killSwitch: KillSwitch) -> TunnelPolicy {
    var tunnel = Sample.tunnel(
      rules: [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)],
      routes: RoutePolicy(include: [.everything(.v4), .everything(.v6)]))
    tunnel.killSwitch = killSwitch
    return tunnel
  }

  func isGuarded(_ life: WatchedAgent) -> Bool { life.machine.state.observed.firewall.isGuarding }

  /// No table at all.
  func isOpen(_ life: WatchedAgent) -> Bool { life.machine.state.observed.firewall == .absent }

  @Test("the table is there before anything of the tunnel, and goes after everything") func order() throws {
    let life = WatchedAgent(tunnel(.on), on: cafe)
    life.start()
    #expect(try life.tunnel().state == "connected" && isGuarded(life))
    let steps = life.machine.log.applied.map(\.description)
    let first = try #require(steps.firstIndex { $0.hasPrefix("nft table") })
    let link = try #require(steps.firstIndex { $0.hasPrefix("ip link") })
    #expect(first < link)
    life.move(to: home)
    #expect(try life.tunnel().state == "disconnected" && isOpen(life))
    #expect(life.machine.log.applied.last == .removeFirewall)
  }

  @Test("while the tunnel does not come up, nothing flows, and status says so first") func blocking() throws {
    let life = WatchedAgent(tunnel(.on), on: cafe)
    life.machine.peersAnswer = false
    life.start(for: .seconds(120))
    #expect(try life.tunnel().state == "connecting" && isGuarded(life))
    #expect(life.status.firewall.blocking == ["corp"])
    #expect(life.status.firewall.text?.hasPrefix("blocked: ") == true)
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(60))
    #expect(life.status.firewall == FirewallStatus(situation: .guarded, guards: ["corp"]))
    #expect(life.status.firewall.text == nil)
  }

  @Test("on another provider configuration the table stays while the tunnel is built anew") func rebuilt() {
    let life = WatchedAgent(tunnel(.on), on: cafe)
    life.start()
    var other = tunnel(.on)
    guard case .wireGuard(var provider) = other.provider else { return }
    provider.configuration?.mtu = 1300
    other.provider = .wireGuard(provider)
    life.policiesChange(to: other)
    #expect(isGuarded(life) && !life.machine.log.applied.contains(.removeFirewall))
  }

  @Test(
    "with always it stays where the rules want the tunnel down, and when the agent stops; with on it goes",
    arguments: [KillSwitch.on, .always])
  func stopping(killSwitch: KillSwitch) {
    let life = WatchedAgent(tunnel(killSwitch), on: home)
    life.start()
    #expect(isGuarded(life) == (killSwitch == .always))
    life.move(to: cafe)
    var isStopped = false
    life.agent.stop { isStopped = true }
    life.machine.run(for: .seconds(5))
    #expect(isStopped && isGuarded(life) == (killSwitch == .always))
  }

  @Test("on the way to another network all is held back from the first sign on, until the rules have had their say there") func arrival()
    throws
  {
    let life = WatchedAgent(tunnel(.on), on: home)
    life.start()
    #expect(isOpen(life))
    // At once, though the network is left to settle.
    life.machine.network = NetworkSnapshot()
    life.agent.networkChanged()
    #expect(isGuarded(life))
    life.machine.run(for: .seconds(60))
    #expect(try life.tunnel().state == "disconnected" && isGuarded(life))
    #expect(life.status.firewall == FirewallStatus(situation: .guarded, guards: ["corp"]), "where nothing flows anyway, nothing is told")
    life.move(to: home)
    #expect(isOpen(life) && life.machine.log.applied.last == .removeFirewall)
    // From one to the next with nothing in between.
    life.machine.network = cafe
    life.agent.networkChanged()
    #expect(try isGuarded(life) && life.tunnel().state != "disconnected", "what the rules want up starts at once")
    life.machine.run(for: .seconds(1))
    #expect(try isGuarded(life) && life.tunnel().state == "connected")
    // A fact that the rules wait for is waited for behind the table.
    life.move(to: home)
    #expect(isOpen(life))
    life.move(to: NetworkSnapshot())
    var unknown = Sample.wifi(gateway: "198.51.100.1", address: "198.51.100.23/24")
    unknown.ssid = .unknown(reason: "not reported")
    life.move(to: Sample.network(unknown))
    #expect(isGuarded(life))
    // The same network with another lease is no other network.
    life.move(to: home)
    var other = Sample.wifi("Home")
    other.addresses.append(contentsOf: Sample.wifi("Home", address: "192.0.2.99/24").addresses)
    life.machine.network = Sample.network(other)
    life.agent.networkChanged()
    #expect(isOpen(life))
  }

  @Test("to have no network at start is to have just left one: nothing leaves on the first arrival", arguments: [true, false])
  func firstArrival(isFactKnown: Bool) throws {
    let life = WatchedAgent(tunnel(.on), on: NetworkSnapshot())
    life.start()
    #expect(isGuarded(life))
    #expect(life.status.firewall.text == nil, "where nothing flows anyway, nothing is told")
    var link = Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24")
    if !isFactKnown { link.ssid = .unknown(reason: "not reported") }
    var opened = 0
    life.machine.whenApplied = { if $0 == .removeFirewall { opened += 1 } }
    life.move(to: Sample.network(link))
    life.machine.run(for: .seconds(10))
    #expect(try life.tunnel().state == "connected" && isGuarded(life) && opened == 0)
    // At home it opens when the rules have had their say.
    let other = WatchedAgent(tunnel(.on), on: NetworkSnapshot())
    other.start()
    other.move(to: home)
    #expect(isOpen(other))
  }

  @Test("started on a network, it holds back until the rules have been judged there") func startedOnline() throws {
    var unknown = Sample.wifi("Home")
    unknown.ssid = .unknown(reason: "nl80211 is busy")
    let life = WatchedAgent(tunnel(.on), on: Sample.network(unknown))
    life.start(for: .milliseconds(100))
    #expect(try life.tunnel().decision == .pending && isGuarded(life))
    life.move(to: home)
    #expect(isOpen(life))
  }

  @Test("the loss of the way closes at once, by a step that was prepared, also while the network is settling") func wayLost() throws {
    let life = WatchedAgent(tunnel(.on), on: home)
    life.start()
    #expect(isOpen(life))
    // Something else has begun the wait.
    life.agent.networkChanged()
    life.machine.run(for: .milliseconds(50))
    life.machine.network = cafe
    let looks = life.machine.log.observations
    var looksBefore: Int?
    life.machine.whenApplied = { if case .replaceFirewall = $0 { looksBefore = looksBefore ?? life.machine.log.observations } }
    life.agent.networkLost()
    #expect(try isGuarded(life) && life.tunnel().state != "disconnected")
    #expect(looksBefore == looks, "nothing is looked at first")
    life.machine.whenApplied = { #expect($0 != .removeFirewall) }
    life.machine.run(for: .seconds(1))
    #expect(try isGuarded(life) && life.tunnel().state == "connected")
  }

  @Test("a way that is lost and was another opens again at once; nothing is closed that was not open here alone") func falseAlarm() {
    let life = WatchedAgent(tunnel(.on), on: home)
    life.start()
    for _ in 0..<20 {
      var steps: [Step] = []
      life.machine.whenApplied = { steps.append($0) }
      life.agent.networkLost()
      #expect(isOpen(life) && steps.count == 2)
      life.machine.run(for: .milliseconds(700))
    }
    #expect(life.status.notes.isEmpty)
    for killSwitch in [KillSwitch.off, .always] {
      let other = WatchedAgent(tunnel(killSwitch), on: home)
      other.start()
      other.machine.whenApplied = { _ in Issue.record("a step") }
      other.agent.networkLost()
      other.machine.run(for: .seconds(1))
    }
  }

  @Test("who holds the tunnel down until he says otherwise, or has rules that never want it, is held back nowhere") func heldDown() throws {
    var ignoring = tunnel(.on)
    ignoring.onDemand.rules = [Sample.rule(.always, .disconnect)]
    for (policy, isHeld) in [(tunnel(.on), true), (ignoring, false)] {
      let life = WatchedAgent(policy, on: home)
      life.start()
      if isHeld { try life.agent.override("corp", OverrideRequest(wantsUp: false, until: .resume)) }
      life.move(to: NetworkSnapshot())
      #expect(isOpen(life))
    }
  }

  @Test("stopped on the way, it leaves nothing") func stoppedOnTheWay() {
    let life = WatchedAgent(tunnel(.on), on: home)
    life.start()
    life.move(to: NetworkSnapshot())
    #expect(isGuarded(life))
    var isStopped = false
    life.agent.stop { isStopped = true }
    life.machine.run(for: .seconds(5))
    #expect(isStopped && isOpen(life))
  }

  @Test("after a crash what was held back stays held back until a decision says otherwise") func crash() throws {
    let first = WatchedAgent(tunnel(.on), on: cafe)
    first.start()
    var link = Sample.wifi("Home")
    link.ssid = .unknown(reason: "nl80211 is busy")
    let next = WatchedAgent(tunnel(.on), on: Sample.network(link))
    next.machine.state = first.machine.state
    next.start(for: .seconds(2))
    #expect(try next.tunnel().decision == .pending && isGuarded(next) && !next.machine.log.applied.contains(.removeFirewall))
    next.move(to: home)
    #expect(isOpen(next))
  }

  @Test("policies that do not load open nothing") func badPolicies() {
    let first = WatchedAgent(tunnel(.on), on: cafe)
    first.start()
    let next = WatchedAgent(on: cafe)
    next.machine.state = first.machine.state
    next.machine.disk.problems = [.init(.error, "bad", at: Sample.place())]
    next.start()
    #expect(isGuarded(next))
  }

  @Test("a person releases, for a time or until the network changes; a portal's window closes by itself") func release() throws {
    let life = WatchedAgent(tunnel(.on), on: cafe)
    life.machine.peersAnswer = false
    life.start()
    try life.agent.release(ReleaseRequest())
    #expect(!isGuarded(life) && life.status.firewall.situation == .released)
    try life.agent.resume(nil)
    #expect(isGuarded(life))
    try life.agent.release(ReleaseRequest(until: .seconds(60)))
    #expect(!isGuarded(life))
    life.machine.run(for: .seconds(62))
    #expect(isGuarded(life) && life.status.firewall.situation == .guarded)
    try life.agent.release(ReleaseRequest(isPortal: true, until: .resume))
    #expect(isGuarded(life) && life.status.firewall.situation == .portal)
    life.machine.run(for: .seconds(601))
    #expect(life.status.firewall.situation == .guarded)
    // Once the tunnel is up, it is not needed any more.
    try life.agent.release(ReleaseRequest(isPortal: true, until: .resume))
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(60))
    #expect(life.status.tunnels.first?.state == "connected" && life.status.firewall.situation == .guarded)
    // To programs that nobody knows it is not opened.
    #expect(throws: RequestError.self) { try life.agent.release(ReleaseRequest(isPortal: true, programs: "/gone.scope", until: .resume)) }
    #expect(life.status.firewall.situation == .guarded)
  }

  @Test("somebody flushes the table: it is back") func repaired() {
    let life = WatchedAgent(tunnel(.on), on: cafe)
    life.start()
    life.machine.state.apply([.removeFirewall])
    life.agent.networkChanged()
    life.machine.run(for: .seconds(1))
    #expect(isGuarded(life))
  }
}
