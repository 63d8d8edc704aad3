package import ArgumentParser

/// The exit statuses of all commands, with the numbers of nmcli(1) where they exist there.
package enum ExitStatus {
  package static let policyErrors = ExitCode(1)
  package static let refused = ExitCode(1)
  package static let usage = ExitCode(2)
  package static let timedOut = ExitCode(3)
  package static let noAgent = ExitCode(8)
  package static let interrupted = ExitCode(130)
}

/// A failure with the text that a person reads: a message, and lines of help below it.
package enum Failure: Error {
  /// The request was refused, or its work failed.
  case refused(String)
  /// The command was written wrongly.
  case usage(String)

  package var text: String {
    switch self {
    case .refused(let text), .usage(let text): text
    }
  }

  package var status: ExitCode {
    switch self {
    case .refused: ExitStatus.refused
    case .usage: ExitStatus.usage
    }
  }
}
