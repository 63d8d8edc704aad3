import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayPage
import Glibc
import JSON
import LinuxIO
import Metrics
import NetworkTypes
import Terminal

extension MetricsFormat: ExpressibleByArgument {}

struct Metrics: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "metrics",
    abstract: "Show metrics of the gateway for Prometheus.",
    discussion: """
      Prints OpenMetrics. With --output it replaces a file in one step, in the text format that the textfile collector of node_exporter \
      reads; --format chooses. No label names a person, a device or an address. Counts of logins are those of the last 15 seconds or \
      before. Needs root.

      Example: `roamward-gateway metrics --output /var/lib/prometheus/node-exporter/gateway.prom`
      """)
  @Option(
    name: .shortAndLong, help: ArgumentHelp("Replace this file instead of printing.", valueName: "file"),
    completion: .file(extensions: ["prom"]))
  var output: String?
  @Option(
    help: ArgumentHelp("openmetrics, or prometheus (default with --output).", valueName: "format"),
    completion: .list(MetricsFormat.allCases.map(\.rawValue)))
  var format: MetricsFormat?
  @OptionGroup var state: StateOptions

  func run() throws {
    let families = try HostExamination(state.folder).metrics(version: RoamwardGateway.configuration.version)
    let text = (format ?? (output == nil ? .openMetrics : .prometheus)).text(families)
    guard let output else { return write(text) }
    do throws(SystemError) { try TextFile.replace(output, with: Array(text.utf8), mode: 0o644) } catch { throw Failure.refused("\(error)") }
  }
}

struct Monitor: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "monitor",
    abstract: "Stream connections, logins and changes.",
    discussion: """
      Begins with the devices that are connected, and goes on until it is interrupted. A device counts as disconnected three minutes \
      after its last handshake. Needs root.

      Example: `roamward-gateway monitor`
      """)
  @Flag(help: "Print a JSON object for each event.") var json = false
  @OptionGroup var state: StateOptions

  func run() throws {
    var (earlier, last): (GatewayStatus?, Int64?)
    while true {
      let began = Moment.now
      do {
        try look(&earlier, &last)
      } catch {
        // An error of the first look is reported as by other commands; a later one is an event.
        guard earlier != nil else { throw error }
        if earlier?.away?.reason != "\(error)" { tell(.store(away: "\(error)"), at: .now) }
        earlier?.away = StoreAbsence(reason: "\(error)", age: nil)
      }
      // A look reads the whole store: it may take a tenth of the time.
      pause(max(.seconds(1), (Moment.now - began) * 10))
    }
  }

  private func look(_ earlier: inout GatewayStatus?, _ last: inout Int64?) throws {
    let examination = try HostExamination(state.folder)
    let status = examination.status()
    let entries = try examination.entries(after: last)
    for event in GatewayEvent.between(earlier, status) { tell(event, at: status.now) }
    // Entries from before the first look are no events.
    if last != nil { for entry in entries ?? [] { tell(.audit(entry), at: entry.time) } }
    if let entries { last = entries.last?.sequence ?? last ?? 0 }
    earlier = status
  }

  /// Waits; ends the program if nothing reads what it prints any more.
  private func pause(_ duration: Duration) {
    var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    if poll(&output, 1, Int32(clamping: Int64(duration / .milliseconds(1)))) > 0 { Glibc.exit(0) }
  }

  private func tell(_ event: GatewayEvent, at time: Timestamp) {
    // Names of refused logins are strangers' words.
    write(json ? GatewayEventReport(event, at: time).json.text() + "\n" : "\(time)  \(escaped(event.line, keepingLines: false))\n")
  }
}
