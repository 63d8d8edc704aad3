import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// The rule sets and situations of real profiles (Apple's on-demand rules as people write them), as far as this version's keys go.
@Suite struct RuleSetTests {
  static let home = Condition.all([.interface([.wifi]), .ssid([Sample.ssid("Home")])])
  static let wifi = Condition.interface([.wifi])
  static let cellular = Condition.interface([.cellular])
  static let ethernet = Condition.interface([.ethernet])

  static let rules: [String: [Rule]] = [
    "A": [Sample.rule(.always, .connect)],
    "E": [Sample.rule(home, .disconnect), Sample.rule(wifi, .connect), Sample.rule(cellular, .connect)],
    "G": [
      Sample.rule(ethernet, .connect), Sample.rule(.all([wifi, .ssid([Sample.ssid("Cafe")])]), .connect), Sample.rule(.always, .ignore),
    ],
    "M": [
      Sample.rule(home, .disconnect), Sample.rule(.always, .connect), Sample.rule(cellular, .connect), Sample.rule(ethernet, .connect),
      Sample.rule(wifi, .connect), Sample.rule(.always, .ignore),
    ],
    "O": [
      Sample.rule(home, .disconnect), Sample.rule(cellular, .disconnect), Sample.rule(wifi, .connect), Sample.rule(.always, .ignore),
    ],
    "R": [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)],
  ]

  static let situations: [String: NetworkSnapshot] = [
    "home": Sample.network(Sample.wifi("Home")), "cafe": Sample.network(Sample.wifi("Cafe")),
    "cellular": Sample.network(LinkFacts(name: "wwan0", type: .known(.cellular))),
    "ethernet": Sample.network(Sample.wired(domains: ["office.example"])),
    "corp": Sample.network(Sample.wifi("Corp", domains: ["corp.example.com"], servers: ["10.0.0.53", "10.0.0.54"])),
    "bluetooth": Sample.network(LinkFacts(name: "bnep0", type: .known(.bluetooth))),
  ]

  /// C connect, D disconnect, I ignore, - no rule; and the rule's number.
  static let table: [(String, [(String, String)])] = [
    ("A", [("home", "C1"), ("cafe", "C1"), ("cellular", "C1"), ("ethernet", "C1"), ("corp", "C1"), ("bluetooth", "C1")]),
    ("E", [("home", "D1"), ("cafe", "C2"), ("cellular", "C3"), ("ethernet", "-"), ("corp", "C2"), ("bluetooth", "-")]),
    ("G", [("home", "I3"), ("cafe", "C2"), ("cellular", "I3"), ("ethernet", "C1"), ("corp", "I3"), ("bluetooth", "I3")]),
    ("M", [("home", "D1"), ("cafe", "C2"), ("cellular", "C2"), ("ethernet", "C2"), ("corp", "C2"), ("bluetooth", "C2")]),
    ("O", [("home", "D1"), ("cafe", "C3"), ("cellular", "D2"), ("ethernet", "I4"), ("corp", "C3"), ("bluetooth", "I4")]),
    ("R", [("home", "D1"), ("cafe", "C2"), ("cellular", "C2"), ("ethernet", "C2"), ("corp", "C2"), ("bluetooth", "C2")]),
  ]

  @Test("first match wins, as in profiles people use", arguments: table)
  func decides(set: String, expected: [(String, String)]) throws {
    let tunnel = Sample.tunnel(rules: try #require(Self.rules[set]))
    for (situation, verdict) in expected {
      let snapshot = try #require(Self.situations[situation])
      let decision = Evaluator(networks: []).decide(tunnel, on: snapshot)
      let letter = decision.rule == nil ? "-" : String(decision.outcome.rawValue.prefix(1)).uppercased()
      #expect(letter + (decision.rule.map { String($0.index) } ?? "") == verdict, "\(set) on \(situation)")
    }
  }

  static let type: [(Fact<InterfaceType>, Truth)] = [
    (.known(.wifi), .yes), (.known(.ethernet), .no), (.known(.cellular), .no), (.known(.other), .no), (.unknown(reason: ""), .yes),
  ]

  @Test("keys of Wi-Fi hold on Wi-Fi alone, whatever was said of another link", arguments: type)
  func radio(type: Fact<InterfaceType>, expected: Truth) throws {
    let point = try #require(MACAddress("02:00:5e:00:00:07"))
    let name = Sample.ssid("Home")
    let list = Condition.ssidFile(SSIDFile(path: "t", contents: .entries([name])))
    let said = LinkFacts(name: "l0", type: type, ssid: .known(name), bssid: .known(point), wifiSecurity: .known(.open))
    let unsaid = LinkFacts(
      name: "l0", type: type, ssid: .unknown(reason: ""), bssid: .unknown(reason: ""), wifiSecurity: .unknown(reason: ""))
    for key in [.ssid([name]), .ssidGlob([Glob("H*")]), list, .bssid([point]), .wifiSecurity([.open])] as [Condition] {
      let tunnel = Sample.tunnel(rules: [Sample.rule(key, .connect)])
      let judge = { Evaluator(networks: []).trace(tunnel, on: Sample.network($0)).map(\.holds) }
      #expect(judge(said) == [expected], "\(key)")
      #expect(judge(unsaid) == [expected == .no ? .no : .unknown], "\(key)")
    }
    // An interface with an SSID is Wi-Fi.
    if type.value == nil {
      let tunnel = Sample.tunnel(rules: [Sample.rule(Self.wifi, .connect)])
      #expect(Evaluator(networks: []).trace(tunnel, on: Sample.network(said)).map(\.holds) == [.yes])
      #expect(Evaluator(networks: []).trace(tunnel, on: Sample.network(unsaid)).map(\.holds) == [.unknown])
    }
  }

  @Test("with and without a trace the verdict is the same") func traceChangesNothing() {
    for rules in Self.rules.values {
      for snapshot in Self.situations.values {
        let tunnel = Sample.tunnel(rules: rules)
        let evaluator = Evaluator(networks: [])
        let whole = evaluator.decide(tunnel, on: snapshot)
        for explanation in [Evaluator.Explanation.none, .ofDecidingRule] {
          let other = evaluator.decide(tunnel, on: snapshot, explaining: explanation)
          #expect(other.outcome == whole.outcome && other.rule == whole.rule)
          if explanation == .ofDecidingRule {
            #expect(other.reason == whole.reason && other.trace == (whole.rule == nil ? [] : whole.trace.suffix(1)))
          }
        }
      }
    }
  }

  @Test("reordering rules that no network can meet at once changes no decision") func disjointRules() {
    var generator = SystemRandomNumberGenerator()
    let names = ["Home", "Cafe", "Corp", "Train"]
    let disjoint =
      names.map { Sample.rule(.all([Self.wifi, .ssid([Sample.ssid($0)])]), $0 == "Home" ? .disconnect : .connect) }
      + [Sample.rule(Self.ethernet, .disconnect), Sample.rule(Self.cellular, .ignore)]
    for _ in 0..<200 {
      let shuffled = disjoint.shuffled(using: &generator)
      for snapshot in Self.situations.values {
        let decide = { (rules: [Rule]) in Evaluator(networks: []).decide(Sample.tunnel(rules: rules), on: snapshot).outcome }
        #expect(decide(disjoint) == decide(shuffled))
      }
    }
  }

  @Test("without a network nothing is judged, not even a rule that always holds") func noNetwork() {
    let decision = Evaluator(networks: []).decide(Sample.tunnel(rules: [Sample.rule(.always, .connect)]), on: NetworkSnapshot())
    #expect(decision.outcome == .ignore)
    #expect(decision.ruleReason == "no network")
  }
}

@Suite struct KeyTests {
  func holds(_ condition: Condition, _ link: LinkFacts) -> Truth {
    let tunnel = Sample.tunnel(rules: [Sample.rule(condition, .connect)])
    return Evaluator(networks: []).decide(tunnel, on: Sample.network(link)).trace[0].holds
  }

  @Test(
    "each server has to be listed, or one where the policy says any; none at all is no match",
    arguments: [
      (["10.0.0.53"], ["10.0.0.53"], Truth.yes, Truth.yes), (["10.0.0.53", "192.0.2.1"], ["10.0.0.53"], .no, .yes),
      (["10.0.0.53", "10.0.0.54"], ["10.0.0.*"], .yes, .yes), ([], ["10.0.0.53"], .no, .no), (["17.1.2.3"], ["17.*"], .yes, .yes),
      (["10.100.0.1"], ["10.1.*"], .no, .no), (["2001:DB8::53"], ["2001:db8::/32"], .yes, .yes),
    ] as [([String], [String], Truth, Truth)])
  func dnsServers(found: [String], wanted: [String], each: Truth, any: Truth) throws {
    let patterns = try wanted.map { try #require(DNSServerPattern($0)) }
    let link = Sample.wifi("X", servers: found)
    #expect(holds(.dnsServer(patterns, .each), link) == each)
    #expect(holds(.dnsServer(patterns, .any), link) == any)
  }

  @Test(
    "domains match by whole labels",
    arguments: [
      ("www.example.com", "example.com", true), ("example.com", "*.example.com", true), ("notexample.com", "example.com", false),
      ("intranet", "intranet", true), ("nas.lan", "lan", true), ("foo.com", "m", false), ("Corp.Example.", "corp.example", true),
      ("example", "*", true),
    ])
  func domains(found: String, pattern: String, expected: Bool) {
    #expect(holds(.dnsDomain([Sample.pattern(pattern)]), Sample.wifi("X", domains: [found])) == Truth(expected))
  }

  @Test("SSIDs are bytes, compared exactly") func ssids() {
    #expect(holds(.ssid([Sample.ssid("home")]), Sample.wifi("Home")) == .no)
    #expect(holds(.ssid([Sample.ssid("hex:486f6d65")]), Sample.wifi("Home")) == .yes)
    #expect(holds(.ssid([Sample.ssid("Home")]), Sample.wired()) == .no)
  }

  @Test("an unreadable SSID list is unknown on Wi-Fi, and no match on a cable") func unreadableList() {
    let list = SSIDFile(path: "trusted.txt", contents: .unreadable(reason: "permission denied"))
    #expect(holds(.ssidFile(list), Sample.wifi("Home")) == .unknown)
    #expect(holds(.ssidFile(list), Sample.wired()) == .no)
    #expect(holds(.not(.ssidFile(list)), Sample.wifi("Home")) == .unknown)
  }

  @Test("names, subnets and gateways") func others() {
    #expect(holds(.interfaceName([Glob("wl*")]), Sample.wifi("X")) == .yes)
    #expect(holds(.interfaceName([Glob("eth?")]), Sample.wifi("X")) == .no)
    #expect(holds(.subnet([Sample.prefix("192.0.2.0/24")]), Sample.wifi("X")) == .yes)
    #expect(holds(.subnet([Sample.prefix("192.0.3.0/24")]), Sample.wifi("X")) == .no)
    #expect(holds(.gateway([Sample.address("192.0.2.1")]), Sample.wifi("X")) == .yes)
  }
}

@Suite struct UnknownFactTests {
  var hidden: LinkFacts {
    var link = Sample.wifi("Home")
    link.ssid = .unknown(reason: "nl80211 refused")
    return link
  }

  func decide(_ rules: [Rule], _ patience: Evaluator.Patience) -> Decision {
    Evaluator(networks: []).decide(Sample.tunnel(rules: rules), on: Sample.network(hidden), patience: patience)
  }

  @Test("an unknown fact stops the evaluation") func waits() {
    let decision = decide([Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)], .waits)
    #expect(decision.outcome == .pending)
    #expect(decision.ruleReason == "waits for: ssid is unknown: nl80211 refused")
    #expect(decision.pending?.text == "in 5 s, without that fact: connect, rule 2")
  }

  @Test("in the end ignorance protects: it never disconnects, and it connects") func protects() {
    let home = Condition.ssid([Sample.ssid("Home")])
    #expect(decide([Sample.rule(home, .disconnect), Sample.rule(.always, .connect)], .isOver).rule?.index == 2)
    #expect(decide([Sample.rule(.not(home), .connect), Sample.rule(.always, .ignore)], .isOver).rule?.index == 1)
    #expect(decide([Sample.rule(home, .disconnect, onUnknown: .match), Sample.rule(.always, .connect)], .isOver).outcome == .disconnect)
    #expect(decide([Sample.rule(home, .connect, onUnknown: .noMatch)], .isOver).outcome == .ignore)
    // An unknown match that leaves the tunnel alone, or arms it, protects more than one that takes it down.
    #expect(decide([Sample.rule(home, .ignore), Sample.rule(.always, .disconnect)], .isOver).rule?.index == 1)
    #expect(decide([Sample.rule(home, .ignore), Sample.rule(.always, .connect)], .isOver).rule?.index == 2)
    #expect(decide([Sample.rule(home, .evaluateConnection), Sample.rule(.always, .disconnect)], .isOver).outcome == .evaluateConnection)
    // No completion reaches the last rule.
    let split = [Sample.rule(home, .disconnect), Sample.rule(.not(home), .ignore), Sample.rule(.always, .connect)]
    #expect(decide(split, .isOver).rule?.index == 2)
  }

  @Test("the reason names every fact that is not known, also where another rule decides") func named() {
    let home = Condition.ssid([Sample.ssid("Home")])
    #expect(
      decide([Sample.rule(home, .disconnect), Sample.rule(.always, .connect)], .isOver).ruleReason
        == "always; rule 1 is unknown (ssid is unknown: nl80211 refused)")
    #expect(
      decide([Sample.rule(home, .ignore), Sample.rule(.always, .disconnect)], .isOver).ruleReason
        == "ssid is unknown: nl80211 refused; unknown counts as a match")
  }

  @Test("a rule that does not need the fact decides at once") func needless() {
    let decision = decide(
      [Sample.rule(.all([.interface([.ethernet]), .ssid([Sample.ssid("Home")])]), .disconnect), Sample.rule(.always, .connect)], .waits)
    #expect(decision.outcome == .connect)
  }
}

@Suite struct ExplanationTests {
  let network = Condition.any([
    .all([.ssid([Sample.ssid("Home")])]), .all([.interface([.ethernet]), .subnet([Sample.prefix("192.0.2.0/24")])]),
  ])

  func reason(_ condition: Condition, _ link: LinkFacts) -> String {
    let networks = [NamedNetwork(name: "home", condition: network, location: Sample.place())]
    let tunnel = Sample.tunnel(rules: [Sample.rule(condition, .connect)])
    return Evaluator(networks: networks).decide(tunnel, on: Sample.network(link)).trace[0].finding.reason
  }

  @Test("what settled it, in words") func text() {
    let notHome = Condition.all([.interface([.wifi]), .not(.ssid([Sample.ssid("Home"), Sample.ssid("Home 5G")]))])
    #expect(reason(notHome, Sample.wifi("Cafe")) == #"wifi, ssid "Cafe" is none of "Home", "Home 5G""#)
    #expect(reason(notHome, Sample.wifi("Home")) == #"not: ssid "Home" is one of "Home", "Home 5G""#)
    #expect(reason(notHome, Sample.wired()) == "ethernet is not wifi")
    #expect(reason(.network(["home"]), Sample.wifi("Home")) == #"in network home: ssid "Home" is "Home""#)
    #expect(
      reason(.network(["home"]), Sample.wifi("Cafe"))
        == #"not in network home: ssid "Cafe" is not "Home"; wifi is not ethernet"#)
    #expect(reason(.always, Sample.wired()) == "always")
  }

  @Test("the report is what people read") func report() {
    let tunnels = [
      Sample.tunnel(rules: [
        Rule(name: "at home", match: .ssid([Sample.ssid("Home")]), action: .disconnect, location: Sample.place(7)),
        Rule(match: .interface([.wifi]), action: .connect, location: Sample.place(9)),
      ]), Sample.tunnel("lab", rules: []),
    ]
    let decisions = tunnels.map { Evaluator(networks: []).decide($0, on: Sample.network(Sample.wifi("Cafe"))) }
    #expect(
      RoamwardCore.report(decisions, explained: true) == """
        corp      connect     rule 2   wifi  10-test.yaml:9
          rule 1   at home           no       ssid "Cafe" is not "Home"
          rule 2                     yes      wifi
        lab       ignore               no rule matches

        """)
  }
}

@Suite struct HostTests {
  @Test("the first connection rule that holds the name decides, and only under evaluate-connection") func host() {
    func connection(_ domain: String, _ action: ConnectionRule.Action) -> ConnectionRule {
      ConnectionRule(domains: [Sample.pattern(domain)], action: action, servers: [Sample.address("10.0.0.53")], location: Sample.place())
    }
    var rule = Sample.rule(.interface([.wifi]), .evaluateConnection)
    rule.connections = [connection("public.corp.example", .neverConnect), connection("corp.example", .connectIfNeeded)]
    let tunnel = Sample.tunnel(rules: [rule, Sample.rule(.always, .connect)])
    func decide(_ name: String, _ link: LinkFacts) -> HostDecision {
      Evaluator(networks: []).decide(host: Sample.domain(name), tunnel, on: Sample.network(link))
    }
    #expect(decide("www.public.corp.example", Sample.wifi("Cafe")).action == "never-connect")
    #expect(decide("wiki.corp.example", Sample.wifi("Cafe")).action == "connect-if-needed")
    #expect(
      decide("wiki.corp.example", Sample.wifi("Cafe")).text
        == "a look-up of wiki.corp.example starts it where the name does not resolve, the servers give an address inside the tunnel or 10.0.0.53 cannot answer  10-test.yaml:1"
    )
    #expect(decide("example.org", Sample.wifi("Cafe")).outcome == .noRule)
    #expect(decide("wiki.corp.example", Sample.wired()).outcome == .notEvaluated)
  }
}
