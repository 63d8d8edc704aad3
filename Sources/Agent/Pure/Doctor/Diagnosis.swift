package import HostFindings
internal import NetworkTypes
package import RoamwardCore

extension HostFinding {
  /// The hint that something needs root; `nil`: nothing does.
  fileprivate init?(unread: [String], unseen: [String]) {
    if unread.isEmpty, unseen.isEmpty { return nil }
    var words = unread.isEmpty ? [] : [needsRoot(unread)]
    let names = unseen.count > 12 ? "" : ": \(list(unseen))"
    if !unseen.isEmpty { words.append("\(unseen.count == 1 ? "a check needs" : "\(unseen.count) checks need") root\(names)") }
    self.init("root", .hint, words.joined(separator: "; "), cure: "sudo roamward doctor")
  }

  /// A note of a plan: a predicted problem, often with the solution at its end.
  fileprivate init(foreseen note: String) {
    guard let seam = note.firstRange(of: "; cure: ") else {
      self.init("forecast", .risk, note)
      return
    }
    self.init("forecast", .risk, String(note[..<seam.lowerBound]), cure: String(note[seam.upperBound...]))
  }
}

/// One check of a host.
package struct HostCheck: Sendable {
  package var name: String
  /// The message if it finds nothing.
  package var about: String
  package var examine: @Sendable (HostCondition, PolicySet) -> [HostFinding]

  package init(_ name: String, _ about: String, _ examine: @escaping @Sendable (HostCondition, PolicySet) -> [HostFinding]) {
    self.name = name
    self.about = about
    self.examine = examine
  }
}

/// All checks and their results.
package struct Diagnosis: Equatable, Sendable {
  package var findings: [HostFinding]
  /// The messages of the passed checks.
  package var passed: [String]
  /// The names of the checks that could not look at what they need.
  package var unseen: [String]

  /// `forecasts` are the notes and conflicts of the agent's plans for each tunnel.
  package init(of host: HostCondition, with policies: PolicySet, forecasts: [String: [String]] = [:]) {
    findings = []
    passed = []
    unseen = []
    var readable = policies
    readable.tunnels.removeAll(where: \.provider.isUnread)
    for check in HostCheck.all {
      let found = check.examine(host, HostCheck.ofTunnelFiles.contains(check.name) ? readable : policies)
      if !found.isEmpty {
        findings += found
      } else if host.unseen.contains(check.name) {
        unseen.append(check.name)
      } else {
        passed.append(check.about)
      }
    }
    if let finding = HostFinding(unread: host.unread, unseen: unseen) { findings.append(finding) }
    let foreseen = forecasts.sorted { $0.key < $1.key }.flatMap(\.value).uniqued()
    findings += foreseen.map(HostFinding.init(foreseen:))
    findings = findings.enumerated().sorted { ($0.element.severity, $0.offset) < ($1.element.severity, $1.offset) }.map(\.element)
  }

  package var hasProblems: Bool { findings.contains { $0.severity == .problem } }

  /// The closing line: `no problems found (27 checks passed)`, or `1 problem, 2 risks; 25 of 27 checks passed`, with the number of those
  /// that need root.
  package var summary: String {
    let rest = unseen.isEmpty ? "" : ", \(unseen.count) need\(unseen.count == 1 ? "s" : "") root"
    if findings.isEmpty { return "no problems found (\(passed.count) checks passed\(rest))" }
    let counts = HostFinding.Severity.allCases.map { severity in (findings.count { $0.severity == severity }, severity.rawValue) }
    let words = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)\($0.0 == 1 ? "" : "s")" }
    return "\(words.joined(separator: ", ")); \(passed.count) of \(HostCheck.all.count) checks passed\(rest)"
  }
}
