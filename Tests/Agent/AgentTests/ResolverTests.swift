import AgentCore
import ControlProtocol
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Lives of the agent beside programs that keep the resolver.
@Suite struct ResolverTests {
  let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  let tunnel = Sample.tunnel(
    rules: [Sample.rule(.always, .connect)],
    dns: DNSPolicy(servers: [Sample.address("10.0.0.53")], matchDomains: [Sample.pattern("corp.example")]))
  var wanted: LinkResolver {
    var wanted = LinkResolver(
      servers: [Sample.address("10.0.0.53")], domains: [.init(Sample.domain("corp.example"), isRoutingOnly: true)])
    // The tunnel's own names alone.
    wanted.dnssec = .no
    return wanted
  }

  func life(_ tunnel: TunnelPolicy? = nil) -> WatchedAgent {
    let life = WatchedAgent(tunnel ?? self.tunnel, on: cafe)
    life.machine.state.keepResolver(resolved(.value(true)), file: .untouchable(reason: "a link"))
    return life
  }

  func resolved(_ answer: Answer<Bool>, links: [String: LinkResolver] = [:]) -> ObservedResolver {
    ObservedResolver(facts: ResolverFacts(target: "/run/systemd/resolve/stub-resolv.conf", resolved: answer), links: links)
  }

  @Test("connected means that the name servers are there too") func applied() throws {
    let life = life()
    var linksWhenConnected: [String: LinkResolver]?
    life.whenTold = {
      if case .state(_, _, let to, _, _) = $0, to == "connected" { linksWhenConnected = life.machine.state.observed.resolver.links }
    }
    life.start()
    #expect(try life.tunnel().state == "connected")
    #expect(linksWhenConnected == ["corp": wanted])
    #expect(life.status.resolver?.backend == "systemd-resolved" && life.status.resolver?.splits == true)
    #expect(life.machine.resolver.changes.count == 1)
  }

  @Test("a resolver that comes back with nothing gets it all again, and that is no fight") func restarted() throws {
    let life = life()
    life.start()
    for _ in 0..<3 {
      life.machine.state.keepResolver(resolved(.unavailable(reason: "it does not run")), file: .untouchable(reason: "a link"))
      life.agent.factsCame()
      life.machine.run(for: .seconds(1))
      #expect(try life.tunnel().state == "connected")
      #expect(try life.tunnel().notes.contains { $0.text.contains("systemctl restart systemd-resolved") })
      life.machine.state.keepResolver(resolved(.value(true)), file: .untouchable(reason: "a link"))
      life.agent.factsCame()
      life.machine.run(for: .milliseconds(10))
      #expect(life.machine.state.observed.resolver.links == ["corp": wanted])
    }
    #expect(life.status.notes.isEmpty)
  }

  @Test("a resolver that refuses leaves the tunnel connected, is told of, and asked again more and more slowly") func refused() throws {
    let life = life()
    life.machine.failingSteps = { if case .setLinkResolver = $0 { "Link corp is managed." } else { nil } }
    life.start(for: .seconds(120))
    #expect(try life.tunnel().state == "connected")
    #expect(life.status.notes.map(\.description) == ["name servers are not applied: Link corp is managed.; it is tried again"])
    #expect((4...8).contains(life.machine.resolver.changes.count), "\(life.machine.resolver.changes.count)")
    life.machine.failingSteps = { _ in nil }
    life.machine.run(for: .seconds(61))
    #expect(life.machine.state.observed.resolver.links == ["corp": wanted] && life.status.notes.isEmpty)
  }

  @Test("somebody who takes the servers away again and again is told of, and no war begins") func contested() throws {
    let life = life()
    life.start()
    let before = life.machine.resolver.changes.count
    for _ in 0..<600 {
      life.machine.state.apply([.revertLinkResolver(link: "corp")])
      life.agent.factsCame()
      life.machine.run(for: .milliseconds(100))
    }
    #expect(
      (2...12).contains(life.machine.resolver.changes.count - before), "\(life.machine.resolver.changes.count - before) changes in a minute"
    )
    #expect(life.status.notes.contains { $0.text.contains("taken away") && $0.text.contains("dns: none") })
    #expect(try life.tunnel().state == "connected")
    life.machine.run(for: .seconds(61))
    #expect(life.machine.state.observed.resolver.links == ["corp": wanted])
    life.machine.run(for: .seconds(61))
    #expect(life.status.notes.isEmpty)
  }

  @Test("names of a tunnel that goes are refused before its link is gone, until it is back, and a stop leaves nothing") func refuses()
    throws
  {
    var dns = DNSPolicy(servers: [Sample.address("10.0.0.53")], matchDomains: [Sample.pattern("corp.example")])
    dns.whenDown = .refuse
    let life = life(Sample.tunnel(rules: [Sample.rule(.always, .connect)], dns: dns))
    func answered() -> Bool { life.machine.state.observed.resolver.links.values.contains { $0.domains == self.wanted.domains } }
    var lapses: [String] = []
    life.start()
    #expect(try life.tunnel().state == "connected" && answered())
    life.machine.whenApplied = { if !answered() { lapses.append("\($0)") } }
    try life.agent.override("corp", OverrideRequest(wantsUp: false))
    life.machine.run(for: .seconds(1))
    #expect(try life.tunnel().state == "disconnected" && life.status.resolver?.refused == ["corp.example"])
    #expect(life.machine.state.observed.kernel.link(named: "corp") == nil && answered())
    try life.agent.resume("corp")
    life.machine.run(for: .seconds(1))
    #expect(try life.tunnel().state == "connected" && life.status.resolver?.refused == [] && lapses == [])
    var isDone = false
    life.agent.stop { isDone = true }
    life.machine.run(for: .seconds(1))
    #expect(isDone && life.machine.state.observed.resolver.links.isEmpty)
    #expect(life.machine.state.observed.kernel.link(named: Ownership.refusalLink) == nil)
  }

  @Test("questions are redirected only while the name server takes them: at the start, at a repair, at a new link, and at the end")
  func captured() throws {
    let dns = DNSPolicy(
      servers: [Sample.address("10.0.0.53")], matchDomains: [Sample.pattern("corp.example")], whenDown: .refuse, names: .capture)
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)], dns: dns), on: cafe)
    var resolver = resolved(.value(true))
    resolver.facts.nameServer = .value(true)
    life.machine.state.keepResolver(resolver, file: .untouchable(reason: "a link"))
    func redirects() -> Bool { if case .table = life.machine.state.observed.nameCapture { true } else { false } }
    func takes() -> Bool {
      if case .running(let settings) = life.machine.state.observed.resolver.nameServer { settings.capture != nil } else { false }
    }
    var lapses: [String] = []
    life.machine.whenApplied = { if redirects(), !takes() { lapses.append("\($0)") } }
    life.start()
    #expect(try life.tunnel().state == "connected" && redirects() && takes())
    for _ in 0..<3 {
      life.machine.state.apply([.removeNameCapture])
      life.agent.damaged()
      life.machine.run(for: .milliseconds(10))
      #expect(redirects())
    }
    try life.agent.override("corp", OverrideRequest(wantsUp: false))
    life.machine.run(for: .seconds(1))
    #expect(try life.tunnel().state == "disconnected" && redirects() && takes())
    var isDone = false
    life.agent.stop { isDone = true }
    life.machine.run(for: .seconds(1))
    #expect(isDone && !redirects() && life.machine.state.observed.resolver.nameServer == .absent && lapses == [])
  }

  @Test("a resolver that does not take the refusal keeps no tunnel from going") func refusalFails() throws {
    var dns = DNSPolicy(servers: [Sample.address("10.0.0.53")], matchDomains: [Sample.pattern("corp.example")])
    dns.whenDown = .refuse
    let life = life(Sample.tunnel(rules: [Sample.rule(.always, .connect)], dns: dns))
    life.machine.failingSteps = { if case .setLinkResolver(_, Ownership.refusalLink) = $0 { "no" } else { nil } }
    life.start()
    #expect(try life.tunnel().state == "connected")
    try life.agent.override("corp", OverrideRequest(wantsUp: false))
    life.machine.run(for: .seconds(30))
    #expect(try life.tunnel().state == "disconnected")
    #expect(life.status.notes.contains { $0.text.contains("not applied: no") })
  }

  @Test("names that two tunnels want are the other's before the one that has them lets them go") func heir() throws {
    var other = tunnel
    other.name = "lab"
    other.precedence = .enterprise
    let agent = WatchedAgent(tunnel, other, on: cafe)
    agent.machine.state.keepResolver(resolved(.value(true)), file: .untouchable(reason: "a link"))
    agent.start()
    let shared = Sample.domain("corp.example")
    func have() -> [String] {
      agent.machine.state.observed.resolver.links.filter { $0.value.domains.contains { $0.name == shared } }.keys.sorted()
    }
    #expect(have() == ["lab"], "\(have())")
    var isFree = false
    agent.machine.whenApplied = { _ in if have().isEmpty { isFree = true } }
    try agent.agent.override("lab", OverrideRequest(wantsUp: false))
    agent.machine.run(for: .seconds(5))
    #expect(try agent.tunnel("lab").state == "disconnected" && have() == ["corp"] && !isFree)
    // One that cannot be set does not keep the link.
    try agent.agent.resume("lab")
    agent.machine.run(for: .seconds(5))
    #expect(have() == ["lab"] && !isFree, "\(have())")
    agent.machine.failingSteps = { if case .setLinkResolver(_, "corp") = $0 { "no" } else { nil } }
    try agent.agent.override("lab", OverrideRequest(wantsUp: false))
    agent.machine.run(for: .seconds(60))
    #expect(try agent.tunnel("lab").state == "disconnected" && have() == [])
  }

  @Test("the echo of our own write of the file makes no observation; another text does") func echo() throws {
    let life = WatchedAgent(tunnel, on: cafe)
    life.start()
    life.machine.run(for: .seconds(5))
    let looks = life.machine.log.observations
    for _ in 0..<5 {
      life.agent.resolverFileChanged(to: life.machine.state.observed.resolvConf)
      life.machine.run(for: .seconds(1))
    }
    #expect(life.machine.log.observations == looks)
    life.machine.state.keepResolver(ObservedResolver(), file: .file("nameserver 192.0.2.77\n"))
    life.agent.resolverFileChanged(to: life.machine.state.observed.resolvConf)
    life.machine.run(for: .seconds(1))
    #expect(life.machine.log.observations > looks)
  }

  @Test("a file that somebody writes over is put back before anything is looked at; the second time it waits, and is told") func putBack()
    throws
  {
    let life = WatchedAgent(tunnel, on: cafe)
    life.start()
    let ours = life.machine.state.observed.resolvConf
    let theirs = ObservedResolvConf.file("# Generated by NetworkManager\nnameserver 192.0.2.1\n")
    #expect(try life.tunnel().state == "connected" && ours.isOurs)
    life.machine.state.keepResolver(ObservedResolver(), file: theirs)
    let (steps, looks) = (life.machine.log.applied.count, life.machine.log.observations)
    var looksBefore: Int?
    life.machine.whenApplied = { if case .writeResolvConf = $0 { looksBefore = looksBefore ?? life.machine.log.observations } }
    life.agent.resolverFileChanged(to: theirs)
    life.machine.run(for: .milliseconds(500))
    #expect(looksBefore == looks && life.machine.state.observed.resolvConf == ours && life.machine.log.applied.count == steps + 1)
    life.machine.state.keepResolver(ObservedResolver(), file: theirs)
    life.agent.resolverFileChanged(to: theirs)
    life.machine.run(for: .milliseconds(500))
    #expect(life.machine.state.observed.resolvConf == theirs)
    #expect(
      life.status.notes.contains { $0.text.contains("taken away 2 times") && $0.text.contains("NetworkManager") }, "\(life.status.notes)")
    life.machine.run(for: .seconds(3))
    #expect(life.machine.state.observed.resolvConf == ours)
  }

  @Test("stopping leaves nothing") func stops() {
    let life = life()
    life.start()
    var isDone = false
    life.agent.stop { isDone = true }
    life.machine.run(for: .seconds(1))
    #expect(isDone && life.machine.state.observed.resolver.links.isEmpty)
  }

  @Test("a record that a killed agent left with resolvconf is taken back") func leftRecord() {
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .disconnect)]), on: cafe)
    var left = ObservedResolver(facts: ResolverFacts(target: "/run/resolvconf/resolv.conf", resolvconf: .debian, hasRecord: true))
    left.records = ["tun.old.roamward": ResolvConf(nameServers: [Sample.address("10.0.0.53")])]
    life.machine.state.keepResolver(left, file: .untouchable(reason: "a link"))
    life.start()
    #expect(life.machine.resolver.changes == [.removeRecord("tun.old.roamward")])
    #expect(life.machine.state.observed.resolver.records.isEmpty)
  }

  @Test("a tunnel without name servers has nobody asked") func none() {
    let life = life(Sample.tunnel(rules: [Sample.rule(.always, .connect)], dns: DNSPolicy()))
    life.start()
    #expect(life.machine.resolver.changes.isEmpty && life.status.resolver == nil)
  }
}
