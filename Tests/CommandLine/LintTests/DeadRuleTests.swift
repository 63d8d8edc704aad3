import Glibc
import NetworkTypes
import PolicyLint
import RoamwardCore
import SeededRandom
import TestKit
import Testing

@Suite struct DeadRuleTests {
  /// Policies, each judged on every network of its universe; LINT_SOAK has more of them judged.
  private static let policies = getenv("LINT_SOAK").flatMap { Int(String(cString: $0)) } ?? 320

  @Test("a rule is dead if and only if it decides on no network, whatever is known or unknown of it", arguments: 0..<8)
  func exact(part: Int) throws {
    var random = RandomPolicies(generator: SplitMix64(seed: UInt64(part) + 1))
    var (judged, dead) = (0, 0)
    for _ in 0..<Self.policies / 8 {
      let (rules, networks) = random.next()
      guard let every = EveryNetwork(rules, networks: networks) else { continue }
      judged += 1
      let findings = lint(PolicySet(networks: networks, tunnels: [Sample.tunnel(rules: rules)]))
      func lines(_ kind: LintFinding.Kind) -> Set<Int> { Set(findings.filter { $0.kind == kind }.map(\.location.line)) }
      let all = Set(1...rules.count)
      let impossible = lines(.impossibleRule)
      dead += lines(.shadowedRule).count + impossible.count
      #expect(impossible == all.subtracting(every.holding), "\(rules) \(networks.map(\.condition))")
      let neverReached = all.subtracting(every.reached).subtracting(impossible)
      // Beside `on-unknown` a rule that is dead may be missed, and none is invented.
      let isExact = rules.allSatisfy { $0.onUnknown == nil }
      // While facts are unknown, no rule decides that no known network reaches.
      #expect(!isExact || every.reached == every.reachedByKnown, "\(rules) \(networks.map(\.condition))")
      #expect(
        isExact ? lines(.shadowedRule) == neverReached : lines(.shadowedRule).isSubset(of: neverReached),
        "\(rules) \(networks.map(\.condition))")
      for finding in findings where finding.kind == .impossibleRule {
        let mayDecide = finding.message.hasSuffix("it can decide only while a fact is unknown")
        #expect(mayDecide || !every.reached.contains(finding.location.line))
        #expect(!isExact || !mayDecide)
      }
      #expect(findings.contains { $0.kind == .noCatchAll } == every.reachedByKnown.contains(0), "\(rules.map(\.match))")
    }
    print("lint: \(judged) policies on every network, \(dead) rules told dead")
    #expect(judged > Self.policies / 12 && dead > 2)
  }

  @Test("a rule that decides while a fact is unknown is not told to be removed") func failSafe() {
    let home = Condition.all([Self.wifi, Self.home])
    func kinds(_ rules: [Rule]) -> [LintFinding.Kind] {
      lint(PolicySet(tunnels: [Sample.tunnel(rules: rules)])).map(\.kind).filter { $0 != .weakEvidence }
    }
    let connect = Rule(match: .always, action: .connect, location: Sample.place(3))
    func rules(_ onUnknown: UnknownPolicy?) -> [Rule] {
      [
        Rule(match: home, action: .disconnect, location: Sample.place(1)),
        Rule(match: .not(home), action: .ignore, onUnknown: onUnknown, location: Sample.place(2)), connect,
      ]
    }
    // The most protective completion decides, and in none of them is the last rule reached.
    #expect(kinds(rules(nil)) == [.shadowedRule])
    #expect(kinds(rules(.match)) == [.shadowedRule])
    #expect(kinds(rules(.noMatch)) == [])
    // Addresses come with every look.
    let office = Self.subnet("10.0.0.0/8")
    #expect(
      kinds([
        Rule(match: office, action: .disconnect, location: Sample.place(1)),
        Rule(match: .not(office), action: .ignore, location: Sample.place(2)), connect,
      ]) == [.shadowedRule])
  }

  static let wifi = Condition.interface([.wifi])
  static let home = Condition.ssid([Sample.ssid("Home")])
  static func subnet(_ text: String) -> Condition { .subnet([Sample.prefix(text)]) }
  static func servers(_ text: String, _ quantifier: DNSServerQuantifier) -> Condition {
    .dnsServer(DNSServerPattern(text).map { [$0] } ?? [], quantifier)
  }
  static func domain(_ text: String) -> Condition { .dnsDomain([Sample.pattern(text)]) }

  @Test(
    "what contradicts itself, and what only seems to",
    arguments: [
      ([wifi, .interface([.ethernet])], false), ([.interface([.ethernet]), home], false),
      ([.ssid([Sample.ssid("A")]), .not(.ssid([Sample.ssid("A"), Sample.ssid("B")]))], false),
      ([.ssid([Sample.ssid("A")]), .ssid([Sample.ssid("B")])], false), ([.ssidGlob([Glob("Home*")]), .not(home)], true),
      ([.ssidGlob([Glob("Home*")]), .ssidGlob([Glob("*Cafe")])], true), ([.ssidGlob([Glob("Home?")]), home], false),
      ([.ssidGlob([Glob("A*")]), .ssidGlob([Glob("B*")])], false), ([.ssidGlob([Glob("?*")]), .not(.ssidGlob([Glob("*")]))], false),
      ([.interfaceName([Glob("abcdefghijklmnop*")])], false), ([.interfaceName([Glob("abcdefghijklmn?")])], true),
      // A link may have several addresses, gateways and search domains.
      ([subnet("10.0.0.0/8"), subnet("192.0.2.0/24")], true), ([subnet("10.0.0.0/24"), .not(subnet("10.0.0.0/8"))], false),
      ([subnet("10.0.0.0/8"), .not(.subnet([Sample.prefix("10.0.0.0/9"), Sample.prefix("10.128.0.0/9")]))], false),
      ([.gateway([Sample.address("10.0.0.1")]), .gateway([Sample.address("10.0.0.2")])], true),
      ([domain("a.example"), domain("b.example")], true), ([domain("a.example"), .not(domain("example"))], false),
      ([domain("example"), .not(domain("a.example"))], true),
      ([servers("10.0.0.0/8", .each), servers("192.0.2.0/24", .each)], false),
      ([servers("10.0.0.0/8", .any), servers("192.0.2.0/24", .any)], true),
      ([servers("10.0.0.0/8", .each), servers("192.0.2.0/24", .any)], false),
      ([servers("10.0.0.0/8", .each), .not(servers("10.0.0.53", .each))], true),
      ([.time(TimeWindow(from: 480, to: 720)), .time(TimeWindow(from: 720, to: 1080))], false),
      ([.time(TimeWindow(days: [.sat], from: 1320, to: 360)), .time(TimeWindow(days: [.sun]))], true),
      ([.captivePortal(true), .captivePortal(false)], false), ([.ssidFile(SSIDFile(path: "t", contents: .entries([]))), wifi], true),
      ([.ssidFile(SSIDFile(path: "t", contents: .entries([]))), .interface([.ethernet])], false), ([.network(["nowhere"])], false),
    ] as [([Condition], Bool)])
  func contradictions(parts: [Condition], isPossible: Bool) {
    let findings = lint(PolicySet(tunnels: [Sample.tunnel(rules: [Sample.rule(.all(parts), .connect), Sample.rule(.always, .ignore)])]))
    #expect(findings.contains { $0.kind == .impossibleRule } == !isPossible)
    #expect(findings.filter { $0.kind == .shadowedRule }.isEmpty)
  }

  func messages(_ rules: [Condition], networks: [NamedNetwork] = []) -> [String] {
    let rules = rules.enumerated().map { Rule(match: $1, action: .connect, location: Sample.place($0 + 1)) }
    return lint(PolicySet(networks: networks, tunnels: [Sample.tunnel(rules: rules)])).map(\.message)
  }

  @Test("the message says which rules stand in the way") func words() {
    #expect(
      messages([.all([Self.wifi, Self.home]), .always, Self.wifi]) == [
        "rule 3 of `corp` is never reached: rule 2 (10-test.yaml:2) always holds"
      ])
    #expect(
      messages([Self.wifi, .all([Self.wifi, Self.home]), .always]) == [
        "rule 2 of `corp` is never reached: rule 1 (10-test.yaml:1) holds whenever it does"
      ])
    #expect(
      messages([Self.wifi, .captivePortal(true), .not(Self.wifi), .always]) == [
        "rule 4 of `corp` is never reached: one of the rules 1 and 3 holds whenever it does"
      ])
    #expect(
      messages([.all([Self.home, .metered(true), .interface([.ethernet])]), .always]) == [
        "rule 1 of `corp` can never hold: `ssid` and `interface` contradict one another"
      ])
    #expect(
      messages([.all([Self.home, .not(.interface([.ethernet]))]), .always]) == [
        "the `not` with `interface` in rule 1 of `corp` changes nothing: it always holds there"
      ])
    #expect(messages([Self.wifi]) == ["there are networks on which no rule of `corp` holds, so the tunnel is left as it is there"])
    #expect(messages([Self.wifi, .not(Self.wifi)]) == [])
  }

  @Test("networks that never hold, and that no rule uses") func networks() {
    let networks = [
      NamedNetwork(name: "home", condition: .all([Self.home, .interface([.ethernet])]), location: Sample.place(10)),
      NamedNetwork(name: "cabin", condition: Self.home, location: Sample.place(11)),
    ]
    #expect(
      messages([.not(.network(["home"]))], networks: networks) == [
        "network `home` can never hold: `ssid` and `interface` contradict one another", "no rule uses network `cabin`",
      ])
  }

  /// Of this thread, which other processes do not delay.
  private func processorTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  @Test("what takes too long to find out is not told, and does not take long") func bounded() {
    // One in the order of pigeons and holes: as hard as they come.
    let flags: [[Condition]] = (0..<9).map { pigeon in (0..<8).map { .probe(Probe(url: "https://\(pigeon)-\($0).example/")) } }
    var parts = flags.map { Condition.any($0) }
    for hole in 0..<8 {
      for a in 0..<9 { for b in 0..<a { parts.append(.not(.all([flags[a][hole], flags[b][hole]]))) } }
    }
    let rules = [Sample.rule(.all(parts), .connect), Sample.rule(.always, .ignore)]
    let begin = processorTime()
    #expect(lint(PolicySet(tunnels: [Sample.tunnel(rules: rules)])) == [])
    #expect(processorTime() - begin < .seconds(60))
  }

  @Test("tunnels and rules that are switched off are left alone") func disabled() {
    let rules = [Sample.rule(.always, .connect), Sample.rule(Self.wifi, .connect)]
    var tunnel = Sample.tunnel(rules: rules)
    #expect(lint(PolicySet(tunnels: [tunnel])).count == 1)
    tunnel.onDemand.isEnabled = false
    #expect(lint(PolicySet(tunnels: [tunnel])) == [])
    #expect(lint(PolicySet(tunnels: [Sample.tunnel(rules: rules, isEnabled: false)])) == [])
  }

  @Test("of networks whose file could not be read nothing is concluded") func unreliable() {
    let broken = NamedNetwork(name: "n", condition: .never, location: SourceLocation(file: "b.yaml", line: 1, column: 1))
    let rules = [Sample.rule(.network(["n", "gone"]), .connect), Sample.rule(.always, .ignore)]
    #expect(lint(PolicySet(networks: [broken], tunnels: [Sample.tunnel(rules: rules)]), unreliable: ["b.yaml"]) == [])
  }
}
