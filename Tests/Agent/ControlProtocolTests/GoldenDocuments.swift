import ControlProtocol
import JSON
import NetworkTypes
import PolicySource
import RoamwardCore
import TestKit
import Testing

// Fixed values of the documents that commands make without the agent.
extension Golden {
  static let check = CheckReport(
    files: ["/etc/roamward/policies/10-corp.yaml"], tunnels: 1, errors: 1, warnings: 1,
    problems: [
      .init(
        file: "/etc/roamward/policies/10-corp.yaml", line: 12, column: 11, severity: "warning", kind: "shadowed-rule",
        message: "rule 2 of `corp` is never reached", help: "move it before rule 1",
        related: .init(file: "/etc/roamward/policies/10-corp.yaml", line: 11, column: 11)),
      .init(
        file: "/etc/roamward/policies/10-corp.yaml", line: 13, column: 5, severity: "error", kind: nil, message: "unknown key `mut`",
        help: nil, related: nil),
    ], ignored: [.init(file: "/etc/roamward/policies/notes.txt", reason: "its name does not end in .yaml")],
    unread: ["/etc/roamward/policies/corp.conf"])

  static let diff = DiffReport(
    differences: [.init(area: "kernel", wanted: ["route 10.77.0.0/16 dev corp table 21000 proto 82"], found: [])],
    notes: [RemarkReport(.conflict, "the rule \"999: from all lookup 21000\" is not Roamward's")])

  static let dns: NameReport = {
    var report = NameReport(name: "intranet.corp.example", backend: "systemd-resolved", reason: "resolv.conf leads to it")
    report.asked = [
      .init(tunnel: "corp", link: nil, servers: ["10.77.0.1"], reason: "the domain corp.example is corp's"),
      .init(tunnel: nil, link: "wlan0", servers: [], reason: "no tunnel has it"),
    ]
    report.refused = "the tunnel is down"
    report.nameServer = "127.0.0.82"
    report.withheld = ["10.77.0.0/16"]
    report.rebindAllowed = "lab.example"
    report.isCaptured = true
    report.lookup = "by our own name server"
    report.answer = "10.77.0.9 from 10.77.0.1"
    report.problem = "10.77.0.1 did not answer"
    return report
  }()

  static let explanation = ExplanationReport(
    decision: evaluation.decisions[0], provider: .init(name: "WireGuard", providerClass: "owned"),
    network: Sample.network(Sample.wifi("Cafe")).json, routes: plan.routes)

  static let packet: PacketReport = {
    guard let destination = PacketDestination("10.77.0.9:443") else { preconditionFailure() }
    var packet = PacketExplanation(destination)
    packet.add("routes", .pass, "into the tunnel corp, by 10.77.0.0/16")
    packet.add("corp", .stop, "connecting: rule 2 \"abroad\"")
    return PacketReport(packet)
  }()

  static let imports = ImportsReport(imports: [
    .init(
      file: "corp.mobileconfig",
      report: .init(
        file: "corp.mobileconfig", signature: .init(signers: ["Corp IT"], standing: "refuted", reason: "the certificate has expired"),
        keys: [
          .init(outcome: "dropped", weight: "warning", key: "PayloadContent[0].VPN.Proxies", line: 21, text: "proxies are not imported"),
          .init(outcome: "note", weight: "plain", key: nil, line: nil, text: "no rules"),
        ]),
      tunnels: [.init(name: "corp", isEnabled: false, files: [.init(name: "corp.yaml", mode: "0644")])], written: ["./corp.yaml"],
      error: nil),
    .init(
      file: "lab.conf", report: nil, tunnels: [], written: [],
      error: .init(message: "no [Peer] section", help: "export the tunnel again", line: 3)),
  ])

  /// A network with the example of every fact, and its sources.
  static func network() throws -> JSON {
    func members(_ facts: [FactDeclaration]) -> [String] { facts.map { "\($0.key): \($0.example)" } }
    let probe = "{ \"https://beacon.corp.example/\": ok }"
    let link = "{ \(members(FactTable.ofLinks).joined(separator: ", ")) }"
    let lines =
      [
        "version: 1", "primary: wlan0",
        "links: { wlan0: \(link), eth0: { type: ethernet, mtu: 1400, unknown: [dns-servers], unavailable: [metered] } }",
      ] + members(FactTable.ofNetwork)
      + ["probes: \(probe)", "other-probes: unknown", "remembered-probes: \(probe)", "captive-portal-api: \"https://portal.example/api\""]
      + members(FactTable.ofHost)
    let (read, problems) = readSnapshot(text: Array(lines.map { $0 + "\n" }.joined().utf8), file: "every fact")
    let snapshot = try #require(read, "\(problems.map { $0.rendered() })")
    let origin = FactOrigin(
      [
        SourceAnswer(source: "nl80211", said: "Cafe", isBelieved: true),
        SourceAnswer(source: "NetworkManager", said: "nothing", isBelieved: false, reason: "it does not manage the link"),
      ], confirmed: 1_795_348_900)
    let provenance = Provenance(links: ["wlan0": [.ssid: origin]], machine: [.power: origin])
    return SnapshotWithSources(snapshot: snapshot, provenance: provenance).json
  }

  static let simulated = events.enumerated().map {
    SimulatedEventReport(atMilliseconds: Int64($0.offset) * 1500, code: $0.element.code, happening: $0.element.happening)
  }
}
