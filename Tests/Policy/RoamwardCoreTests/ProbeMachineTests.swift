import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// A machine whose steps may stand within an expectation.
private final class Prober {
  private var machine: ProbeMachine

  init(_ machine: ProbeMachine = ProbeMachine()) { self.machine = machine }

  var copy: Prober { Prober(machine) }
  var nextDeadline: Moment? { machine.nextDeadline }

  func attach(to network: NetworkSnapshot, at now: Moment) -> [ProbeMachine.Effect] { machine.attach(to: network, at: now) }
  func wake(at now: Moment) -> [ProbeMachine.Effect] { machine.wake(at: now) }
  func want(_ evidence: Set<Evidence>, at now: Moment) -> [ProbeMachine.Effect] { machine.want(evidence, at: now) }
  func take(_ reply: ProbeReply, for token: ProbeMachine.Token, at now: Moment) -> Bool { machine.take(reply, for: token, at: now) }
  func complete(_ network: NetworkSnapshot, probes: [Probe]) -> NetworkSnapshot { machine.complete(network, probes: probes) }
}

/// Which questions are put when, and which answers are believed; in virtual time.
@Suite struct ProbeMachineTests {
  private let beacon = Probe(url: "https://beacon.example/", pins: ["sha256//x"])
  private let other = Probe(url: "http://other.example/")
  private let check = ConnectivityCheck(url: "http://check.example/")
  private let home = live(Sample.wifi("Home"))
  private let cafe = live(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))

  /// As the host's own sources see it: nothing is known that has to be asked for.
  private static func live(_ link: LinkFacts) -> NetworkSnapshot {
    var network = Sample.network(link)
    network.captivePortal = .unknown(reason: "nobody says")
    network.internet = .unknown(reason: "nobody says")
    network.otherProbes = .unknown(reason: "it was not asked")
    return network
  }

  private func at(_ seconds: Double) -> Moment { Moment(nanoseconds: UInt64(seconds * 1e9) + 1_000_000_000_000) }

  /// The tokens of what is sent, and how many requests are aborted.
  private func sent(_ effects: [ProbeMachine.Effect]) -> [ProbeMachine.Token] {
    effects.compactMap { if case .send(let token, _) = $0 { token } else { nil } }
  }

  private func answer(_ machine: Prober, _ network: NetworkSnapshot) -> Fact<Bool> {
    machine.complete(network, probes: [beacon, other]).answer(to: beacon)
  }

  private func attached(to network: NetworkSnapshot, check: ConnectivityCheck? = nil) -> Prober {
    let machine = Prober(ProbeMachine(check: check))
    #expect(machine.attach(to: network, at: at(0)) == [])
    return machine
  }

  @Test("a probe is sent when it is wanted, once, and its answer holds while nothing happens, without a timer")
  func settles() throws {
    let machine = attached(to: home)
    #expect(answer(machine, home) == .unknown(reason: "no rule needs it now"))
    let token = try #require(sent(machine.want([.probe(beacon)], at: at(0))).first)
    #expect(answer(machine, home) == .unknown(reason: "the probe is under way"))
    #expect(machine.want([.probe(beacon)], at: at(1)) == [])
    #expect(machine.take(.response(status: 200), for: token, at: at(1)))
    #expect(answer(machine, home) == .known(true))
    #expect(machine.want([.probe(beacon)], at: at(100_000)) == [] && machine.nextDeadline == nil)
    #expect(!machine.take(.unanswered(reason: "late"), for: token, at: at(2)), "one answer a question")
  }

  @Test(
    "what an answer means",
    arguments: [
      (ProbeReply.response(status: 204), Fact<Bool>.known(false)), (.response(status: 302), .known(false)),
      (.impostor(reason: "another key"), .known(false)), (.unanswered(reason: "timed out"), .known(false)),
      (.unsent(reason: "no right to mark"), .unknown(reason: "it cannot be sent: no right to mark")),
    ])
  func meanings(reply: ProbeReply, fact: Fact<Bool>) throws {
    let machine = attached(to: home)
    let token = try #require(sent(machine.want([.probe(beacon)], at: at(0))).first)
    #expect(machine.take(reply, for: token, at: at(1)))
    #expect(answer(machine, home) == fact)
  }

  @Test("an answer from the last network is never believed on this one")
  func generations() throws {
    let machine = attached(to: home)
    let old = try #require(sent(machine.want([.probe(beacon)], at: at(0))).first)
    #expect(machine.attach(to: cafe, at: at(1)) == [.abort(old)])
    let new = try #require(sent(machine.want([.probe(beacon)], at: at(1))).first)
    #expect(!machine.take(.response(status: 200), for: old, at: at(1)))
    #expect(answer(machine, cafe) == .unknown(reason: "the probe is under way"))
    #expect(machine.take(.unanswered(reason: "no such name"), for: new, at: at(1)))
    #expect(answer(machine, cafe) == .known(false))
    // Home again, with the first answer arriving only now.
    _ = machine.attach(to: home, at: at(2))
    #expect(!machine.take(.response(status: 200), for: old, at: at(2)))
    #expect(answer(machine, home).value == nil)
  }

  @Test("what proved the office proves nothing when it comes back; it is remembered", arguments: [true, false])
  func reattachment(bySleep: Bool) throws {
    let machine = attached(to: home)
    let token = try #require(sent(machine.want([.probe(beacon)], at: at(0))).first)
    #expect(machine.take(.response(status: 200), for: token, at: at(1)))
    let before = answer(machine, home)
    #expect(before == .known(true))
    _ = bySleep ? machine.wake(at: at(2)) : machine.attach(to: NetworkSnapshot(), at: at(2))
    _ = machine.attach(to: home, at: at(3))
    #expect(answer(machine, home).value == nil)
    #expect(machine.complete(home, probes: [beacon]).rememberedProbes == [beacon.name: true])
    #expect(machine.complete(home, probes: [other]).rememberedProbes == [:], "of probes that a policy still has")
    #expect(sent(machine.want([.probe(beacon)], at: at(3))).count == 1, "it is proven anew")
    // A day later it is forgotten.
    _ = machine.attach(to: cafe, at: at(4))
    _ = machine.attach(to: home, at: at(4 + 90_000))
    #expect(machine.complete(home, probes: [beacon]).rememberedProbes == [:])
  }

  @Test("a twin of the network that shows its hardware address late is another network")
  func twin() throws {
    func home(_ mac: MACAddress?) -> NetworkSnapshot {
      var network = self.home
      network.links[0].gatewayMAC = mac.map { .known($0) } ?? .unknown(reason: "no neighbour entry yet")
      return network
    }
    let (mine, evil) = (try #require(MACAddress("02:00:5e:10:00:01")), try #require(MACAddress("02:00:5e:66:66:66")))
    let machine = attached(to: home(mine))
    let token = try #require(sent(machine.want([.probe(beacon)], at: at(0))).first)
    #expect(machine.take(.response(status: 200), for: token, at: at(1)))
    _ = machine.attach(to: home(nil), at: at(2))
    #expect(answer(machine, home(nil)) == .known(true), "nothing speaks against it yet")
    _ = machine.attach(to: home(evil), at: at(3))
    #expect(answer(machine, home(evil)).value == nil)
  }

  @Test("another address or name server on the same network: asked anew, and believed until then")
  func sameNetwork() throws {
    let machine = attached(to: home)
    let token = try #require(sent(machine.want([.probe(beacon)], at: at(0))).first)
    #expect(machine.take(.response(status: 200), for: token, at: at(1)))
    var renewed = home
    renewed.links[0].addresses = [Sample.own("192.0.2.99/24")]
    #expect(machine.attach(to: renewed, at: at(10)) == [])
    #expect(answer(machine, renewed) == .known(true))
    let again = try #require(sent(machine.want([.probe(beacon)], at: at(10))).first)
    #expect(answer(machine, renewed) == .known(true))
    // Under way when the address changes once more: what was sent comes from an address that is gone.
    #expect(machine.attach(to: home, at: at(11)) == [.abort(again)])
    let third = try #require(sent(machine.want([.probe(beacon)], at: at(11))).first)
    #expect(!machine.take(.response(status: 200), for: again, at: at(11)))
    #expect(machine.take(.impostor(reason: "another key"), for: third, at: at(12)))
    #expect(answer(machine, home) == .known(false))
    // Changes of other facts are no event.
    var warmer = home
    warmer.power = .known(.battery)
    warmer.links.append(LinkFacts(name: "veth1"))
    #expect(machine.attach(to: warmer, at: at(12.5)) == [] && machine.want([.probe(beacon)], at: at(12.5)) == [])
  }

  @Test("what nobody wants any more is dropped; wanted again later, an answer is renewed")
  func unwanted() throws {
    let machine = attached(to: home)
    let token = try #require(sent(machine.want([.probe(beacon)], at: at(0))).first)
    #expect(machine.want([], at: at(1)) == [.abort(token)])
    #expect(!machine.take(.response(status: 200), for: token, at: at(1)))
    let second = try #require(sent(machine.want([.probe(beacon)], at: at(2))).first)
    #expect(machine.take(.response(status: 200), for: second, at: at(3)))
    #expect(machine.want([], at: at(4)) == [])
    #expect(machine.want([.probe(beacon)], at: at(50)) == [], "fresh enough")
    #expect(machine.want([], at: at(51)) == [])
    #expect(sent(machine.want([.probe(beacon)], at: at(100))).count == 1)
    #expect(answer(machine, home) == .known(true))
  }

  /// Plays on, answering each question so after a tenth of a second; gives the times at which questions were put.
  private func play(
    _ machine: Prober, _ evidence: Set<Evidence>, until end: Double, answering: (Inquiry, Double) -> ProbeReply
  ) -> [Double] {
    var times: [Double] = []
    var now = 0.0
    while now <= end {
      for case .send(let token, let inquiry) in machine.want(evidence, at: at(now)) {
        times.append(now)
        #expect(machine.take(answering(inquiry, now), for: token, at: at(now + 0.1)))
      }
      // An answer may make other probes due at once; otherwise the machine says when.
      if case let more = machine.want(evidence, at: at(now + 0.1)), !more.isEmpty {
        for case .send(let token, let inquiry) in more {
          times.append(now + 0.1)
          #expect(machine.take(answering(inquiry, now), for: token, at: at(now + 0.2)))
        }
      }
      guard let next = machine.nextDeadline else { break }
      now = Double(next.nanoseconds - at(0).nanoseconds) / 1e9
    }
    return times
  }

  @Test("where nobody answers it is asked a while, ever less often, and then no more")
  func givesUp() {
    let machine = attached(to: cafe)
    let times = play(machine, [.probe(beacon)], until: 1e6) { _, _ in .unanswered(reason: "timed out") }
    let waits = zip(times.dropFirst(), times).map { $0 - $1 }
    #expect(waits.first == 1.1 && zip(waits.dropFirst(), waits).allSatisfy { $0 >= $1 - 1e-6 })
    #expect(times.count < 25 && (120...200).contains(times.last ?? 0))
    #expect(machine.nextDeadline == nil, "no wake-up is left")
    #expect(answer(machine, cafe) == .known(false))
    let again = attached(to: cafe)
    #expect(play(again, [.probe(beacon)], until: 1e6) { _, _ in .unanswered(reason: "timed out") } == times, "no chance in it")
  }

  @Test("a server that proved who it is means what it says; something in between may go at any time")
  func outlooks() {
    for (probe, reply, goesOn) in [
      (beacon, ProbeReply.response(status: 403), false), (beacon, .impostor(reason: "another key"), true),
      (other, .response(status: 302), true), (other, .unanswered(reason: "refused"), false),
    ] {
      let machine = attached(to: cafe)
      let times = play(machine, [.probe(probe)], until: 20_000) { _, _ in reply }
      #expect((machine.nextDeadline != nil) == goesOn, "\(probe.url) \(reply)")
      let waits = zip(times.dropFirst(), times).map { $0 - $1 }
      #expect(waits.allSatisfy { $0 < 601 })
    }
  }

  @Test("a portal that opens is noticed by itself, and what failed before it is asked again at once")
  func portalOpens() {
    let machine = attached(to: cafe, check: check)
    let opens = 300.0
    let times = play(machine, [.captivePortal, .internet, .probe(beacon)], until: 5000) { inquiry, now in
      if case .probe = inquiry { return now < opens ? .unanswered(reason: "timed out") : .response(status: 200) }
      return now < opens ? .response(status: 302) : .response(status: 204)
    }
    let completed = machine.complete(cafe, probes: [beacon])
    #expect(completed.captivePortal == .known(false) && completed.internet == .known(true))
    #expect(completed.answer(to: beacon) == .known(true))
    #expect(machine.nextDeadline == nil)
    #expect((times.last ?? 0) < opens * 4 / 3 + 2, "a third of the time that it took at most")
    #expect(times.count < 60)
  }

  @Test(
    "what a connectivity check says",
    arguments: [
      (ProbeReply.response(status: 204), false, true), (.response(status: 200), true, false), (.response(status: 307), true, false),
      (.response(status: 511), true, false), (.response(status: 503), nil, nil), (.unanswered(reason: "timed out"), nil, false),
      (.unsent(reason: "no right"), nil, nil),
    ] as [(ProbeReply, Bool?, Bool?)])
  func connectivity(reply: ProbeReply, isCaptive: Bool?, hasInternet: Bool?) throws {
    let machine = attached(to: cafe, check: check)
    let tokens = sent(machine.want([.captivePortal, .internet], at: at(0)))
    #expect(tokens.count == 1, "one request answers both")
    #expect(machine.take(reply, for: try #require(tokens.first), at: at(1)))
    let completed = machine.complete(cafe, probes: [])
    #expect(completed.captivePortal.value == isCaptive && completed.internet.value == hasInternet)
  }

  @Test("a check with content wants it in a 200")
  func content() throws {
    let check = ConnectivityCheck(url: "http://check.example/", content: "all is well")
    for (status, body, isCaptive) in [
      (200, "all is well\n", false), (200, "<html>", true), (200, "", true), (204, "", true),
    ] {
      let machine = attached(to: cafe, check: check)
      let token = try #require(sent(machine.want([.internet], at: at(0))).first)
      #expect(machine.take(.response(status: status, body: Array(body.utf8)), for: token, at: at(1)))
      #expect(machine.complete(cafe, probes: []).captivePortal == .known(isCaptive), "\(status) \(body)")
    }
  }

  @Test("without a check the facts are unknown, and the reason names the cure; what the host knows is not asked for")
  func given() {
    let machine = attached(to: cafe)
    #expect(machine.want([.captivePortal, .internet], at: at(0)) == [])
    guard case .unknown(let reason) = machine.complete(cafe, probes: []).captivePortal else { return #expect(Bool(false)) }
    #expect(reason.contains("roamwardd --connectivity-check"))
    var told = cafe
    told.captivePortal = .known(true)
    told.internet = .known(false)
    told.probes = [beacon.url: .known(true)]
    let knowing = attached(to: told, check: check)
    #expect(knowing.want([.captivePortal, .internet, .probe(beacon)], at: at(0)) == [])
    #expect(knowing.complete(told, probes: [beacon, other]).captivePortal == .known(true))
    #expect(answer(knowing, told) == .known(true))
  }

  @Test("the portal's own API comes before the check from afar, which helps out where it is mute")
  func portalAPI() throws {
    var network = cafe
    network.portalAPI = "https://portal.example/api"
    let machine = attached(to: network, check: check)
    let asked = machine.want([.captivePortal], at: at(0))
    guard case .send(let token, .portalAPI("https://portal.example/api"))? = asked.first, asked.count == 1 else {
      return #expect(Bool(false), "\(asked)")
    }
    let closed = machine.copy
    #expect(closed.take(.portal(isCaptive: true), for: token, at: at(1)))
    #expect(closed.complete(network, probes: []).captivePortal == .known(true))
    #expect(closed.complete(network, probes: []).internet == .known(false))
    #expect(closed.nextDeadline != nil)
    #expect(machine.take(.response(status: 404), for: token, at: at(1)))
    let second = machine.want([.captivePortal], at: at(1))
    guard case .send(let plain, .connectivity)? = second.first, second.count == 1 else { return #expect(Bool(false), "\(second)") }
    #expect(machine.take(.response(status: 204), for: plain, at: at(2)))
    #expect(machine.complete(network, probes: []).captivePortal == .known(false))
  }

  @Test("a crowd of probes is sent a few at a time, and every one has its turn")
  func crowd() {
    let probes = (0..<50).map { Probe(url: "https://\($0).example/") }
    let machine = attached(to: cafe)
    var answered = 0
    while case let tokens = sent(machine.want(Set(probes.map { .probe($0) }), at: at(0))), !tokens.isEmpty {
      #expect(tokens.count <= 8)
      for token in tokens where machine.take(.response(status: 200), for: token, at: at(0)) { answered += 1 }
    }
    #expect(answered == 50)
    #expect(machine.complete(cafe, probes: probes).probes.values.allSatisfy { $0 == .known(true) })
  }

  @Test("what is remembered is bounded")
  func bounded() throws {
    let machine = Prober()
    func place(_ number: Int) -> NetworkSnapshot { Self.live(Sample.wifi("Place \(number)")) }
    for number in 0..<100 {
      _ = machine.attach(to: place(number), at: at(Double(number)))
      let token = try #require(sent(machine.want([.probe(beacon)], at: at(Double(number)))).first)
      #expect(machine.take(.response(status: 404), for: token, at: at(Double(number))))
    }
    let known = (0..<100).filter { number in
      let copy = machine.copy
      _ = copy.attach(to: place(number), at: at(200))
      return !copy.complete(place(number), probes: [beacon]).rememberedProbes.isEmpty
    }
    #expect(known == Array(68..<99))
  }
}
