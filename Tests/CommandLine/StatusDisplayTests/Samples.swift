import ControlProtocol
import NetworkTypes
import RoamwardCore
import StatusDisplay

/// Reports that the tests of this target display.
enum Sample {
  static let noon = Timestamp(milliseconds: 1_795_348_987_412)

  static func tunnel(_ name: String = "corp", _ state: String = "connected", isWanted: Bool = true, failure: String? = nil)
    -> StatusReport.Tunnel
  {
    var tunnel = StatusReport.Tunnel(
      name: name, state: state, since: noon - .seconds(90), isEnabled: true, decision: .connect,
      rule: RuleReport(index: 2, name: nil, file: "/etc/roamward/policies/corp.yaml", line: 22),
      reason: "rule 2: ssid \"Cafe\" is \"Cafe\"",
      code: .ruleMatched, isWanted: isWanted)
    tunnel.failure = failure
    tunnel.failureCode = failure.map { _ in .peerTimeout }
    guard state == "connected" else { return tunnel }
    tunnel.link = "corp"
    tunnel.engine = "kernel"
    tunnel.mtu = 1420
    tunnel.endpoint = "203.0.113.10:51820"
    tunnel.addresses = ["10.77.0.2/32", "2001:db8:77::2/128"]
    tunnel.routes = ["10.77.0.0/16"]
    tunnel.routeCount = 1
    tunnel.nameServers = ["10.77.0.1"]
    tunnel.domains = ["corp.example"]
    tunnel.lastHandshake = noon - .seconds(32)
    tunnel.receivedBytes = 1_572_864
    tunnel.sentBytes = 300
    return tunnel
  }

  static func report(_ tunnels: [StatusReport.Tunnel] = [tunnel()], _ change: (inout StatusReport) -> Void = { _ in }) -> StatusReport {
    var report = StatusReport(
      time: noon, process: 4711, policy: .init(generation: 1, files: 1), primary: .init(link: "wlan0", type: "wifi", ssid: "Cafe"),
      tunnels: tunnels)
    change(&report)
    return report
  }

  static func blocking(_ names: [String]) -> FirewallStatus { FirewallStatus(situation: .guarded, guards: names, blocking: names) }

  static func lines(_ report: StatusReport, at time: Timestamp? = nil) -> [StyledLine] {
    StatusText(report, at: time, localTime: { "\($0.seconds)" }).lines
  }
}
