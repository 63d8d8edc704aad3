import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// An agent whose host has our name server, on the café's network.
private func agent(_ tunnels: TunnelPolicy..., keeper: ObservedResolver? = nil) -> WatchedAgent {
  var cafe = DayOut.cafe
  cafe.links[0].dnsServers = .known([Sample.address("198.51.100.53")])
  let agent = WatchedAgent(on: cafe)
  agent.machine.policies = PolicySet(tunnels: tunnels)
  if let keeper { agent.machine.state.keepResolver(keeper, file: .untouchable(reason: "a link")) }
  agent.machine.state.installNameServer()
  agent.start()
  return agent
}

extension WatchedAgent {
  /// A program looks the name up, and the agent has time to act.
  @discardableResult
  fileprivate func lookUp(_ name: String, resolves: Bool = true) -> [IPAddress] {
    guard let name = DomainName(name) else { return [] }
    let servers = machine.lookUp(name, resolvesOutside: resolves, by: NameLookup.Asker(user: 1000, controlGroup: "/app"))
    machine.run(for: .seconds(1))
    return servers
  }

  fileprivate var settings: NameServerSettings? {
    if case .running(let settings) = machine.state.observed.resolver.nameServer { settings } else { nil }
  }
}

@Suite("Look-ups that start a tunnel") struct LookupTests {
  private static let inside = [Sample.address("10.0.0.53")]

  @Test("the first question waits and starts it, the next go to the tunnel's servers; who asked is told") func always() throws {
    let agent = agent(DayOut.watched())
    #expect(try agent.tunnel().state == "disconnected" && agent.tunnel().decision == .evaluateConnection)
    #expect(try agent.tunnel().notes.contains { $0.text.hasPrefix("comes up at a look-up of corp.example; comes up if the network's") })
    let outside = agent.lookUp("www.example")
    #expect(try outside == [] && agent.tunnel().state == "disconnected", "no watch concerns it")
    #expect(agent.lookUp("git.corp.example") == [], "no server gets the first question")
    #expect(try agent.tunnel().state == "connected" && agent.settings?.watches.first?.progress == .connected)
    let tunnel = try agent.tunnel()
    #expect(tunnel.lookup?.name == "git.corp.example" && tunnel.lookup?.user == 1000 && tunnel.lookup?.controlGroup == "/app")
    #expect(tunnel.code == .lookup && tunnel.reason.hasPrefix("a look-up started it; rule 2"))
    #expect(agent.events.contains { if case .lookup(let lookup) = $0 { lookup.name == "git.corp.example" } else { false } })
    #expect(agent.lookUp("wiki.corp.example") == Self.inside)
  }

  @Test("a name that is asked outside first starts it only if it is not resolved there; an exception never does") func needed() throws {
    let agent = agent(DayOut.watched())
    let network = [Sample.address("198.51.100.53")]
    #expect(try agent.lookUp("box.lab.example") == network && agent.tunnel().state == "disconnected")
    agent.lookUp("www.public.corp.example", resolves: false)
    #expect(try agent.tunnel().state == "disconnected")
    agent.lookUp("box.lab.example", resolves: false)
    #expect(try agent.tunnel().state == "connected")
    #expect(agent.lookUp("www.public.corp.example") == network, "an exception stays outside while it is up")
  }

  @Test("idleness ends what a look-up started, and the next look-up starts it again; without the key it stays up") func idle() throws {
    for (idle, after) in [(Duration.seconds(60), "disconnected"), (nil, "connected")] {
      let agent = agent(DayOut.watched(idle: idle))
      agent.lookUp("git.corp.example")
      #expect(try agent.tunnel().state == "connected")
      agent.machine.run(for: .seconds(100))
      #expect(try agent.tunnel().state == after)
      #expect(try (agent.tunnel().lookup == nil) == (idle != nil))
      agent.lookUp("git.corp.example")
      #expect(try agent.tunnel().state == "connected")
    }
  }

  @Test("a person's wish comes first: up by hand it has no idle time, down by hand no look-up starts it") func hand() throws {
    let agent = agent(DayOut.watched(idle: .seconds(60)))
    try agent.agent.override("corp", OverrideRequest(wantsUp: true, until: .resume))
    agent.machine.run(for: .seconds(600))
    #expect(try agent.tunnel().state == "connected")
    try agent.agent.override("corp", OverrideRequest(wantsUp: false, until: .resume))
    agent.machine.run(for: .seconds(1))
    #expect(agent.settings?.watches ?? [] == [], "its names are resolved as without a tunnel")
    agent.lookUp("git.corp.example")
    #expect(try agent.tunnel().state == "disconnected")
    try agent.agent.resume("corp")
    agent.machine.run(for: .seconds(1))
    agent.lookUp("git.corp.example")
    #expect(try agent.tunnel().state == "connected")
  }

  @Test("a start that does not succeed is given up after a minute, and the next look-up tries again") func failing() throws {
    let agent = agent(DayOut.watched())
    agent.machine.peersAnswer = false
    agent.lookUp("git.corp.example")
    #expect(try agent.tunnel().state == "connecting" && agent.settings?.watches.first?.progress == .starting)
    agent.machine.run(for: .seconds(17))
    #expect(agent.settings?.watches.first?.progress == .failed || agent.settings?.watches.first?.progress == .starting)
    agent.machine.run(for: .seconds(60))
    #expect(try agent.tunnel().state == "disconnected" && agent.settings?.watches.first?.progress == .down)
    #expect(agent.status.nextWake == nil, "nothing is left to do")
    agent.machine.peersAnswer = true
    agent.lookUp("git.corp.example")
    #expect(try agent.tunnel().state == "connected")
  }

  @Test("a question is not released while a step of the start fails") func notReleased() throws {
    let agent = agent(DayOut.watched())
    var (isTornDown, isFailing) = (false, true)
    agent.machine.failingSteps = { step in
      switch step {
      case .addRule: return isFailing ? "not yet" : nil
      case .setNameServer(let settings):
        if settings.watches.contains(where: { $0.progress == .connected }) { isTornDown = true }
        return nil
      default: return nil
      }
    }
    agent.lookUp("git.corp.example")
    agent.machine.run(for: .seconds(5))
    #expect(try agent.tunnel().state != "connected" && !isTornDown)
    isFailing = false
    agent.machine.run(for: .seconds(30))
    #expect(try agent.tunnel().state == "connected" && isTornDown)
  }

  @Test("on the trusted network its names are not watched, and it goes down there; leaving, they are again") func roams() throws {
    let agent = agent(DayOut.watched())
    agent.lookUp("git.corp.example")
    agent.move(to: DayOut.home)
    agent.machine.run(for: .seconds(2))
    #expect(try agent.tunnel().state == "disconnected" && agent.settings == nil)
    agent.move(to: DayOut.hotel)
    #expect(try agent.tunnel().state == "disconnected")
    agent.lookUp("git.corp.example")
    #expect(try agent.tunnel().state == "connected")
    agent.move(to: DayOut.cafe)
    agent.machine.run(for: .seconds(2))
    #expect(try agent.tunnel().state == "connected", "a roam is no reason to go down")
  }

  @Test("between two networks, and while a fact is awaited, its names stay watched; a new agent keeps programs led to our name server")
  func between() throws {
    var tunnel = DayOut.watched()
    let unknown = Rule(match: .ssid([Sample.ssid("Unknown")]), action: .connect, location: Sample.place())
    tunnel.onDemand.rules.insert(unknown, at: 1)
    let agent = agent(tunnel)
    let watches = agent.settings?.watches.map(\.entries)
    #expect(watches?.first?.count == 3)
    agent.move(to: NetworkSnapshot())
    #expect(agent.settings?.watches.map(\.entries) == watches)
    var hidden = DayOut.hotel
    hidden.links[0].ssid = .unknown(reason: "not read yet")
    agent.move(to: hidden)
    #expect(try agent.tunnel().decision == .pending && agent.settings?.watches.map(\.entries) == watches)
    #expect(agent.lookUp("git.corp.example") == [])
    let before = agent.machine.state.observed.resolvConf
    let steps = agent.machine.log.applied.count
    let next = Agent(platform: agent.machine.platform, settle: .milliseconds(500))
    next.start()
    agent.machine.run(for: .seconds(3))
    let file = agent.machine.log.applied[steps...].filter { step in
      switch step {
      case .writeResolvConf, .restoreResolvConf: true
      default: false
      }
    }
    #expect(agent.machine.state.observed.resolvConf == before && file == [])
  }

  @Test(
    "on another network no server is asked by the decision of the last one: neither before the rules have been evaluated nor while a fact is awaited"
  )
  func leavingTrustedNetwork() throws {
    var watched = DayOut.watched()
    let unknown = Rule(match: .ssid([Sample.ssid("Unknown")]), action: .connect, location: Sample.place())
    watched.onDemand.rules.insert(unknown, at: 1)
    var other = Sample.tunnel(
      rules: [Sample.rule(.always, .connect)],
      dns: DNSPolicy(servers: [Sample.address("10.9.0.53")], matchDomains: [Sample.pattern("site.example")]))
    other.name = "site"
    let agent = agent(watched, other)
    agent.move(to: DayOut.home)
    agent.machine.run(for: .seconds(2))
    let atHome = try #require(agent.settings)
    agent.move(to: NetworkSnapshot())
    #expect(agent.settings?.watches == [], "without a network no server is asked")
    agent.move(to: DayOut.home)
    #expect(try atHome.watches == [] && agent.tunnel("site").state == "connected")
    var hotel = DayOut.hotel
    hotel.links[0].dnsServers = .known([Sample.address("192.0.2.53")])
    hotel.links[0].ssid = .unknown(reason: "not read yet")
    var unwatched: [NameServerSettings] = []
    agent.machine.whenApplied = { if case .setNameServer(let settings) = $0, settings.watches.isEmpty { unwatched.append(settings) } }
    // A DHCP client writes its file, and the agent repairs that before anything else.
    agent.machine.network = hotel
    let theirs = ObservedResolvConf.file("nameserver 192.0.2.53\n")
    agent.machine.state.keepResolver(agent.machine.state.observed.resolver, file: theirs)
    agent.agent.resolverFileChanged(to: theirs)
    #expect(unwatched == [])
    agent.machine.run(for: .seconds(1))
    #expect(try agent.tunnel().decision == .pending && unwatched == [])
    #expect(agent.settings?.watches.first?.entries.count == 3 && agent.settings?.network != atHome.network)
    #expect(agent.lookUp("git.corp.example") == [])
    hotel.links[0].ssid = .known(Sample.ssid("Hotel"))
    agent.move(to: hotel)
    agent.lookUp("git.corp.example")
    #expect(try agent.tunnel().state == "connected" && unwatched == [])
  }

  @Test("the names of an armed tunnel are watched too until the rules have decided, and then go into it", arguments: [false, true])
  func leavingTrustedNetworkArmed(withResolved: Bool) throws {
    var armed = DayOut.armed("10.0.0.0/8")
    let unknown = Rule(match: .ssid([Sample.ssid("Unknown")]), action: .connect, location: Sample.place())
    armed.onDemand.rules.insert(unknown, at: 1)
    var keeper = DayOut.resolved
    keeper.facts.nameServer = .value(true)
    let agent = agent(armed, keeper: withResolved ? keeper : nil)
    #expect(try agent.tunnel().state == "armed" && agent.settings?.watches ?? [] == [], "its look-ups are packets into it")
    agent.move(to: DayOut.home)
    agent.machine.run(for: .seconds(2))
    #expect(try agent.tunnel().state == "disconnected" && agent.settings == nil)
    var hotel = DayOut.hotel
    hotel.links[0].ssid = .unknown(reason: "not read yet")
    agent.move(to: hotel)
    #expect(try agent.tunnel().decision == .pending && agent.settings?.watches.first?.entries.map(\.fate) == [.always])
    #expect(try agent.lookUp("git.corp.example") == [] && agent.tunnel().state == "disconnected")
    let links = agent.machine.state.observed.resolver.links
    #expect(links[Ownership.refusalLink]?.domains.contains { $0.name?.text == "corp.example" } ?? false == withResolved)
    hotel.links[0].ssid = .known(Sample.ssid("Hotel"))
    agent.move(to: hotel)
    #expect(try agent.tunnel().state == "armed" && agent.settings?.watches ?? [] == [])
  }

  @Test("of two enterprise tunnels the one that a look-up started keeps the other's names unwatched") func exclusion() throws {
    var other = DayOut.watched(class: .enterprise)
    other.name = "lab"
    let agent = agent(DayOut.watched(class: .enterprise), other)
    agent.lookUp("git.corp.example")
    #expect(try agent.tunnel("corp").state == "connected" && agent.tunnel("lab").state == "disconnected")
    #expect(agent.settings?.watches.map(\.tunnel) == ["corp"])
  }

  @Test("with systemd-resolved a link of ours has the names, and it is gone with the policy") func resolved() throws {
    var keeper = DayOut.resolved
    keeper.facts.nameServer = .value(true)
    let agent = agent(DayOut.watched(), keeper: keeper)
    let domains = agent.machine.state.observed.resolver.links[Ownership.refusalLink]?.domains.compactMap { $0.name?.text }
    #expect(domains == ["public.corp.example", "corp.example", "lab.example"])
    #expect(agent.machine.state.observed.resolver.links[Ownership.refusalLink]?.servers == [NameServerSettings.addressOnLink])
    #expect(agent.settings?.listensAt == NameServerSettings.addressOnLink)
    agent.lookUp("git.corp.example")
    #expect(try agent.tunnel().state == "connected")
    agent.policiesChange()
    agent.machine.run(for: .seconds(3))
    #expect(agent.settings == nil && agent.machine.state.observed.resolver.links[Ownership.refusalLink] == nil)
    #expect(agent.machine.state.observed.kernel.links.allSatisfy { $0.name != Ownership.refusalLink })
  }

  @Test("where the name server cannot run it is said, and names are resolved as without a tunnel") func missing() throws {
    let agent = WatchedAgent(DayOut.watched(), on: DayOut.cafe)
    agent.start()
    #expect(try agent.tunnel().notes.contains { $0.text.hasPrefix("no look-up starts it: ") } && agent.settings == nil)
  }
}
