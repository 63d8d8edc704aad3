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
