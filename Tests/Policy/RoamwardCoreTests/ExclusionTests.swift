import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// `class: enterprise`: one tunnel at a time.
@Suite struct ExclusionTests {
  static let cafe = Sample.network(Sample.wifi("Cafe"))

  func tunnel(_ name: String, _ action: Action = .connect, _ precedence: TunnelClass = .enterprise) -> TunnelPolicy {
    Sample.tunnel(name, rules: [Sample.rule(.always, action)], precedence: precedence)
  }

  func claim(_ name: String, _ outcome: Decision.Outcome, override: ManualOverride? = nil, isRunning: Bool = false) -> Exclusion.Claim {
    Exclusion.Claim(tunnel(name), Decision(tunnel: name, outcome: outcome), override: override, isRunning: isRunning)
  }

  @Test("of several that are wanted the first in the order of the policies runs; personal ones run beside it") func order() {
    let policies = PolicySet(tunnels: [tunnel("off", .disconnect), tunnel("a"), tunnel("mine", .connect, .personal), tunnel("b")])
    let decisions = Evaluator(networks: []).decide(policies, on: Self.cafe)
    #expect(decisions.map(\.inert) == [nil, nil, nil, .excluded(by: "a")])
    #expect(decisions.map(\.outcome) == [.disconnect, .connect, .connect, .connect], "the rules' own verdict stays")
    #expect(report(decisions, explained: false).contains("not acted on: enterprise tunnel a comes first"))
  }

  @Test("an override comes first, the newest of several; who is held down gives way") func overrides() {
    func override(_ up: Bool, _ since: Timestamp) -> ManualOverride { ManualOverride(wantsUp: up, since: since, lifetime: .resume) }
    #expect(Exclusion.losers(among: [claim("a", .connect), claim("b", .disconnect, override: override(true, 1))]) == ["a": "b"])
    #expect(
      Exclusion.losers(among: [claim("a", .connect, override: override(true, 1)), claim("b", .connect, override: override(true, 2))]) == [
        "a": "b"
      ])
    #expect(Exclusion.losers(among: [claim("a", .connect, override: override(false, 3)), claim("b", .connect)]) == [:])
  }

  @Test("what is only left as it is gives way to what is wanted; what runs and waits for a fact keeps its place") func running() {
    #expect(Exclusion.losers(among: [claim("a", .ignore, isRunning: true), claim("b", .connect)]) == ["a": "b"])
    #expect(Exclusion.losers(among: [claim("a", .pending, isRunning: true), claim("b", .connect)]) == ["b": "a"])
    #expect(Exclusion.losers(among: [claim("a", .pending), claim("b", .connect)]) == [:])
    #expect(Exclusion.losers(among: [claim("a", .disconnect, isRunning: true), claim("b", .connect)]) == ["a": "b"])
    #expect(Exclusion.losers(among: [claim("a", .ignore, isRunning: true), claim("b", .ignore, isRunning: true)]) == ["b": "a"])
    #expect(Exclusion.losers(among: [claim("a", .disconnect, isRunning: true)]) == [:])
  }

  @Test("what may start when an awaited fact is known keeps its place: it takes nothing down, and nothing after it starts") func reserved()
  {
    func pending(_ name: String, then: Decision.Outcome) -> Exclusion.Claim {
      var decision = Decision(tunnel: name, outcome: .pending)
      decision.pending = Pending(decideWithin: .seconds(5), then: then, rule: nil)
      return Exclusion.Claim(tunnel(name), decision)
    }
    #expect(Exclusion.losers(among: [pending("a", then: .connect), claim("b", .connect)]) == ["b": "a"])
    #expect(Exclusion.losers(among: [pending("a", then: .disconnect), claim("b", .connect)]) == [:])
    #expect(Exclusion.losers(among: [pending("a", then: .connect), claim("b", .connect, isRunning: true)]) == [:])
    let three = [pending("a", then: .connect), claim("b", .connect, isRunning: true), claim("c", .connect)]
    #expect(Exclusion.losers(among: three) == ["c": "a"])
    #expect(Exclusion.losers(among: [claim("b", .connect), pending("a", then: .connect)]) == ["a": "b"])

    let metered = Sample.tunnel("a", rules: [Sample.rule(.metered(true), .connect)], precedence: .enterprise)
    var cafe = Sample.wifi("Cafe")
    cafe.metered = .unknown(reason: "NetworkManager has not answered yet")
    let decisions = Evaluator(networks: []).decide(PolicySet(tunnels: [metered, tunnel("b")]), on: Sample.network(cafe))
    #expect(decisions.map(\.inert) == [nil, .reserved(for: "a")])
    #expect(decisions[1].inert?.text == "enterprise tunnel a comes first, and its decision awaits a fact")
  }

  @Test("an armed tunnel gives way to a wanted one, and one that is left as it is gives way to the first armed one") func armed() {
    func armed(_ name: String, isRunning: Bool = false) -> Exclusion.Claim {
      var claim = claim(name, .ignore, isRunning: isRunning)
      claim.intent = .armed
      return claim
    }
    #expect(Exclusion.losers(among: [armed("a", isRunning: true), claim("b", .connect)]) == ["a": "b"])
    #expect(Exclusion.losers(among: [claim("a", .ignore, isRunning: true), armed("b")]) == ["a": "b"])
    #expect(Exclusion.losers(among: [armed("a"), armed("b")]) == ["b": "a"])
  }

  @Test("a tunnel that is disabled, or whose on-demand is off, says so, and keeps no other from running") func inert() {
    var disabled = tunnel("a")
    disabled.isEnabled = false
    var off = tunnel("b")
    off.onDemand.isEnabled = false
    let names = tunnel("c", .evaluateConnection, .personal)
    let decisions = Evaluator(networks: []).decide(PolicySet(tunnels: [disabled, off, names, tunnel("d")]), on: Self.cafe)
    #expect(decisions.map(\.inert) == [.disabled, .onDemandOff, .notArmed(.noServer), nil])
    let lines = report(decisions, explained: false).split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    #expect(
      lines == [
        "a connect rule 1 always 10-test.yaml:1", "not acted on: disabled by its policy (enabled: false)",
        "b connect rule 1 always 10-test.yaml:1", "not acted on: on-demand is off (on-demand: enabled: false)",
        "c evaluate-connection rule 1 always 10-test.yaml:1",
        "not acted on: the tunnel cannot be armed: it has no name servers, so no look-up goes into it",
        "d connect rule 1 always 10-test.yaml:1",
      ])
  }
}

@Suite struct StateReasonTests {
  static let now = Moment(nanoseconds: 0)

  func reason(
    _ action: Action, isWanted: Bool, timers: [TunnelTimer] = [], override: ManualOverride? = nil,
    change: (inout Decision) -> Void = { _ in }
  ) -> String {
    let rule = Rule(name: "trusted", match: .ssid([Sample.ssid("Cafe")]), action: action, location: Sample.place())
    let tunnel = Sample.tunnel(rules: [rule])
    var decision = Evaluator(networks: []).decide(tunnel, on: ExclusionTests.cafe)
    change(&decision)
    return StateReason(tunnel, decision, override: override, isWanted: isWanted, timers: timers, at: Self.now).description
  }

  @Test("says what holds although the rules want something else, and until when") func contradictions() {
    let release = [TunnelTimer(.release, at: Self.now + .seconds(2))]
    let cafe = "ssid \"Cafe\" is \"Cafe\""
    #expect(reason(.connect, isWanted: true) == "rule 1 \"trusted\": \(cafe)")
    #expect(reason(.disconnect, isWanted: true, timers: release) == "still up: rule 1 \"trusted\" wants it down, in 2 s: \(cafe)")
    #expect(reason(.disconnect, isWanted: false) == "rule 1 \"trusted\": \(cafe)")
    #expect(reason(.ignore, isWanted: true) == "left up by rule 1 \"trusted\": \(cafe)")
    let settle = [TunnelTimer(.settle, at: Self.now + .seconds(3))]
    #expect(reason(.connect, isWanted: false, timers: settle) == "still down: rule 1 \"trusted\" wants it up, in 3 s: \(cafe)")
    #expect(reason(.evaluateConnection, isWanted: false) == "rule 1 \"trusted\": \(cafe)")
    #expect(
      reason(.evaluateConnection, isWanted: false) { $0.inert = .notArmed(.everyName) }.hasSuffix(
        "not acted on, because the tunnel cannot be armed: its name servers answer every name"))
    #expect(
      reason(.connect, isWanted: false) { $0.inert = .excluded(by: "b") } == "enterprise tunnel b comes first; rule 1 \"trusted\": \(cafe)")
    let override = ManualOverride(wantsUp: true, since: 0, lifetime: .resume)
    #expect(
      reason(.disconnect, isWanted: true, override: override) == "manual override (up) until it is resumed; `roamward resume` ends it")
  }

  @Test("the reason of a decision is that of the rule that decides, also where the trace goes on") func wholeTrace() {
    let tunnel = Sample.tunnel(rules: [
      Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.interface([.wifi]), .connect), Sample.rule(.always, .ignore),
    ])
    let evaluator = Evaluator(networks: [])
    var decision = evaluator.decide(tunnel, on: ExclusionTests.cafe)
    let reason = decision.ruleReason
    decision.trace = evaluator.trace(tunnel, on: ExclusionTests.cafe)
    #expect(decision.trace.count == 3 && decision.ruleReason == reason && reason == "wifi")
  }
}
