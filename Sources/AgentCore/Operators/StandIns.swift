package import ControlProtocol
package import NetworkTypes
package import PolicySource

extension PolicyFallback {
  package var standIns: [StatusReport.StandIn] {
    switch self {
    case .files(let files): files.map { StatusReport.StandIn(file: $0.path, line: $0.line, since: $0.since.map { Timestamp(seconds: $0) }) }
    case .wholeSet(let since): [StatusReport.StandIn(file: nil, line: nil, since: Timestamp(seconds: since))]
    }
  }

  /// The messages, with moments formatted by `localTime`.
  package func text(_ localTime: (Timestamp) -> String) -> [String] { standIns.map { $0.text(localTime) } }
}

extension StatusReport.StandIn {
  /// `/etc/roamward/policies/corp.yaml: broken at line 5; its last known good version of 2026-03-01 14:03:20 is in force`.
  package func text(_ localTime: (Timestamp) -> String) -> String {
    let date = localTime(since ?? Timestamp(seconds: 0))
    guard let file else { return "all policies are active in their last known good version of \(date)" }
    let trouble = line.map { "broken at line \($0)" } ?? "it goes with what is broken"
    return "\(file): \(trouble); "
      + (since == nil ? "it has no known good version, and is not active" : "its last known good version of \(date) is active")
  }
}
