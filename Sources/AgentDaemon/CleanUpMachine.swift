package import AgentCore
import LinuxPlatform
internal import Logging

/// Does what `roamwardd --cleanup` does, for callers without a logger. An agent that runs is an error.
package func cleanUpMachine(_ settings: AgentSettings) throws(PlatformError) -> Int32 {
  let logger = Logger(label: "roamward") { _ in LogfmtLogHandler(level: .warning) }
  return try Daemon(settings, logger: logger).cleanUp()
}
