import AgentCore
import ControlProtocol
import JSON
import KernelModel
import NetworkTypes
import ProviderProtocol
import RoamwardCore
import Simulation
import TestKit
import Testing

/// `up` with options of one start, in virtual time.
@Suite struct ManualStartTests {
  static let cafe = Sample.network(Sample.wifi("Cafe"))
  static let home = Sample.network(Sample.wired())

  private static func policy(users: [String] = [], rules: [Rule] = [Sample.rule(.always, .disconnect)]) -> TunnelPolicy {
    var policy = InstalledProviderTests.policy(rules: rules)
    guard case .installed(var provider) = policy.provider else { return policy }
    func text(_ name: String, _ kind: OptionSchema.Kind = .string(nil, 0...64)) -> OptionSchema.Property {
      .init(name: name, isRequired: false, schema: OptionSchema(kind: kind, about: nil, choices: nil, standard: nil))
    }
    let item = OptionSchema(kind: .string(.prefix, 0...64), about: nil, choices: nil, standard: nil)
    let properties = [
      text("server"), text("username"), text("port", .integer(1...65535)), text("fast", .boolean), text("routes", .array(item, atMost: 2)),
    ]
    provider.options = ["server": "vpn.example"]
    provider.startable = StartableOptions(
      schema: OptionSchema(kind: .object(properties, allowsOthers: false), about: nil, choices: nil, standard: nil), ofUsers: users)
    policy.provider = .installed(provider)
    return policy
  }

  private func life(users: [String] = [], rules: [Rule] = [Sample.rule(.always, .disconnect)]) -> WatchedAgent {
    let life = WatchedAgent(Self.policy(users: users, rules: rules), on: Self.cafe)
    life.start()
    return life
  }

  private func up(
    _ life: WatchedAgent, _ options: KeyValuePairs<String, String> = [:], password: String? = nil, isOwner: Bool = true,
    until: Lifetime = .networkChange
  ) throws {
    let start = StartOptions(options: options.map { .init(name: $0.key, value: $0.value) }, password: password)
    try life.agent.override("plain", OverrideRequest(wantsUp: true, until: until), start: start, isOwner: isOwner)
    life.machine.run(for: .seconds(2))
  }

  private func refusal(_ body: () throws -> Void) -> RequestError? {
    do { try body() } catch { return error as? RequestError }
    return nil
  }

  @Test("options come before those of the policy, and end with the override") func merged() throws {
    let life = life()
    try up(life, ["server": "other.example", "port": "443", "fast": "yes", "routes": "10.0.0.0/8", "routes": "10.9.0.0/16"])
    let given: JSON = ["server": "other.example", "port": 443, "fast": true, "routes": ["10.0.0.0/8", "10.9.0.0/16"]]
    #expect(life.machine.providers.options["plain"] == [given])
    #expect(try life.tunnel("plain").state == "connected")
    let reason = "manual override (up) until the network changes, with options of its own (server, port, fast, routes); "
    #expect(try life.tunnel("plain").reason == reason + "`roamward resume` ends it")
    try life.agent.resume("plain")
    life.machine.run(for: .seconds(10))
    #expect(try life.tunnel("plain").state == "disconnected")
    #expect(life.machine.providers.stops == ["plain rule"] && life.machine.providers.options["plain"]?.count == 1)
    try up(life)
    #expect(life.machine.providers.options["plain"] == [given, ["server": "vpn.example"]], "a later start has those of the policy")
  }

  @Test("another network, and another `up`, end them; a tunnel that stays up starts again") func ends() throws {
    let life = life(rules: [Sample.rule(.always, .connect)])
    let own: JSON = ["server": "vpn.example"]
    let other: JSON = ["server": "other.example"]
    #expect(life.machine.providers.options["plain"] == [own])
    try up(life, ["server": "other.example"])
    #expect(life.machine.providers.options["plain"] == [own, other])
    #expect(try life.tunnel("plain").state == "connected")
    life.move(to: Self.home)
    life.machine.run(for: .seconds(5))
    #expect(life.machine.providers.options["plain"] == [own, other, own])
    try up(life, ["server": "other.example"])
    try up(life)
    #expect(life.machine.providers.options["plain"] == [own, other, own, other, own])
    #expect(try life.tunnel("plain").state == "connected")
  }

  @Test("they survive a restart of the agent, with the override; the program goes on") func restart() throws {
    let life = life()
    try up(life, ["server": "other.example"], password: "s3cr3t-of-start", until: .resume)
    let starts = life.machine.providers.starts
    #expect(life.machine.disk.overrides["plain"]?.options == ["server": "other.example"])
    life.agent.stop(keepingBlock: true, handingOver: true) {}
    life.machine.run(for: .seconds(1))
    let next = Agent(platform: life.machine.platform, settle: .milliseconds(500))
    next.start()
    life.machine.run(for: .seconds(2))
    let tunnel = try #require(next.status(at: 0, process: 1).tunnels.first)
    #expect(tunnel.state == "connected" && life.machine.providers.starts == starts, "\(tunnel.reason)")
    #expect(life.machine.providers.options["plain"] == [["server": "other.example"]])
  }

  @Test("an option that the provider does not declare any more is left out") func undeclared() throws {
    let life = life()
    try up(life, ["server": "other.example", "username": "alice"], until: .resume)
    var changed = Self.policy()
    guard case .installed(var provider) = changed.provider else { throw CancellationError() }
    let server = provider.startable.schema?.properties.declared.first.map { [$0] } ?? []
    provider.startable.schema = OptionSchema(kind: .object(server, allowsOthers: false), about: nil, choices: nil, standard: nil)
    changed.provider = .installed(provider)
    life.policiesChange(to: changed)
    life.machine.run(for: .seconds(5))
    #expect(life.machine.providers.options["plain"]?.last == ["server": "other.example"])
    #expect(try life.tunnel("plain").state == "connected")
  }

  @Test("a password is the credential of one run, and of no later one") func password() throws {
    let life = life()
    try up(life, ["username": "alice"], password: "s3cr3t-of-start", until: .resume)
    #expect(life.machine.providers.credentials.secrets == ["plain password s3cr3t-of-start"])
    #expect(life.machine.providers.credentials.sent == ["plain password"])
    life.machine.endProgram(of: "plain")
    life.machine.run(for: .seconds(60))
    #expect(try life.tunnel("plain").state == "connected")
    let options = life.machine.providers.options["plain"] ?? []
    #expect(options.count == 2, "the options are those of the override")
    #expect(life.machine.providers.credentials.secrets.count == 1 && life.machine.providers.credentials.sent.count == 1)
    #expect(!life.events.contains { "\($0)".contains("s3cr3t") })
    #expect(!"\(life.machine.disk.overrides)".contains("s3cr3t"))
    let again = refusal { try up(life, ["username": "alice"], password: "other") }
    #expect(again?.message.hasPrefix("plain is starting or up, and a password is for a start: run `roamward down plain` first") == true)
  }

  @Test("a password that waits for a start is forgotten with the override") func waiting() throws {
    let life = WatchedAgent(Self.policy(), on: NetworkSnapshot())
    life.start()
    try up(life, password: "s3cr3t-of-start", until: .resume)
    let taken = life.machine.providers.credentials.secrets.count
    try life.agent.resume("plain")
    life.move(to: Self.cafe)
    try up(life, until: .resume)
    #expect(try life.tunnel("plain").state == "connected")
    #expect(life.machine.providers.credentials.secrets.count == taken)
  }

  @Test("the mistakes are named, with the options that there are") func mistakes() throws {
    let life = life()
    #expect(
      refusal { try up(life, ["colour": "red"]) }?.message
        == "the provider of plain has no option \"colour\"; its options are server, username, port, fast, routes")
    #expect(
      refusal { try up(life, ["password": "s3cr3t"]) }?.message.hasSuffix("; a password is given by --password-fd or --ask-password")
        == true)
    #expect(
      refusal { try up(life, ["port": "high"]) }?.message == "option `port` of plain: expected an integer, found \"high\"")
    #expect(refusal { try up(life, ["server": "a", "server": "b"]) }?.message == "option `server` of plain is given 2 times")
    #expect(refusal { try up(life, ["routes": "10.0.0.0/33"]) }?.code == .provider)
    let corp = WatchedAgent(Sample.tunnel("plain", rules: [Sample.rule(.always, .disconnect)]), on: Self.cafe)
    corp.start()
    #expect(
      refusal { try up(corp, ["server": "a"]) }?.message
        == "plain takes no options for a start, because its provider (wireguard) has none; installed providers do")
    #expect(life.machine.providers.options.isEmpty && life.agent.status(at: 0, process: 1).tunnels.allSatisfy { $0.override == nil })
  }

  @Test("users set what the policy names, and nothing else; a password too") func rights() throws {
    let life = life(users: ["username"])
    let refused = refusal { try up(life, ["server": "evil.example"], isOwner: false) }
    #expect(refused?.code == .notAllowed)
    let words = "users may not set `server` of plain: `start-options` of its policy does not name it (it names username); run it with sudo"
    #expect(refused?.message == words)
    #expect(refusal { try up(life, password: "s3cr3t", isOwner: false) }?.code == .notAllowed)
    #expect(life.machine.providers.options.isEmpty)
    try up(life, ["username": "alice"], isOwner: false)
    #expect(life.machine.providers.options["plain"] == [["server": "vpn.example", "username": "alice"]])
    let other = self.life(users: ["password"])
    try up(other, password: "s3cr3t", isOwner: false)
    #expect(other.machine.providers.credentials.secrets == ["plain password s3cr3t"])
  }

  @Test("a plan of another process, which knows the files alone, starts nothing again") func planned() throws {
    let life = life()
    try up(life, ["server": "other.example"])
    let orders = PlanInputs(try life.status.coded, isSameNetwork: true)
    let tunnels = DesiredTunnels(life.machine.policies, on: Self.cafe, orders, in: life.machine.state.observed, engine: .kernel)
    #expect(tunnels.providerActions.isEmpty && tunnels.replacedTunnels.isEmpty)
  }
}
