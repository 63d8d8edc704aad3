import ArgumentParser
import NetworkTypes
import RoamwardCore
import TestKit

/// Many tunnels judged on one network, when the last of their rules is the first that holds.
struct EvaluationCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "evaluation", abstract: "Judge many tunnels with many rules each.")

  @Option(help: "How many tunnels.") var tunnels = 1000
  @Option(help: "How many rules each.") var rules = 20
  @Option(help: "How often each is measured.") var rounds = 41

  func run() throws {
    let policies = (0..<tunnels).map { tunnel($0, rules: rules) }
    let evaluator = Evaluator(networks: [NamedNetwork(name: "trusted", condition: trusted, location: Sample.place(3))])
    let snapshot = Sample.network(cafe)
    let prepare = { evaluator.prepare(snapshot) }
    var verdict = Series()
    var trace = Series()
    var told = Series()
    for _ in 0..<rounds {
      verdict.values.append(try cpu(policies, prepare) { evaluator.decide($0, on: $1, explaining: .none) })
      trace.values.append(try cpu(policies, prepare) { evaluator.decide($0, on: $1) })
      told.values.append(
        try cpu(policies, prepare) {
          evaluator.decide($0, on: $1, explaining: .ofDecidingRule)
        } reason: {
          $0.reason
        })
    }
    let what = "\(tunnels.grouped) tunnels with \(rules) rules each, the last holds: verdicts"
    let nanoseconds = verdict.median * 1_000_000 / Double(tunnels * rules)
    print(row(what, verdict, target: 2, "CPU; \(nanoseconds.text(digits: 0)) ns a rule"))
    print(row("  the same with the reason in words", told, target: 2.5, "CPU; what the agent does"))
    print(row("  the same with a trace of every rule", trace, target: 5, bar: "", "CPU"))
  }

  private func row(_ what: String, _ series: Series, target: Double, bar: String = "1.00", _ remark: String) -> Row {
    Row(
      what: what, ours: series.summary, peer: "\(target) ms (target)", ratio: series.median / target, bar: bar, remark: remark)
  }

  /// Milliseconds of CPU for one decision each on the same snapshot, which is prepared for all of them.
  private func cpu(
    _ policies: [TunnelPolicy], _ prepare: () -> PreparedSnapshot, _ decide: (TunnelPolicy, PreparedSnapshot) -> Decision,
    reason: (Decision) -> String = { _ in "" }
  ) throws -> Double {
    var words = 0
    var wrong = 0
    let elapsed = measure {
      let snapshot = prepare()
      for policy in policies {
        let decision = decide(policy, snapshot)
        if decision.rule?.index != policy.onDemand.rules.count { wrong += 1 }
        words += reason(decision).utf8.count
      }
    }
    guard wrong == 0, words >= 0 else { throw BenchmarkError("\(wrong) decisions are not by the last rule") }
    return elapsed.cpu
  }
}

private let cafe = Sample.wifi("Cafe", domains: ["cafe.example"], servers: ["198.51.100.1", "198.51.100.2"])

private let trusted = Condition.any([
  .all([.interfaceName([Glob("eth*")]), .subnet([Sample.prefix("198.18.0.0/15")]), .gateway([Sample.address("198.18.0.1")])]),
  .ssid([Sample.ssid("Home"), Sample.ssid("Home 5G")]),
])

/// One tunnel with rules of every kind, of which only the last holds in the café.
private func tunnel(_ number: Int, rules count: Int) -> TunnelPolicy {
  let rules = (1..<max(count, 1)).map { i in
    Rule(name: "rule \(i) of tunnel \(number)", match: condition(number * count + i), action: .disconnect, location: place(number, i))
  }
  let last = Rule(name: "Wi-Fi of others", match: .interface([.wifi]), action: .connect, location: place(number, count))
  return Sample.tunnel("tunnel-\(number)", rules: rules + [last])
}

private func place(_ number: Int, _ line: Int) -> SourceLocation {
  SourceLocation(file: "/etc/roamward/policies/\(number)-tunnel.yaml", line: line, column: 9)
}

private func condition(_ i: Int) -> Condition {
  let domain = DomainPattern.within(Sample.domain("site\(i).corp.example"))
  let net = IPPrefix(IPAddress(v4: 10 << 24 | UInt32(i & 0xffff) << 8), length: 24).map { [$0] } ?? []
  switch i % 8 {
  case 0: return .network(["trusted"])
  case 1: return .all([.interface([.wifi]), .ssid([Sample.ssid("Office \(i)"), Sample.ssid("Guest \(i)"), Sample.ssid("Lab \(i)")])])
  case 2: return .dnsDomain([domain, .within(Sample.domain("corp\(i).example"))])
  case 3: return .dnsServer([DNSServerPattern("10.\(i % 256).0.53"), DNSServerPattern("10.*")].compactMap { $0 }, .each)
  case 4: return .subnet(net + [Sample.prefix("172.16.0.0/12")])
  case 5: return .gateway([Sample.address("10.0.0.1"), Sample.address("10.0.1.1")])
  case 6: return .interfaceName([Glob("eth*"), Glob("wwan*")])
  default: return .all([.interface([.ethernet, .cellular]), .dnsDomain([domain])])
  }
}
