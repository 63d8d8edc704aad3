import GatewayCore
import Glibc
import JSON
import LinuxIO
import MetricUses
import Metrics
import TestSupport
import Testing

/// The files of `packaging/prometheus` and `packaging/grafana`, compared with the metrics that a gateway can have.
@Suite("Alert rules and dashboard of a gateway") struct AlertTests {
  private static let folder = "\(#filePath)".split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/Alerts"
  private static let root = folder.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
  private static let rulesPath = "\(root)/packaging/prometheus/roamward-gateway.rules.yml"

  private static func text(_ path: String) throws -> String { String(decoding: try TextFile.read(path), as: UTF8.self) }

  private static func exposed() throws -> ExposedMetrics { ExposedMetrics(MetricsFormat.prometheus.text(try WatchingTests().families())) }

  /// One alert, as the file has it: its name and the text of its keys.
  private struct Alert {
    let name: String
    private let lines: [Substring]

    static func all() throws -> [Alert] {
      try text(rulesPath).split(separator: "- alert: ").dropFirst().map { part in
        let lines = part.split(separator: "\n")
        return Alert(name: String(lines.first ?? ""), lines: Array(lines.dropFirst()))
      }
    }

    /// The value of a key, of one line or folded (`>-`); `nil`: there is no such key.
    subscript(_ key: String) -> String? {
      guard let start = lines.firstIndex(where: { $0.drop { $0 == " " }.hasPrefix("\(key): ") }) else { return nil }
      let value = lines[start].drop { $0 == " " }.dropFirst(key.count + 2)
      if value != ">-" { return String(value) }
      let indent = lines[start].prefix { $0 == " " }.count
      let rest = lines[(start + 1)...].prefix { $0.prefix { $0 == " " }.count > indent }
      return rest.map { String($0.drop { $0 == " " }) }.joined(separator: " ")
    }
  }

  @Test("each alert has a time, a severity, and words with a command to run") func words() throws {
    let alerts = try Alert.all()
    #expect(alerts.count >= 20 && Set(alerts.map(\.name)).count == alerts.count)
    for alert in alerts {
      let summary = try #require(alert["summary"], "\(alert.name)")
      let description = try #require(alert["description"], "\(alert.name)")
      #expect(alert.name.hasPrefix("RoamwardGateway") && alert["for"] != nil, "\(alert.name)")
      #expect(["critical", "warning"].contains(alert["severity"]), "\(alert.name)")
      #expect(summary.trimming("\"").hasSuffix("."), "\(alert.name): \(summary)")
      #expect(description.hasSuffix("."), "\(alert.name): \(description)")
      let isCommand = ["`roamward-gateway ", "`systemctl ", "`journalctl "].contains { description.contains($0) }
      #expect(isCommand, "\(alert.name): \(description)")
    }
  }

  @Test("rules ask for metrics and labels that a gateway has, and words for labels that the alert has") func rules() throws {
    let exposed = try Self.exposed()
    for alert in try Alert.all() {
      let query = try #require(alert["expr"], "\(alert.name)")
      #expect(!MetricUse.all(in: query).isEmpty && exposed.missing(in: query) == [], "\(alert.name)")
      let labels = exposed.labels(in: query)
      #expect(MetricUse.groupedLabels(in: query).isSubset(of: labels), "\(alert.name)")
      let named = "\(alert["summary"] ?? "") \(alert["description"] ?? "")".split(separator: "$labels.", omittingEmptySubsequences: false)
        .dropFirst().map { String($0.prefix { $0.isLetter || $0 == "_" }) }
      #expect(Set(named).isSubset(of: labels), "\(alert.name)")
    }
  }

  @Test("the dashboard asks for metrics and labels that a gateway has; its panels have titles, units and places of their own")
  func dashboard() throws {
    let exposed = try Self.exposed()
    let dashboard = try JSON(parsing: try Self.text("\(Self.root)/packaging/grafana/roamward-gateway.json").utf8)
    let panels = try #require(dashboard["panels"]?.array)
    let rows = panels.filter { $0["type"]?.string == "row" }.compactMap { $0["title"]?.string }
    #expect(rows == ["Overview", "Addresses", "Logins", "Relays", "Store and workers", "Machine"])
    #expect(Set(panels.compactMap { $0["id"]?.integer }).count == panels.count)
    #expect(Set(panels.compactMap { $0["title"]?.string }).count == panels.count)
    var places = Set<[Int64]>()
    var used = Set<String>()
    for panel in panels {
      let title = panel["title"]?.string ?? ""
      let place = try ["x", "y", "w", "h"].map { try #require(panel["gridPos"]?[$0]?.integer, "\(title)") }
      #expect(place[0] + place[2] <= 24, "\(title)")
      for x in place[0]..<(place[0] + place[2]) {
        for y in place[1]..<(place[1] + place[3]) { #expect(places.insert([x, y]).inserted, "\(title) covers another panel") }
      }
      guard panel["type"]?.string != "row" else { continue }
      let unit = panel["fieldConfig"]?["defaults"]?["unit"]?.string
      #expect(["none", "short", "s", "Bps", "pps", "percentunit"].contains(unit), "\(title)")
      #expect(panel["description"]?.string?.last == ".", "\(title)")
      for target in try #require(panel["targets"]?.array) {
        let query = try #require(target["expr"]?.string, "\(title)")
        #expect(target["datasource"]?["uid"]?.string == "${datasource}", "\(title)")
        #expect(query.contains("instance=~\"$instance\""), "\(title)")
        #expect(exposed.missing(in: query) == [], "\(title)")
        let labels = exposed.labels(in: query)
        let legend = (target["legendFormat"]?.string ?? "").split(separator: "{{", omittingEmptySubsequences: false).dropFirst()
          .map { String($0.prefix { $0 != "}" }) }
        #expect(!legend.isEmpty && MetricUse.groupedLabels(in: query).union(legend).isSubset(of: labels), "\(title)")
        used.formUnion(MetricUse.all(in: query).map(\.name))
      }
    }
    // Those that a histogram has beside its buckets are of no use by themselves.
    #expect(exposed.names.subtracting(used) == ["roamward_gateway_login_seconds_sum", "roamward_gateway_login_seconds_count"])
    let variables = dashboard["templating"]?["list"]?.array ?? []
    #expect(variables.compactMap { $0["name"]?.string } == ["datasource", "instance"] && variables.first?["type"]?.string == "datasource")
  }

  @Test("docs/gateway.md has each metric with its labels") func documented() throws {
    let document = try Self.text("\(Self.root)/docs/gateway.md")
    for family in try WatchingTests().families() {
      let suffix =
        switch family.kind {
        case .counter: "_total"
        case .info: "_info"
        case .gauge, .histogram: ""
        }
      let labels = [.info, .histogram].contains(family.kind) ? [] : family.samples.first?.labels.map(\.name) ?? []
      let short = family.name.dropFirst("roamward_gateway".count) + suffix + (labels.isEmpty ? "" : "{\(labels.joined(separator: ","))}")
      #expect(document.contains("`\(short)`") || document.contains("`roamward_gateway\(short)`"), "\(short)")
    }
  }

  @Test("each alert fires in a unit test of the rules, and is silent in one") func tried() throws {
    let cases = try Self.text("\(Self.folder)/roamward-gateway.test.yml").split(separator: "- eval_time: ").dropFirst()
    for alert in try Alert.all() {
      let own = cases.filter { $0.contains("alertname: \(alert.name)\n") }
      #expect(own.contains { $0.contains("exp_alerts: []") } && own.contains { $0.contains("exp_labels:") }, "\(alert.name)")
    }
  }

  /// Runs `promtool` on copies of the rules and of their unit tests, changed as a test wants.
  private func promtool(_ command: [String], _ change: (String) -> String = { $0 }) throws -> ProgramOutcome {
    let program = try #require(prometheusProgram("promtool"))
    let folder = try TemporaryFolder()
    let (rules, tests) = ("\(folder.path)/rules.yml", "\(folder.path)/test.yml")
    try TextFile.replace(rules, with: Array(change(try Self.text(Self.rulesPath)).utf8), mode: 0o600)
    let text = try Self.text("\(Self.folder)/roamward-gateway.test.yml").replacing("- RULES\n", with: "- \(rules)\n")
    try TextFile.replace(tests, with: Array(text.utf8), mode: 0o600)
    return try withExtendedLifetime(folder) { try run([program] + command + [command.first == "check" ? rules : tests]) }
  }

  @Test("are good for promtool", .enabled(if: prometheusProgram("promtool") != nil, "promtool is missing (scripts/setup --vm)"))
  func checked() throws {
    let outcome = try promtool(["check", "rules"])
    #expect(outcome.code == 0, "\(outcome.output)")
    #expect(try promtool(["check", "rules"]) { $0.replacing("unless max by", with: "unles max by") }.code != 0)
  }

  @Test(
    "fire and stay silent, by promtool", .enabled(if: prometheusProgram("promtool") != nil, "promtool is missing (scripts/setup --vm)"))
  func unitTests() throws {
    let outcome = try promtool(["test", "rules"])
    #expect(outcome.code == 0, "\(outcome.output)")
    #expect(try promtool(["test", "rules"]) { $0.replacing("== 0", with: "== 2") }.code != 0)
  }
}

extension String {
  fileprivate func trimming(_ character: Character) -> Substring {
    var rest = self[...]
    while rest.first == character { rest.removeFirst() }
    while rest.last == character { rest.removeLast() }
    return rest
  }
}
