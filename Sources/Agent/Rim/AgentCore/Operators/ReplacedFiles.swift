package import ControlProtocol
package import NetworkTypes
package import PolicySource

extension LastKnownGoodUse {
  package var replacedFiles: [StatusReport.ReplacedFile] {
    switch self {
    case .files(let files):
      files.map { StatusReport.ReplacedFile(file: $0.path, line: $0.line, since: $0.since.map { Timestamp(seconds: $0) }) }
    case .wholeSet(let since): [StatusReport.ReplacedFile(file: nil, line: nil, since: Timestamp(seconds: since))]
    }
  }

  /// The messages, with moments formatted by `localTime`.
  package func text(_ localTime: (Timestamp) -> String) -> [String] { replacedFiles.map { $0.text(localTime) } }
}
