import ControlProtocol
import Glibc
import JSON
import MetricUses
import Metrics
import NetworkTypes
import RoamwardCore
import StatusDisplay
import TestSupport
import Testing

@Suite("Metrics") struct MetricsTests {
  static let report: MetricsReport = {
    var counts = EventCounts()
    counts.count(.state(tunnel: "corp", from: "disconnected", to: "connecting", code: .ruleMatched, reason: "ssid is Cafe"))
    counts.count(.failure(tunnel: "corp", TunnelFailure(.peerTimeout, "203.0.113.10 did not answer")))
    counts.count(.decision(tunnel: "corp", outcome: "connect", rule: 2, code: .ruleMatched, reason: "ssid is Cafe"))
    counts.count(.override(tunnel: "corp", OverrideRequest(wantsUp: true), isSaid: true))
    counts.count(.lookup(NameLookup(tunnel: "corp", name: "wiki.corp.example", asker: nil)))
    counts.count(.policy(generation: 1, errors: 0, warnings: 0))
    counts.count(.firewall(Sample.blocking(["corp"])))
    counts.count(.repair(tunnel: "corp", reason: .linkChanged, count: 7))
    counts.count(.warning(Remark(.dnsLimited, of: "corp", "10.77.0.1")))
    counts.count(.network(link: "wlan0", type: "wifi", ssid: "Cafe"))
    counts.countProbe("ok")
    counts.countWake(.networkEvent)
    var odd = Sample.tunnel("odd \"\\\n", "connecting", failure: "x")
    odd.usage = .init(processes: 1, memoryBytes: 9_700_000, processorMilliseconds: 160)
    let status = Sample.report([Sample.tunnel(), odd]) {
      $0.firewall = Sample.blocking(["corp"])
      $0.notes = [RemarkReport(.dnsLimited, of: "corp", "10.77.0.1")]
      $0.counters.observations = 12
    }
    return MetricsReport(started: Sample.noon - .seconds(3600), status: status, counts: counts)
  }()
  static let families = AgentMetrics.families(report, version: "1.2.3")

  @Test("have the form of OpenMetrics: families in one piece, known types, suffixes, labels, an end") func form() {
    #expect(openMetricsViolations(in: MetricsFormat.openMetrics.text(Self.families)) == [])
    #expect(Self.families.allSatisfy { !$0.samples.isEmpty }, "each metric has a sample here")
  }

  @Test("the check of the form sees what is wrong") func detector() {
    let head = "# HELP a_x Help.\n# TYPE a_x counter\n"
    for text in [
      "", head + "a_x_total 1\n", head + "a_x 1\n# EOF\n", head + "a_x_total{b=\"1} 1\n# EOF\n", head + "a_x_total x\n# EOF\n",
      head + "a_x_total 1\na_x_total 1\n# EOF\n", head + head + "a_x_total 1\n# EOF\n", "a_y 1\n# EOF\n",
      "# TYPE a_x sum\n# HELP a_x Help.\na_x 1\n# EOF\n", head + "a_x_total 1\n# EOF\na_x_total{b=\"1\"} 1\n",
    ] { #expect(openMetricsViolations(in: text) != [], "\(text)") }
    #expect(openMetricsViolations(in: head + "a_x_total{b=\"\\\"\\\\\\n\"} 1\n# EOF\n") == [])
  }

  @Test("have these names, which stay") func names() {
    let names = Set(Self.families.map(\.name))
    for name in [
      "up", "build", "tunnel_state", "tunnel_changes", "tunnel_failures", "blocked", "decisions", "repairs", "probes", "wakeups",
      "tunnel_last_handshake_seconds", "tunnel_received_bytes", "kill_switch", "policy_loads",
    ] { #expect(names.contains("roamward_\(name)"), "\(name)") }
    let text = MetricsFormat.openMetrics.text(Self.families)
    for line in [
      "roamward_build_info{version=\"1.2.3\"} 1", "roamward_tunnel_state{tunnel=\"corp\",state=\"connected\"} 1",
      "roamward_tunnel_state{tunnel=\"corp\",state=\"connecting\"} 0",
      "roamward_tunnel_changes_total{tunnel=\"corp\",state=\"connecting\"} 1",
      "roamward_repairs_total{reason=\"link-changed\"} 7", "roamward_blocked{tunnel=\"corp\"} 1", "roamward_observations_total 12",
      "roamward_tunnel_last_handshake_seconds{tunnel=\"corp\"} 1795348955.412", "roamward_probes_total{answer=\"ok\"} 1",
      "roamward_wakeups_total{reason=\"network-event\"} 1",
    ] { #expect(text.contains("\n\(line)\n"), "\(line) in \(text)") }
  }

  @Test("name no place, address or name that was looked up", arguments: MetricsFormat.allCases) func privacy(format: MetricsFormat) {
    let text = format.text(Self.families)
    for secret in ["Cafe", "203.0.113", "10.77", "wiki.corp", "wlan0"] { #expect(!text.contains(secret), "\(secret)") }
  }

  @Test("without an agent are roamward_up 0 alone") func noAgent() {
    let text = MetricsFormat.openMetrics.text(AgentMetrics.families(nil, version: "1"))
    #expect(text == "# HELP roamward_up Whether the agent answers.\n# TYPE roamward_up gauge\nroamward_up 0\n# EOF\n")
  }

  @Test(
    "are good for promtool, in the format of the textfile collector",
    .enabled(if: prometheusProgram("promtool") != nil, "promtool is missing (scripts/setup --vm)"))
  func promtool() throws {
    let text = MetricsFormat.prometheus.text(Self.families)
    #expect(try check(text) == 0)
    #expect(try check(text.replacing("# TYPE roamward_repairs_total counter", with: "# TYPE roamward_repairs_total gauge")) != 0)
  }

  @Test("survive the wire") func wire() throws {
    #expect(try JSON(parsing: JSON(encoding: Self.report).text().utf8).decoded(as: MetricsReport.self) == Self.report)
  }

  @Test("forget the counts of a tunnel whose policy is gone") func bounded() {
    var counts = EventCounts()
    for number in 0..<1000 {
      counts.count(.state(tunnel: "t\(number)", from: "disconnected", to: "connecting", code: .ruleMatched, reason: ""))
      counts.keep(["t\(number)"])
    }
    counts.countWake(.sample)
    #expect(counts.report.map(\.subject) == [.state, .wake] && counts.report.first?.tunnel == "t999")
  }

  /// The exit status of `promtool check metrics`.
  private func check(_ text: String) throws -> Int32 {
    let path = try #require(prometheusProgram("promtool"))
    let stream = try #require(popen("'\(path)' check metrics >/dev/null 2>&1", "we"))
    fputs(text, stream)
    return pclose(stream)
  }
}
