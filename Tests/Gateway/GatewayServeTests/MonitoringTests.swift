import LinuxIO
import MetricUses
import TestSupport
import Testing

/// The alert rules and the dashboard, with the metrics of a running gateway.
@Suite(.serialized, .forScenes) struct MonitoringTests {
  private static let rules = "\(GatewayScene.root)/packaging/prometheus/roamward-gateway.rules.yml"
  private static let dashboard = "\(GatewayScene.root)/packaging/grafana/roamward-gateway.json"
  /// A gateway has these if its store is on a server.
  private static let ofServers: Set<String> = [
    "roamward_gateway_store_last_reading_seconds", "roamward_gateway_partners", "roamward_gateway_partner_last_seen_seconds",
  ]

  /// The rules and the queries of the dashboard as one text.
  private static func queries() throws -> String {
    try [rules, dashboard].map { String(decoding: try TextFile.read($0), as: UTF8.self).replacing("\\\"", with: "\"") }.joined()
  }

  @Test(
    "a running gateway has each metric and label of the rules and the dashboard; a failed process, a foreign change and a hang show",
    .needs("python3", "pkill"))
  func running() throws {
    let documents = try TemporaryFolder()
    try GatewayScene.play("metrics", "file", with: GatewayScene.loginClient, ["DOCUMENTS": documents.path])
    let exposed = ExposedMetrics(String(decoding: try TextFile.read("\(documents.path)/metrics.prom"), as: UTF8.self))
    let missing = Set(exposed.missing(in: try Self.queries()))
    #expect(missing == Self.ofServers.intersection(missing))
    #expect(exposed.names.isDisjoint(with: Self.ofServers))
  }

  @Test(
    "a pair with its store on a server has those of the store and of the other gateway too",
    .enabled(if: GatewayScene.hasServer, "needs PostgreSQL"))
  func pair() throws {
    let documents = try TemporaryFolder()
    try GatewayScene.play("metrics", "server", with: ["DOCUMENTS": documents.path])
    let exposed = ExposedMetrics(String(decoding: try TextFile.read("\(documents.path)/metrics.prom"), as: UTF8.self))
    #expect(exposed.names.isSuperset(of: Self.ofServers))
  }

  @Test(
    "Prometheus collects a running gateway's metrics, evaluates each rule, answers each query of the dashboard, and sees a gateway end",
    .needs("python3", "curl", "jq"),
    .enabled(
      if: ["prometheus", "promtool"].allSatisfy { prometheusProgram($0) != nil }, "prometheus is missing (scripts/setup --vm)"))
  func prometheus() throws {
    try GatewayScene.play(
      "metrics", "prometheus", with: GatewayScene.loginClient,
      [
        "PROMETHEUS": prometheusProgram("prometheus") ?? "", "PROMTOOL": prometheusProgram("promtool") ?? "", "RULES": Self.rules,
        "DASHBOARD": Self.dashboard,
      ])
  }

  @Test(
    "systemd takes the units of docs/gateway.md that write the metrics",
    .enabled(if: (try? shell("command -v systemd-analyze")) != nil, "systemd-analyze is missing"))
  func units() throws {
    let document = String(decoding: try TextFile.read("\(GatewayScene.root)/docs/gateway.md"), as: UTF8.self)
    let folder = try TemporaryFolder()
    var paths: [String] = []
    for part in document.split(separator: "# /etc/systemd/system/").dropFirst() {
      let name = part.prefix { !$0.isWhitespace }
      let text = part.dropFirst(name.count).prefix { $0 != "`" }.prefix { $0 != "#" }
      let unit = text.replacing("ExecStart=roamward-gateway ", with: "ExecStart=\(GatewayScene.programs)/roamward-gateway ")
      paths.append("\(folder.path)/\(name)")
      try TextFile.replace(paths.last ?? "", with: Array(unit.utf8), mode: 0o644)
    }
    #expect(paths.count == 2)
    let outcome = try run(["/usr/bin/env", "systemd-analyze", "verify", "--man=no"] + paths)
    #expect(outcome.code == 0 && !outcome.output.contains("roamward-gateway-metrics"), "\(outcome.output)")
  }
}
