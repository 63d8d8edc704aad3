import ArgumentParser
import ControlClient
import ControlProtocol
import LinuxIO
import Metrics
import StatusDisplay
import Terminal

extension MetricsFormat: ExpressibleByArgument {}

struct Metrics: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "metrics",
    abstract: "Show metrics of the agent for Prometheus.",
    discussion: """
      Prints OpenMetrics. With --output it replaces a file in one step, in the text format that the textfile collector of node_exporter \
      reads; --format chooses. No label names a place, an address or a person.

      Without an agent, the only metric is roamward_up 0, and the exit status is 8.

      Example: `roamward metrics --output /var/lib/prometheus/node-exporter/roamward.prom`
      """)

  @OptionGroup var agent: AgentOptions
  @Option(
    name: .shortAndLong, help: ArgumentHelp("Replace this file instead of printing.", valueName: "file"),
    completion: .file(extensions: ["prom"]))
  var output: String?
  @Option(
    help: ArgumentHelp("openmetrics, or prometheus (default with --output).", valueName: "format"),
    completion: .list(MetricsFormat.allCases.map(\.rawValue)))
  var format: MetricsFormat?

  func run() throws {
    var report: MetricsReport?
    var failure: (any Error)?
    do { report = try agent.metrics() } catch { failure = error }
    // A refusal leaves an old file; a file from before the agent's end would be wrong.
    if let failure, failure as? ExitCode != ExitStatus.noAgent { throw failure }
    let families = AgentMetrics.families(report, version: Roamward.configuration.version)
    let text = (format ?? (output == nil ? .openMetrics : .prometheus)).text(families)
    if let output {
      do throws(SystemError) {
        try TextFile.replace(output, with: Array(text.utf8), mode: 0o644)
      } catch {
        writeError("roamward: \(error)\n")
        throw ExitStatus.refused
      }
    } else {
      write(text)
    }
    if let failure { throw failure }
  }
}
