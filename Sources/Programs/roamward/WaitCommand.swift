import ArgumentParser
import ControlClient
import ControlProtocol
import Glibc
import LinuxIO
import NetworkTypes
import RoamwardCore
import StatusDisplay
import Terminal

struct Wait: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "wait",
    abstract: "Wait until a tunnel reaches a state.",
    discussion: """
      A group has a state when one of its tunnels has it; it is disconnected when all of them are.

      Exit status: 0 state reached; 3 timeout; 8 the agent is not running.

      Example: `roamward wait corp --for connected --timeout 30s`
      """)

  @OptionGroup var agent: AgentOptions
  @Argument(help: "Name of the tunnel or group.", completion: .tunnels) var tunnel: String
  @Option(
    name: .customLong("for"),
    help: ArgumentHelp(
      "Wait for this state.", discussion: "connected, disconnected, connecting, armed, reasserting or disconnecting.", valueName: "state"),
    completion: .list(TunnelMachine.State.statuses))
  var state: String = "connected"
  @Option(help: ArgumentHelp("Wait at most this long: 500ms, 10s, 5m.", valueName: "duration")) var timeout: String = "30s"

  func validate() throws {
    let states = TunnelMachine.State.statuses
    guard states.contains(state) else { throw ValidationError("--for takes one of: \(states.joined(separator: ", "))") }
    guard seconds(timeout) != nil else { throw ValidationError("--timeout takes a duration: 500ms, 10s, 5m") }
  }

  func run() throws { try waitFor(state, of: [tunnel], seconds: seconds(timeout) ?? 30, agent) }
}

/// Follows the agent's events until one of the tunnels has reached a state, or `all` have; a timeout ends the program with status 3. A
/// group stands for its members, which are all disconnected when it is.
func waitFor(_ state: String, of tunnels: [String], all: Bool = false, seconds: Double, _ agent: AgentOptions) throws {
  let deadline = Moment.now + .milliseconds(Int64(seconds * 1000))
  let client = try agent.connect()
  let tunnel = tunnels.joined(separator: all ? " and " : " or ")
  let progress = WaitProgress(for: state, of: tunnel, seconds: seconds)
  defer { progress.end() }
  do throws(ControlClient.Failure) {
    // First subscribe to events, then read the current state, so that none is missed between them.
    _ = try client.ask(.monitor())
  } catch {
    writeError("roamward: \(error)\n")
    throw ExitStatus.refused
  }
  var report = try agent.status()
  while report.isStarting {
    guard let event = try nextEvent(client, before: deadline, progress) else {
      progress.end()
      writeError("roamward: the agent is still removing leftover state after \(seconds) s; see `roamward status`\n")
      throw ExitStatus.timedOut
    }
    if event.happening is PolicyEvent { report = try agent.status() }
  }
  let groups = report.groups.filter { tunnels.contains($0.name) }
  let all = all || state == "disconnected" && !groups.isEmpty
  let names = tunnels + groups.flatMap { $0.members.map(\.tunnel) }
  let found = report.tunnels.filter { names.contains($0.name) }
  guard let now = found.first else {
    writeError("roamward: no tunnel is named \"\(tunnel)\"; `roamward status` lists them\n")
    throw ExitStatus.refused
  }
  var states = Dictionary(found.map { ($0.name, $0.state) }) { first, _ in first }
  let isReached = { (states: [String: String]) in all ? states.values.allSatisfy { $0 == state } : states.values.contains(state) }
  if isReached(states) { return }
  progress.state = groups.first?.state ?? now.state
  while let event = try nextEvent(client, before: deadline, progress) {
    guard let change = event.happening as? StateEvent, states[change.tunnel] != nil else { continue }
    states[change.tunnel] = change.to
    if isReached(states) { return }
    progress.state = change.to
  }
  progress.end()
  writeError("roamward: \(tunnel) was not \(state) within \(seconds) s; `roamward status` shows why\n")
  throw ExitStatus.timedOut
}

/// The progress line on a terminal while `wait` waits: `corp: connecting, 3 s of 30 s`.
private final class WaitProgress {
  var state = "waiting for the agent"
  private let (tunnel, wanted, limit): (String, String, Duration)
  private let began = Moment.now
  private let line = ProgressLine()

  init(for wanted: String, of tunnel: String, seconds: Double) {
    (self.wanted, self.tunnel, limit) = (wanted, tunnel, lasting(seconds))
  }

  /// The longest wait for an event: a terminal shows each second.
  var step: Duration { line.isVisible ? .seconds(1) : .seconds(3600) }

  func show() { line.show("\(tunnel): \(state), waiting for \(wanted): \(age(.now - began)) of \(age(limit))") }

  func end() { line.clear() }
}

private func nextEvent(_ client: ControlClient, before deadline: Moment, _ progress: WaitProgress) throws -> EventReport? {
  while !client.hasLine {
    let left = deadline - .now
    guard left > .zero else { return nil }
    progress.show()
    var poller = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
    let milliseconds = min(left.milliseconds + 1, progress.step.milliseconds)
    if poll(&poller, 1, Int32(clamping: milliseconds)) > 0 { break }
  }
  guard let event = try client.next() else {
    progress.end()
    writeError("roamward: the agent has stopped; start it with `systemctl start roamwardd`\n")
    throw ExitStatus.noAgent
  }
  return event
}

/// `500ms`, `10s`, `5m`, `2h`, or a number of seconds.
func seconds(_ text: String) -> Double? {
  let units: [(String, Double)] = [("ms", 0.001), ("s", 1), ("m", 60), ("h", 3600)]
  for (unit, factor) in units where text.hasSuffix(unit) {
    if let number = Double(text.dropLast(unit.count)), number >= 0 { return number * factor }
  }
  return Double(text).flatMap { $0 >= 0 ? $0 : nil }
}

/// This number of seconds, in whole milliseconds; very large values are limited to thousands of years.
func lasting(_ seconds: Double) -> Duration { .milliseconds(Int64(min(seconds, 1e12) * 1000)) }
