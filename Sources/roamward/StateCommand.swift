import AgentCore
import ArgumentParser
import ControlClient
import ControlProtocol
import Glibc
import JSON
import LinuxAgent
import LinuxIO
import LinuxPlatform
internal import NetworkTypes
import RoamwardCore

struct State: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "state",
    abstract: "List the system objects that Roamward owns, and why.",
    discussion: """
      Lists links, addresses, routes, rules, the firewall table, DNS settings, files and processes. Roamward identifies them by its \
      marks. If no agent is running, they are leftover state: `roamward cleanup` removes it. Needs root.
      """)

  @OptionGroup var sources: SourceOptions
  @OptionGroup var agent: AgentOptions
  @Flag(help: "Print JSON.") var json = false

  func run() throws {
    try requireRoot("to read WireGuard devices, the firewall and processes")
    let report = status
    let machine = try sources.machine()
    let objects: [OwnedObject]
    do throws(PlatformError) {
      objects = try machine.ownedObjects(stateDirectory: sources.stateDir, socket: agent.socket)
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
    write(json ? JSON(encoding: StateReport(objects, report)).text(indented: true) + "\n" : text(objects, report))
  }

  private var status: StatusReport? {
    guard let client = try? ControlClient(path: agent.socket), let report = try? client.status(within: .seconds(1)) else { return nil }
    return report
  }

  private func text(_ objects: [OwnedObject], _ report: StatusReport?) -> String {
    var lines = [
      report.map { "agent: running (process \($0.process))" }
        ?? "agent: not running; the objects below are leftover state, `roamward cleanup` removes them"
    ]
    if objects.isEmpty { lines.append("Roamward owns nothing on this machine") }
    for tunnel in Set(objects.compactMap(\.tunnel)).sorted() {
      lines += ["", "\(tunnel): \(why(tunnel, report))"]
      lines += objects.filter { $0.tunnel == tunnel }.map { "  \(pad($0.kind.rawValue, 8))  \($0.what)  (\($0.purpose))" }
    }
    let shared = objects.filter { $0.tunnel == nil }
    if !shared.isEmpty { lines.append("") }
    lines += shared.map { "\(pad($0.kind.rawValue, 8))  \($0.what)  (\($0.purpose))" }
    return lines.map { $0 + "\n" }.joined()
  }

  private func why(_ tunnel: String, _ report: StatusReport?) -> String {
    guard let report else { return "leftover state" }
    guard let found = report.tunnels.first(where: { $0.name == tunnel }) else { return "not defined by any policy" }
    let place = found.override == nil ? found.rule.map { "  (\($0.file):\($0.line))" } ?? "" : ""
    return "\(found.state) since \(found.since.localTime), because \(found.reason)\(place)"
  }
}

extension StateReport {
  fileprivate init(_ objects: [OwnedObject], _ report: StatusReport?) {
    self.init(
      agent: report.map { Agent(process: $0.process) },
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
