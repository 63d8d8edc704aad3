import AgentCore
import ControlProtocol
import JSON
import LinuxPlatform
import NetworkTypes
import PolicySource
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Probes in the life of the agent: who is asked when, and what comes of it.
@Suite struct ProbingTests {
  static let beacon = Probe(url: "https://beacon.example/", pins: ["sha256//x"])
  private let office = live(Sample.wifi("Office"))
  private let cafe = live(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  private let rules = [Sample.rule(.probe(beacon), .disconnect), Sample.rule(.always, .connect)]

  /// As the real machine sees a network before anything is asked of it.
  private static func live(_ link: LinkFacts) -> NetworkSnapshot {
    var network = Sample.network(link)
    network.captivePortal = .unknown(reason: "nobody says")
    network.internet = .unknown(reason: "nobody says")
    network.otherProbes = .unknown(reason: "it was not asked")
    return network
  }

  private func answers(_ life: WatchedAgent, _ reply: ProbeReply?) { life.machine.probing.replies[Self.beacon.url] = reply }

  @Test("the beacon's answer takes the tunnel down in the office, and elsewhere it comes up by itself; then no timer is set")
  func walk() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: office)
    answers(life, .response(status: 200))
    life.start()
    #expect(try life.tunnel().state == "disconnected" && life.tunnel().decision == .disconnect && life.machine.isIdle)
    answers(life, .unanswered(reason: "there is no name beacon.example"))
    life.move(to: cafe)
    #expect(try life.tunnel().state == "connected")
    life.machine.run(for: .seconds(600))
    #expect(life.agent.isAtRest, "the question is settled")
    let asked = life.machine.probing.requests.count
    life.machine.run(for: .seconds(100_000))
    #expect(life.machine.probing.requests.count == asked)
    answers(life, .response(status: 200))
    life.move(to: office)
    #expect(try life.tunnel().state == "disconnected")
    #expect(life.status.probes.map(\.answer) == ["ok"] && life.status.probes.map(\.reason) == ["answered 200"])
  }

  @Test("the process that speaks to strangers ends with each network and each sleep, not while the network stays")
  func departures() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: office)
    answers(life, .response(status: 200))
    life.start()
    life.machine.run(for: .seconds(100))
    #expect(life.machine.probing.departures == 0)
    life.move(to: cafe)
    #expect(life.machine.probing.departures == 1)
    life.move(to: office)
    #expect(life.machine.probing.departures == 2)
    life.machine.sleep(for: .seconds(3600))
    life.agent.woke()
    life.machine.run(for: .seconds(1))
    #expect(life.machine.probing.departures == 3)
  }

  @Test("back in the office the tunnel stays until the beacon has proven it anew")
  func proof() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: office)
    answers(life, .response(status: 200))
    life.start()
    answers(life, .unanswered(reason: "timed out"))
    life.move(to: cafe)
    // A twin of the office, where nobody answers.
    answers(life, nil)
    life.move(to: office)
    #expect(try life.tunnel().decision == .pending && life.tunnel().state == "connected")
    life.machine.run(for: .seconds(60))
    #expect(try life.tunnel().decision == .connect && life.tunnel().state == "connected", "ignorance protects")
  }

  @Test("back in the café the tunnel does not wait for the beacon to be missed once more")
  func memory() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: cafe)
    life.machine.probing.time = .seconds(4)
    answers(life, .unanswered(reason: "timed out"))
    life.start(for: .zero)
    #expect(try life.tunnel().state == "disconnected" && life.tunnel().decision == .pending)
    life.machine.run(for: .seconds(6))
    #expect(try life.tunnel().state == "connected")
    answers(life, .response(status: 200))
    life.move(to: office)
    life.machine.run(for: .seconds(10))
    #expect(try life.tunnel().state == "disconnected")
    answers(life, .unanswered(reason: "timed out"))
    life.move(to: cafe)
    #expect(try life.tunnel().state == "connected", "within a second of coming back")
  }

  @Test("an answer from the last network, however late, is not believed")
  func late() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: office)
    life.machine.probing.time = .seconds(3)
    answers(life, .response(status: 200))
    life.start()
    answers(life, nil)
    life.move(to: cafe)
    life.machine.run(for: .seconds(4))
    #expect(try life.tunnel().decision == .pending)
    life.machine.run(for: .seconds(4))
    #expect(try life.tunnel().decision == .connect)
  }

  @Test("nothing is asked while a cheaper key, an earlier rule, a switch or a hold decides", arguments: [0, 1, 2, 3])
  func lazy(kind: Int) throws {
    let wired = Condition.interface([.ethernet])
    let tunnel =
      switch kind {
      case 0: Sample.tunnel(rules: [Sample.rule(.all([wired, .probe(Self.beacon)]), .disconnect), Sample.rule(.always, .connect)])
      case 1: Sample.tunnel(rules: [Sample.rule(.always, .connect)] + rules)
      case 2: Sample.tunnel(rules: rules, isEnabled: false)
      default: Sample.tunnel(rules: rules)
      }
    let life = WatchedAgent(tunnel, on: cafe)
    if kind == 3 { life.machine.disk.overrides = ["corp": ManualOverride(wantsUp: true, since: 0, lifetime: .resume)] }
    life.start(for: .seconds(60))
    #expect(life.machine.probing.requests == [] && life.status.probes == [])
    guard kind == 3 else { return }
    try life.agent.resume("corp")
    life.machine.run(for: .seconds(1))
    #expect(life.machine.probing.requests.count == 1)
  }

  @Test("a captive portal that opens is noticed, and the tunnel comes up by itself")
  func portal() throws {
    let rules = [Sample.rule(.captivePortal(true), .disconnect), Sample.rule(.internet(true), .connect)]
    let machine = SimulatedMachine()
    machine.policies = PolicySet(tunnels: [Sample.tunnel(rules: rules)])
    machine.network = cafe
    machine.probing.replies = ["http://check.example/": .response(status: 302)]
    let agent = Agent(platform: machine.platform, settle: .zero, connectivityCheck: ConnectivityCheck(url: "http://check.example/"))
    agent.start()
    machine.run(for: .seconds(60))
    #expect(agent.status(at: 0, process: 0).tunnels.map(\.decision) == [.disconnect])
    #expect(agent.lastSnapshot.captivePortal == .known(true))
    machine.probing.replies = ["http://check.example/": .response(status: 204)]
    machine.run(for: .seconds(25))
    #expect(agent.status(at: 0, process: 0).tunnels.map(\.state) == ["connected"])
    #expect(agent.isAtRest)
    // A report of the host outranks the check.
    machine.network.captivePortal = .known(true)
    agent.networkChanged()
    machine.run(for: .seconds(1))
    #expect(agent.status(at: 0, process: 0).tunnels.map(\.decision) == [.disconnect])
  }

  @Test("a portal's own API is asked first", arguments: [("{\"captive\": true}", true), ("{ \"captive\":false, \"x\": 1 }", false)])
  func portalAPI(body: String, isCaptive: Bool) throws {
    let machine = SimulatedMachine()
    machine.policies = PolicySet(tunnels: [Sample.tunnel(rules: [Sample.rule(.captivePortal(false), .connect)])])
    machine.network = cafe
    machine.network.portalAPI = "https://portal.example/api"
    machine.probing.replies = ["https://portal.example/api": .response(status: 200, body: Array(body.utf8))]
    let agent = Agent(platform: machine.platform, settle: .zero)
    agent.start()
    machine.run(for: .milliseconds(500))
    #expect(agent.lastSnapshot.captivePortal == .known(isCaptive))
    #expect(machine.probing.requests == ["https://portal.example/api on wlan0"])
  }

  @Test("what is recorded while probes are on their way decides the same when it is lived through again")
  func recorded() throws {
    var snapshots: [(Moment, JSON)] = []
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: office)
    life.whenTold = { event in if case .snapshot(let json) = event { snapshots.append((life.machine.now, json)) } }
    answers(life, .response(status: 200))
    life.start(for: .seconds(10))
    answers(life, .unanswered(reason: "timed out"))
    life.move(to: cafe)
    life.machine.run(for: .seconds(300))
    answers(life, .response(status: 200))
    life.move(to: office)
    let words = snapshots.map { "\($0.1["probes"]?.text() ?? "-")" }
    let name = Self.beacon.name
    #expect(words.filter { $0.contains("\"\(name)\":\"ok\"") }.count == 2 && words.filter { $0.contains("\"fail\"") }.count == 1)

    let steps = try snapshots.map { at, json in
      let (network, problems) = readSnapshot(text: Array(json.text().utf8), file: "recorded")
      #expect(problems.isEmpty)
      return Timeline.Step(at: at - Moment(nanoseconds: 0), act: .network(try #require(network)), location: Sample.place())
    }
    var decisions: [String] = []
    let policies = life.machine.policies
    let end = Timeline.Step(at: .seconds(400), act: .wait, location: Sample.place())
    let simulation = Simulation(Timeline(steps: steps + [end]), policies: policies, settle: .zero) { entry in
      if case .decision(_, let outcome, let rule, _, _, _) = entry.event, decisions.last != "\(outcome) \(rule ?? 0)" {
        decisions.append("\(outcome) \(rule ?? 0)")
      }
    }
    #expect(simulation.run() == [])
    #expect(decisions == life.decisions)
    #expect(decisions.contains("disconnect 1") && decisions.contains("connect 2") && decisions.contains("pending 1"))
  }
}

extension WatchedAgent {
  /// Each outcome and rule once in a row.
  fileprivate var decisions: [String] {
    events.reduce(into: []) { decisions, event in
      guard case .decision(_, let outcome, let rule, _, _, _) = event, decisions.last != "\(outcome) \(rule ?? 0)" else { return }
      decisions.append("\(outcome) \(rule ?? 0)")
    }
  }
}
