package import AgentCore
import LinuxPlatform
internal import Logging

/// The same as `roamwardd --cleanup`, for callers without a logger. Throws if an agent runs.
package func cleanUpMachine(_ settings: AgentSettings) throws(PlatformError) -> Int32 {
  let logger = Logger(label: "roamward") { _ in LogfmtLogHandler(level: .warning) }
  return try LocalAgent(settings, logger: logger).cleanUp()
}
