package import ControlProtocol
package import PolicySource

extension PolicyFallback {
  package var standIns: [StatusReport.StandIn] {
    switch self {
    case .files(let files): files.map { StatusReport.StandIn(file: $0.path, line: $0.line, since: $0.since) }
    case .wholeSet(let since): [StatusReport.StandIn(file: nil, line: nil, since: since)]
    }
  }

  package var words: [String] { standIns.map(\.words) }
}
