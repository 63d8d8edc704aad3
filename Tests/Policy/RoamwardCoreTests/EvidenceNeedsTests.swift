import NetworkTypes
import RoamwardCore
import SeededRandom
import TestKit
import Testing

/// Which probes are sent: those that can change the decision now, and no other.
@Suite struct EvidenceNeedsTests {
  static let office = Probe(url: "https://office.example/")
  static let public_ = Probe(url: "http://public.example/")
  static let wifi = Condition.interface([.wifi])
  static let wired = Condition.interface([.ethernet])

  private func needed(
    _ rules: [Rule], networks: [NamedNetwork] = [], patience: Evaluator.Patience = .waits,
    _ change: (inout NetworkSnapshot) -> Void = { _ in }
  ) -> Set<Evidence> {
    var snapshot = Sample.network(Sample.wifi("Cafe"))
    snapshot.otherProbes = .unknown(reason: "it was not asked")
    change(&snapshot)
    return Evaluator(networks: networks).evidence(for: Sample.tunnel(rules: rules), on: snapshot, patience: patience)
  }

  @Test("a probe is sent only where every cheaper key of its rule holds")
  func cheaperFirst() {
    #expect(needed([Sample.rule(.all([Self.wifi, .probe(Self.office)]), .disconnect)]) == [.probe(Self.office)])
    #expect(needed([Sample.rule(.all([.probe(Self.office), Self.wired]), .disconnect)]) == [])
    #expect(needed([Sample.rule(.all([Self.wifi, .not(.all([Self.wifi, .probe(Self.office)]))]), .connect)]) == [.probe(Self.office)])
    #expect(needed([Sample.rule(.any([Self.wifi, .probe(Self.office)]), .connect)]) == [])
    #expect(needed([Sample.rule(.any([Self.wired, .probe(Self.office)]), .connect)]) == [.probe(Self.office)])
    let named = NamedNetwork(name: "office", condition: .all([Self.wired, .probe(Self.office)]), location: Sample.place())
    #expect(needed([Sample.rule(.network(["office"]), .disconnect)], networks: [named]) == [])
  }

  @Test("a cheaper key that is not known yet is waited for first; an alternative is not")
  func unknownCheaper() {
    let forget: (inout NetworkSnapshot) -> Void = { $0.links[0].ssid = .unknown(reason: "not yet") }
    let home = Condition.ssid([Sample.ssid("Home")])
    #expect(needed([Sample.rule(.all([home, .probe(Self.office)]), .disconnect)], forget) == [])
    #expect(needed([Sample.rule(.any([home, .probe(Self.office)]), .connect)], forget) == [.probe(Self.office)])
  }

  @Test("a rule is asked about only when it is reached, and what was asked before stays of interest")
  func reached() {
    let rules = [Sample.rule(.probe(Self.office), .disconnect), Sample.rule(.all([.probe(Self.public_), .captivePortal(true)]), .connect)]
    #expect(needed(rules) == [.probe(Self.office)])
    #expect(needed(rules) { $0.probes[Self.office.url] = .known(true) } == [.probe(Self.office)])
    #expect(needed(rules) { $0.probes[Self.office.url] = .known(false) } == [.probe(Self.office), .captivePortal])
    #expect(
      needed(rules) {
        $0.probes[Self.office.url] = .known(false)
        $0.captivePortal = .known(true)
      } == [.probe(Self.office), .probe(Self.public_), .captivePortal])
    #expect(needed([Sample.rule(.always, .connect)] + rules) == [])
    #expect(needed(rules) { $0 = NetworkSnapshot() } == [])
  }

  @Test("once the waiting is over, the rules behind an unknown one are asked about too")
  func impatient() {
    let rules = [Sample.rule(.probe(Self.office), .disconnect), Sample.rule(.probe(Self.public_), .connect)]
    #expect(needed(rules) == [.probe(Self.office)])
    #expect(needed(rules, patience: .isOver) == [.probe(Self.office), .probe(Self.public_)])
    let last = [Sample.rule(.probe(Self.office), .connect), Sample.rule(.probe(Self.public_), .disconnect)]
    #expect(needed(last, patience: .isOver) == [.probe(Self.office)])
  }

  @Test("probes of one URL that ask for different things have answers of their own")
  func names() {
    let plain = Probe(url: "https://a.example/")
    let pinned = Probe(url: "https://a.example/", status: 204, pins: ["sha256//x"], timeout: .milliseconds(1500))
    #expect(plain.name == "https://a.example/")
    #expect(pinned.name == "https://a.example/ status=204 timeout=1500ms pin=sha256//x")
    var snapshot = NetworkSnapshot(probes: [plain.name: .known(true), pinned.name: .known(false)])
    #expect(snapshot.answer(to: plain) == .known(true) && snapshot.answer(to: pinned) == .known(false))
    snapshot.probes[pinned.name] = nil
    #expect(snapshot.answer(to: pinned) == .known(true), "what is said of a URL is said of every probe of it")
  }

  /// A remembered fact may connect, and never disconnects.
  @Test(
    "what was found here before brings a tunnel up before its time, and never takes one down",
    arguments: [(Action.connect, Decision.Outcome.connect), (.disconnect, .pending), (.ignore, .pending)])
  func remembered(action: Action, outcome: Decision.Outcome) {
    let tunnel = Sample.tunnel(rules: [Sample.rule(.probe(Self.office), action)])
    var snapshot = Sample.network(Sample.wifi("Cafe"))
    snapshot.otherProbes = .unknown(reason: "the probe is under way")
    snapshot.rememberedProbes = [Self.office.name: true]
    #expect(Evaluator(networks: []).decide(tunnel, on: snapshot).outcome == outcome)
    // The other way round: a failure that is remembered does not disconnect either.
    let not = Sample.tunnel(rules: [Sample.rule(.not(.probe(Self.office)), action)])
    snapshot.rememberedProbes = [Self.office.name: false]
    let decision = Evaluator(networks: []).decide(not, on: snapshot)
    #expect(decision.outcome == outcome)
    if outcome == .connect { #expect(decision.ruleReason == "probe https://office.example/: not answered when it was last here") }
    snapshot.probes[Self.office.name] = .known(true)
    #expect(Evaluator(networks: []).decide(not, on: snapshot).outcome == .ignore, "an answer outranks what is remembered")
  }
}

/// Against brute force: over thousands of small policies, with every answer to every probe.
@Suite struct EvidencePropertyTests {
  private static let probes = ["a", "b", "c", "d"].map { Probe(url: "https://\($0).example/") }
  private static let evidence = probes.map { Evidence.probe($0) } + [.captivePortal, .internet]

  @Test("what is not asked for cannot change the decision", arguments: 0..<8)
  func irrelevant(seed: UInt64) {
    forEachCase(seed: seed) { tunnel, evaluator, snapshot, random in
      for patience in [Evaluator.Patience.waits, .isOver] {
        let needed = evaluator.evidence(for: tunnel, on: snapshot, patience: patience)
        let decision = evaluator.decide(tunnel, on: snapshot, patience: patience, explaining: .none)
        let others = Self.evidence.filter { !needed.contains($0) && snapshot.fact($0).value == nil }
        for answers in 0..<Int(pow3(others.count)) {
          let changed = snapshot.answering(others, answers)
          let other = evaluator.decide(tunnel, on: changed, patience: patience, explaining: .none)
          #expect(other.outcome == decision.outcome && other.rule == decision.rule, "\(tunnel.onDemand.rules) \(others) \(answers)")
        }
        if decision.outcome == .pending {
          #expect(needed.contains { snapshot.fact($0).value == nil }, "it waits for something: \(tunnel.onDemand.rules)")
        }
      }
    }
  }

  @Test("asking for what is needed, again and again, ends in the decision of who knows everything", arguments: 0..<8)
  func converges(seed: UInt64) {
    forEachCase(seed: seed) { tunnel, evaluator, snapshot, random in
      let open = Self.evidence.filter { snapshot.fact($0).value == nil }
      let answers = (0..<open.count).reduce(0) { sum, _ in sum * 3 + Int.random(in: 1...2, using: &random) }
      let all = snapshot.answering(open, answers)
      var known = snapshot
      var rounds = 0
      while true {
        let asked = evaluator.evidence(for: tunnel, on: known).filter { known.fact($0).value == nil }
        if asked.isEmpty { break }
        for piece in asked { known.set(piece, all.fact(piece)) }
        rounds += 1
      }
      let lazy = evaluator.decide(tunnel, on: known, explaining: .none)
      let full = evaluator.decide(tunnel, on: all, explaining: .none)
      #expect(lazy.outcome == full.outcome && lazy.rule == full.rule)
      #expect(rounds <= Self.evidence.count)
    }
  }

  private func forEachCase(seed: UInt64, _ body: (TunnelPolicy, Evaluator, NetworkSnapshot, inout SplitMix64) -> Void) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<150 {
      let networks = [NamedNetwork(name: "n", condition: condition(depth: 1, named: false, &random), location: Sample.place())]
      let rules = (1...Int.random(in: 1...4, using: &random)).map { _ in
        Rule(
          match: condition(depth: 3, named: true, &random), action: Action.allCases.randomElement(using: &random) ?? .connect,
          onUnknown: [nil, .match, .noMatch].randomElement(using: &random) ?? nil, location: Sample.place())
      }
      var snapshot = Sample.network(Sample.wifi("Cafe"))
      for piece in Self.evidence { snapshot.set(piece, .unknown(reason: "")) }
      for piece in Self.evidence where Int.random(in: 0..<3, using: &random) == 0 {
        snapshot.set(piece, .known(Bool.random(using: &random)))
      }
      body(Sample.tunnel(rules: rules), Evaluator(networks: networks), snapshot, &random)
    }
  }

  private func condition(depth: Int, named: Bool, _ random: inout SplitMix64) -> Condition {
    func parts() -> [Condition] {
      (0..<Int.random(in: 1...3, using: &random)).map { _ in condition(depth: depth - 1, named: named, &random) }
    }
    switch Int.random(in: depth > 0 ? 0..<10 : 3..<8, using: &random) {
    case 0: return .all(parts())
    case 1: return .any(parts())
    case 2: return .not(condition(depth: depth - 1, named: named, &random))
    case 3: return Bool.random(using: &random) ? .interface([.wifi]) : .interface([.ethernet])
    case 4: return .captivePortal(Bool.random(using: &random))
    case 5: return .internet(Bool.random(using: &random))
    case 8 where named, 9 where named: return .network(["n"])
    default: return .probe(Self.probes.randomElement(using: &random) ?? Self.probes[0])
    }
  }
}

private func pow3(_ exponent: Int) -> Int { (0..<exponent).reduce(1) { power, _ in power * 3 } }

extension NetworkSnapshot {
  fileprivate mutating func set(_ evidence: Evidence, _ fact: Fact<Bool>) {
    switch evidence {
    case .probe(let probe): probes[probe.name] = fact
    case .captivePortal: captivePortal = fact
    case .internet: internet = fact
    }
  }

  /// Each gets the value of its digit to base 3: unknown, yes or no.
  fileprivate func answering(_ evidence: [Evidence], _ answers: Int) -> NetworkSnapshot {
    var (snapshot, rest) = (self, answers)
    for piece in evidence {
      snapshot.set(piece, rest % 3 == 0 ? .unknown(reason: "") : .known(rest % 3 == 1))
      rest /= 3
    }
    return snapshot
  }
}
