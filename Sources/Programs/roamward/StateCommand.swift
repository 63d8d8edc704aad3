import AgentCore
import ArgumentParser
import ControlClient
import ControlProtocol
import Glibc
import JSON
import LinuxAgent
import LinuxIO
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Terminal

struct State: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "state",
    abstract: "List the system objects that Roamward owns, and why.",
    discussion: """
      Lists links, addresses, routes, rules, the firewall table, DNS settings, files and processes. Roamward identifies them by its \
      marks. If no agent is running, they are leftover state: `roamward cleanup` removes it. Needs root.

      Example: `roamward state`
      """)

  @OptionGroup var sources: SourceOptions
  @OptionGroup var agent: AgentOptions
  @Flag(help: "Print JSON.") var json = false

  func run() throws {
    try requireRoot("to read WireGuard devices, the firewall and processes")
    let found = foundAgent
    let machine = try sources.machine()
    let objects: [OwnedObject]
    do throws(PlatformError) {
      objects = try machine.ownedObjects(stateDirectory: sources.stateDir, socket: agent.socket)
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
    write(json ? JSON(encoding: StateReport(objects, found)).text(indented: true) + "\n" : text(objects, found))
  }

  /// A stopped or busy agent runs as well: its objects are no leftover state.
  private var foundAgent: FoundAgent {
    if let client = try? ControlClient(path: agent.socket), let report = try? client.status(within: .seconds(5)) { return .answers(report) }
    return NamespaceLock.holder.map { .isSilent(process: Int($0.process)) } ?? .isMissing
  }

  private func text(_ objects: [OwnedObject], _ found: FoundAgent) -> String {
    let first =
      switch found {
      case .answers(let report): "agent: running (process \(report.process))"
      case .isSilent(let process): "agent: running (process \(process)), but it does not answer at \(agent.socket)"
      case .isMissing: "agent: not running; the objects below are leftover state, `roamward cleanup` removes them"
      }
    var lines = [first]
    if objects.isEmpty { lines.append("Roamward owns nothing on this machine") }
    for tunnel in Set(objects.compactMap(\.tunnel)).sorted() {
      lines += ["", "\(tunnel): \(why(tunnel, found))"]
      lines += objects.filter { $0.tunnel == tunnel }.map { "  \(pad($0.kind.rawValue, 8))  \($0.what)  (\($0.purpose))" }
    }
    let shared = objects.filter { $0.tunnel == nil }
    if !shared.isEmpty { lines.append("") }
    lines += shared.map { "\(pad($0.kind.rawValue, 8))  \($0.what)  (\($0.purpose))" }
    return lines.map { $0 + "\n" }.joined()
  }

  private func why(_ tunnel: String, _ agent: FoundAgent) -> String {
    let report: StatusReport
    switch agent {
    case .answers(let answer): report = answer
    case .isSilent: return "unknown, as the agent does not answer"
    case .isMissing: return "leftover state"
    }
    guard let found = report.tunnels.first(where: { $0.name == tunnel }) else { return "not defined by any policy" }
    let place = found.override == nil ? found.rule.map { "  (\($0.file):\($0.line))" } ?? "" : ""
    return "\(found.state) since \(found.since.localTime), because \(found.reason)\(place)"
  }
}

/// The agent of this network namespace, as far as it can be found.
private enum FoundAgent {
  case answers(StatusReport)
  case isSilent(process: Int)
  case isMissing

  var report: StatusReport? { if case .answers(let report) = self { report } else { nil } }

  var process: Int? {
    switch self {
    case .answers(let report): report.process
    case .isSilent(let process): process
    case .isMissing: nil
    }
  }
}

extension StateReport {
  fileprivate init(_ objects: [OwnedObject], _ found: FoundAgent) {
    let report = found.report
    self.init(
      agent: found.process.map { Agent(process: $0) },
      objects: objects.map { object in
        let tunnel = report?.tunnels.first { $0.name == object.tunnel }
        return Object(
          kind: object.kind.rawValue, what: object.what, purpose: object.purpose, tunnel: object.tunnel, reason: tunnel?.reason,
          code: tunnel?.code, since: tunnel?.since, rule: tunnel?.rule)
      })
  }
}

struct Cleanup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cleanup",
    abstract: "Remove leftover state, but keep kill switch rules.",
    discussion: """
      Removes what a killed agent left. Refused while an agent is running. Needs root. `roamwardd --release` removes the kill switch too.

      Example: `roamward cleanup --dry-run`
      """)

  @OptionGroup var sources: SourceOptions
  @OptionGroup var agent: AgentOptions
  @Flag(help: "Print the steps without executing them.") var dryRun = false

  func run() throws {
    try requireRoot("to remove links, routes and rules")
    do throws(PlatformError) {
      let machine = try LinuxMachine(ssidFile: nil, resolvConf: sources.resolvConf, stateDirectory: sources.stateDir)
      let lines = try machine.cleanupForecast(stateDirectory: sources.stateDir, socket: agent.socket)
      if !dryRun {
        var settings = AgentSettings()
        settings.resolvConf = sources.resolvConf
        settings.stateDirectory = sources.stateDir
        settings.socket = agent.socket
        _ = try cleanUpMachine(settings)
      }
      write(lines.isEmpty ? "no leftover state\n" : lines.map { $0 + "\n" }.joined())
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
  }
}

func requireRoot(_ purpose: String) throws {
  if geteuid() == 0 { return }
  writeError("roamward: needs root \(purpose)\nhelp: run it with `sudo roamward …`\n")
  throw ExitStatus.refused
}
