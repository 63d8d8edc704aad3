import AgentCore
import ControlProtocol
import JSON
import KernelModel
import NetworkTypes
import ProviderProtocol
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// Tunnels of installed providers: the agent's side of the provider protocol, on the simulated machine.
@Suite struct InstalledProviderTests {
  let cafe = Sample.network(Sample.wifi("Cafe"))
  let home = Sample.network(Sample.wired())

  static func policy(
    allowing allowance: SettingsAllowance = .everything, routes: RoutePolicy? = nil, dns: DNSPolicy? = nil,
    killSwitch: KillSwitch = .off, rules: [Rule] = [Sample.rule(.always, .connect)],
    needing needs: Set<ProviderProgram.Need> = [.device, .udp, .ask]
  ) -> TunnelPolicy {
    let program = ProviderProgram(name: "plain", path: "/plain", user: "roamward-provider", needs: needs)
    return TunnelPolicy(
      name: "plain", provider: .installed(InstalledProviderConfiguration(program: program, allowance: allowance)),
      onDemand: OnDemand(rules: rules), routes: routes, dns: dns, killSwitch: killSwitch, location: Sample.place())
  }

  /// The settings that a company's server sends.
  static let pushed = TunnelSettings(
    addresses: [InterfaceAddress("10.9.0.2/24")].compactMap(\.self),
    includedRoutes: [Sample.prefix("10.0.0.0/8"), Sample.prefix("0.0.0.0/0")],
    excludedRoutes: [Sample.prefix("203.0.113.0/24")], mtu: 1380,
    dns: DNSSettings(servers: [Sample.address("10.9.0.1")], searchDomains: [Sample.domain("corp.example")]))

  func life(_ policy: TunnelPolicy, settings: TunnelSettings = pushed) -> WatchedAgent {
    let life = WatchedAgent(policy, on: cafe)
    life.machine.providers.settings = ["plain": settings]
    return life
  }

  @Test("what the server sends is in effect when the tunnel is connected, and gone after it") func pushed() throws {
    let life = life(Self.policy())
    life.start()
    #expect(life.states == ["plain connecting", "plain connected"])
    let kernel = life.machine.state.observed.kernel
    #expect(kernel.link(named: "plain")?.mtu == 1380 && kernel.link(named: "plain")?.alias == "roamward:plain")
    #expect(kernel.addresses.map(\.address.description).contains("10.9.0.2/32"), "without a route of its own")
    let routes = kernel.routes.filter { $0.link == "plain" }.map(\.destination.description)
    #expect(Set(routes) == ["10.0.0.0/8", "0.0.0.0/0"])
    #expect(kernel.routes.contains { $0.destination.description == "203.0.113.0/24" && $0.kind == .throw })
    #expect(life.machine.providers.refusals.isEmpty)
    try life.agent.override("plain", OverrideRequest(wantsUp: false))
    life.machine.run(for: .seconds(1))
    #expect(life.machine.state.observed.kernel.links.isEmpty && life.machine.state.observed.kernel.ownRoutes.isEmpty)
    #expect(life.machine.providers.tunnels.isEmpty && life.machine.providers.stops == ["plain person"])
  }

  @Test("a plan made by another process knows what the provider has brought, and needs no step") func planned() throws {
    let life = life(Self.policy())
    life.start()
    let orders = PlanInputs(try life.status.coded, isSameNetwork: true)
    let tunnels = DesiredTunnels(
      life.machine.policies, on: cafe, orders, in: life.machine.state.observed, engine: .kernel)
    let preview = PlanPreview(of: tunnels, from: life.machine.state.observed, others: OtherVPNs())
    #expect(preview.plan.steps.isEmpty, "\(preview.plan.steps)")
    // Without what it has brought, its addresses and routes would be strangers.
    var bare = orders
    bare.brought = [:]
    let other = DesiredTunnels(life.machine.policies, on: cafe, bare, in: life.machine.state.observed, engine: .kernel)
    #expect(!PlanPreview(of: other, from: life.machine.state.observed, others: OtherVPNs()).plan.steps.isEmpty)
  }

  @Test("what the policy does not allow is refused, and said") func allowance() throws {
    let allowed = SettingsAllowance(routes: [Sample.prefix("10.0.0.0/8")], domains: [.within(Sample.domain("corp.example"))])
    let life = life(Self.policy(allowing: allowed, killSwitch: .on))
    life.start()
    #expect(life.states.last == "plain connected")
    #expect(
      life.machine.providers.refusals == ["plain included-routes 0.0.0.0/0", "plain excluded-routes ", "plain match-domains *"])
    let routes = life.machine.state.observed.kernel.routes.filter { $0.link == "plain" }.map(\.destination.description)
    #expect(routes == ["10.0.0.0/8"])
    let notes = try life.tunnel("plain").notes.map(\.text)
    #expect(notes.contains("the provider asks for included-routes 0.0.0.0/0, which the policy does not allow"))
  }

  private func withCredential(rules: [Rule] = [Sample.rule(.always, .connect)]) -> TunnelPolicy {
    var policy = Self.policy(rules: rules)
    guard case .installed(var installed) = policy.provider else { return policy }
    installed.credentials = [ProviderCredential(name: "password", path: "/etc/secret")]
    policy.provider = .installed(installed)
    return policy
  }

  /// Another network comes while the provider has not connected yet, and its program takes long to stop.
  private func restartInProgram(_ life: WatchedAgent, _ agent: Agent) {
    life.machine.providers.lingering = ["plain"]
    life.machine.network = life.machine.network == cafe ? home : cafe
    agent.networkChanged()
    life.machine.run(for: .seconds(2))
    life.machine.peersAnswer = true
    life.machine.say("plain") { _ in .stopped }
    life.machine.run(for: .seconds(2))
  }

  @Test("a run that begins in a program that is still there has its credentials, and what was kept meanwhile") func again() throws {
    let life = life(withCredential())
    life.machine.peersAnswer = false
    life.start()
    #expect(life.states.last == "plain connecting" && life.machine.providers.credentials.sent == ["plain password"])
    life.machine.providers.credentials.keeping = ["plain"]
    restartInProgram(life, life.agent)
    #expect(life.machine.providers.starts == 1 && life.states.last == "plain connected", "\(life.machine.providers.orders)")
    #expect(life.machine.providers.credentials.sent == ["plain password", "plain password", "plain kept"])
  }

  @Test("a run whose credential cannot be opened fails with that cause, its program ends, and the next one is tried")
  func unreadable() throws {
    let life = life(withCredential())
    life.machine.providers.credentials.unreadable = ["/etc/secret"]
    life.start()
    #expect(Set(life.failures) == ["plain: the credential /etc/secret cannot be opened: Permission denied"])
    #expect(life.machine.providers.tunnels.isEmpty && life.machine.providers.credentials.sent.isEmpty)
    life.machine.providers.credentials.unreadable = []
    life.machine.run(for: .seconds(60))
    #expect(life.states.last == "plain connected" && life.machine.providers.credentials.sent == ["plain password"])
  }

  @Test("the policy's own routes and name servers come first") func own() {
    let policy = Self.policy(
      routes: RoutePolicy(include: [Sample.prefix("192.0.2.0/24")]), dns: DNSPolicy(servers: [Sample.address("192.0.2.53")]))
    let life = life(policy)
    life.start()
    let routes = life.machine.state.observed.kernel.routes.filter { $0.link == "plain" }.map(\.destination.description)
    #expect(life.states.last == "plain connected" && routes == ["192.0.2.0/24"])
    #expect(life.machine.providers.refusals == ["plain included-routes ", "plain excluded-routes ", "plain dns "])
  }

  @Test("the text of every failure that waits for a person names the command that tries again, and leaves no override", arguments: 0..<20)
  func retried(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let life = life(Self.policy())
    let help = try #require(ProviderProtocol.TunnelFailure.Help.allCases.randomElement(using: &random))
    let text = ["wrong", "correct it; then try", "`roamward answer plain` asks again", "a long way: \(random.next())"][
      Int(random.next() % 4)]
    life.machine.providers.failures = ["plain": .init(code: "auth-failed", text: text, help: help)]
    life.start()
    let failure = try #require(life.failures.first)
    #expect(failure.ranges(of: "`roamward answer plain`").count == (help == .person || text.hasPrefix("`") ? 1 : 0))
    #expect(!failure.contains("roamward up"))
    guard help == .person else { return }
    life.machine.providers.failures = [:]
    try life.agent.answer("plain", nil, with: nil)
    life.machine.run(for: .seconds(1))
    let now = try life.tunnel("plain")
    #expect(now.state == "connected" && now.override == nil)
  }

  @Test("a failure that only a person can remedy is not tried again by time or another network") func person() throws {
    let life = life(Self.policy())
    life.machine.providers.failures = ["plain": .init(code: "auth-failed", text: "the server refused the password", help: .person)]
    life.start()
    #expect(life.failures == ["plain: the server refused the password; `roamward answer plain` tries again (auth-failed)"])
    life.machine.run(for: .seconds(7200))
    life.move(to: home)
    #expect(life.failures.count == 1 && life.machine.isIdle)
    life.machine.providers.failures = [:]
    try life.agent.override("plain", OverrideRequest(wantsUp: true))
    life.machine.run(for: .seconds(1))
    #expect(life.states.last == "plain connected")
  }

  @Test("the provider's time for the next attempt is kept") func retryAfter() {
    let life = life(Self.policy())
    life.machine.providers.failures = [
      "plain": .init(code: "server-full", text: "no free address", help: .time, retryAfter: .seconds(300))
    ]
    life.start(for: .seconds(299))
    #expect(life.failures.count == 1)
    life.machine.run(for: .seconds(10))
    #expect(life.failures.count == 2)
  }

  @Test("it is told of another network, and stays connected") func roams() {
    let life = life(Self.policy())
    life.start()
    life.move(to: home)
    #expect(life.machine.providers.networks == ["plain eth0"] && life.states.last == "plain connected")
  }

  @Test("a link that another program removes is a failure; the tunnel starts again") func linkGone() {
    let life = life(Self.policy())
    life.start()
    life.machine.state.apply([.deleteLink("plain", .kernel)])
    life.agent.networkChanged()
    life.machine.run(for: .seconds(3))
    #expect(life.failures.first?.contains("its link plain is gone") == true && life.states.last == "plain connected")
  }

  @Test("a person's answer connects it; a refusal, and no answer in five minutes, are failures that wait for a person")
  func questions() throws {
    let life = life(Self.policy())
    life.machine.providers.questions = ["plain": Question(kind: .code, prompt: "Code for alice")]
    life.start()
    let question = try #require(try life.tunnel("plain").questions.first)
    #expect(question.prompt == "Code for alice" && question.kind == "code")
    #expect(throws: RequestError.self) { try life.agent.answer("plain", question.number + 1, with: "1") }
    #expect(throws: RequestError.self) { try life.agent.answer("plain", nil, with: "") }
    // Longer than a start takes without a person.
    life.machine.run(for: .seconds(200))
    try life.agent.answer("plain", nil, with: "123456")
    life.machine.run(for: .seconds(1))
    #expect(try life.tunnel("plain").questions.isEmpty && life.states.last == "plain connected")
    life.agent.stop {}
    life.machine.run(for: .seconds(5))
    for isDeclined in [true, false] {
      let other = self.life(Self.policy())
      other.machine.providers.questions = life.machine.providers.questions
      other.start()
      if isDeclined { try other.agent.answer("plain", nil, with: nil) }
      other.machine.run(for: .seconds(301))
      #expect(other.machine.providers.answers == ["plain \(isDeclined ? "declined" : "expired")"])
      #expect(other.failures.count == 1 && other.machine.isIdle)
    }
  }

  @Test("a provider that tries again and again has 33 seconds; while it asks a person, that person's time") func triesAgain() throws {
    let life = life(Self.policy())
    life.start()
    life.machine.say("plain") { _ in .reasserting(code: "reconnecting", text: "it connects again") }
    life.machine.run(for: .seconds(32))
    #expect(try life.tunnel("plain").state == "reasserting" && life.failures.isEmpty)
    life.machine.run(for: .seconds(3))
    #expect(life.failures.count == 1 && life.failures[0].contains("it connects again") && life.states.last == "plain connected")
    var question: UInt32 = 0
    life.machine.say("plain") { _ in .reasserting(code: "signing-in", text: "it signs in again") }
    life.machine.say("plain") { id in
      question = id
      return .ask(id: id, Question(kind: .code, prompt: "Code for alice"))
    }
    life.machine.run(for: .seconds(60))
    // On the way to another network.
    life.move(to: home)
    life.machine.run(for: .seconds(200))
    #expect(try life.tunnel("plain").state == "reasserting" && life.failures.count == 1)
    life.machine.say("plain") { _ in .withdraw(id: question) }
    life.machine.run(for: .seconds(32))
    #expect(try life.tunnel("plain").state == "reasserting" && life.failures.count == 1)
    life.machine.run(for: .seconds(3))
    #expect(life.failures.count == 2 && life.states.last == "plain connected")
  }

  @Test("people are told before a certificate ends, and when it has ended; a renewed one is told no more") func validity() throws {
    let life = life(Self.policy())
    life.start()
    let now = life.machine.wallClock.seconds
    let day: Int64 = 86_400
    // One of a long life; another one for a day.
    life.machine.say("plain") { _ in .validity(Validity("the certificate laptop", from: nil, until: now + 20 * day)) }
    life.machine.say("plain") { _ in .validity(Validity("the ticket", from: now, until: now + day)) }
    func notes() throws -> [String] { try life.tunnel("plain").notes.filter { $0.code == .credentialExpiring }.map(\.text) }
    #expect(try notes().isEmpty && life.warnings.isEmpty)
    life.machine.run(for: .seconds(day - 3600))
    #expect(life.warnings.count == 1 && life.warnings[0].hasPrefix("the ticket ends on ") && life.warnings[0].hasSuffix("; renew it"))
    #expect(try notes().count == 1)
    life.machine.say("plain") { _ in .validity(Validity("the ticket", from: now + day, until: now + 365 * day)) }
    #expect(try notes().isEmpty)
    life.machine.run(for: .seconds(6 * day))
    #expect(life.warnings.count == 2 && life.warnings[1].contains("laptop ends on") && life.warnings[1].contains(", in 14 d"))
    life.machine.run(for: .seconds(14 * day))
    #expect(life.warnings.count == 3 && life.warnings[2].contains("laptop has ended on"))
    #expect(try notes().count == 1)
    try life.agent.override("plain", OverrideRequest(wantsUp: false))
    life.machine.run(for: .seconds(5))
    #expect(try notes().isEmpty)
  }

  @Test("what waiting would mend needs a person once a certificate has ended, and the failure names it", arguments: [false, true])
  func expired(isOver: Bool) throws {
    let life = life(Self.policy())
    life.start()
    let now = life.machine.wallClock.seconds
    life.machine.say("plain") { _ in .validity(Validity("the certificate laptop", from: nil, until: now + (isOver ? 5 : 500))) }
    life.machine.run(for: .seconds(6))
    life.machine.say("plain") { _ in .failed(TunnelFailure(code: "no-host", text: "no host answers", help: .time)) }
    life.machine.run(for: .seconds(1))
    #expect(life.failures.count == 1 && life.failures[0].contains(isOver ? "laptop has ended on" : "no host answers"), "\(life.failures)")
    life.machine.run(for: .seconds(300))
    let tunnel = try life.tunnel("plain")
    #expect((tunnel.state == "connected") == !isOver && (tunnel.code == .actionNeeded) == isOver, "\(tunnel.state)")
  }

  @Test("the status shows how the provider says that packets go, until the run ends") func transport() throws {
    let life = life(Self.policy())
    life.machine.providers.transports = ["plain": "by TCP\u{1b}, because UDP is blocked"]
    life.start()
    #expect(try life.tunnel("plain").transport == "by TCP\\u{1b}, because UDP is blocked")
    try life.agent.override("plain", OverrideRequest(wantsUp: false))
    life.machine.run(for: .seconds(5))
    #expect(try life.tunnel("plain").transport == nil)
  }

  @Test("a message goes to a provider that runs, and wakes one that does not") func messages() {
    let life = life(Self.policy(rules: []))
    life.start()
    var replies: [Reply] = []
    life.agent.message("plain", ["type": "statistics", "value": .null]) { replies.append($0) }
    #expect(life.machine.providers.tunnels == ["plain"])
    life.machine.run(for: .seconds(1))
    guard case .refused(let error) = replies.first else {
      Issue.record("\(replies)")
      return
    }
    #expect(error.message == "a simulated provider knows no messages (unknown-type)")
    #expect(life.machine.providers.tunnels.isEmpty && life.states.isEmpty)
    #expect(life.events.contains { if case .providerLog(_, _, _, let text) = $0 { text.contains(": reply after 0 ms") } else { false } })
    life.agent.message("plain", ["type": "?"]) { replies.append($0) }
    life.agent.message("other", ["type": "a", "value": .null]) { replies.append($0) }
    #expect(replies.count == 3)
  }

  @Test("the agent's end stops the provider with the reason, and leaves nothing") func end() {
    let life = life(Self.policy())
    life.start()
    var isDone = false
    life.agent.stop { isDone = true }
    life.machine.run(for: .seconds(5))
    #expect(isDone && life.machine.providers.stops == ["plain shutdown"] && life.machine.state.observed.kernel.links.isEmpty)
  }

  @Test("lives at random: what is wanted is connected in the end, and nothing is left where it is not", arguments: 0..<40)
  func lives(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let life = life(Self.policy(rules: [Sample.rule(.interface([.wifi]), .connect), Sample.rule(.always, .disconnect)]))
    life.start()
    for _ in 0..<30 {
      switch random.next() % 8 {
      case 0: life.machine.network = cafe
      case 1: life.machine.network = home
      case 2: life.machine.network = NetworkSnapshot()
      case 3: life.machine.peersAnswer.toggle()
      case 4: life.machine.providers.failures = ["plain": .init(code: "server-full", text: "full", help: .time)]
      case 5: life.machine.providers.failures = [:]
      case 6: life.machine.state.apply([.deleteLink("plain", .kernel)])
      default: life.agent.message("plain", ["type": "a", "value": .null]) { _ in }
      }
      life.agent.networkChanged()
      life.machine.run(for: .milliseconds(Int(random.next() % 3000)))
    }
    life.machine.peersAnswer = true
    life.machine.providers.failures = [:]
    let isWanted = random.next() % 2 == 0
    life.move(to: isWanted ? cafe : home)
    life.machine.run(for: .seconds(300))
    let kernel = life.machine.state.observed.kernel
    #expect(try life.tunnel("plain").state == (isWanted ? "connected" : "disconnected"), "seed \(seed)")
    #expect(life.machine.providers.tunnels == (isWanted ? ["plain"] : []), "seed \(seed)")
    #expect(kernel.links.map(\.name) == (isWanted ? ["plain"] : []), "seed \(seed)")
  }
}
