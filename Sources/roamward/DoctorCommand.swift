import AgentCore
import AgentDaemon
import ArgumentParser
import ControlClient
import ControlProtocol
import Doctor
import Glibc
import JSON
import LinuxPlatform
import NetworkTypes
import PolicySource
import RoamwardCore

struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "What would go wrong on this host, each with its cure.",
    discussion: """
      Looks at the kernel, at the programs that share the network with the tunnels, at the policies and at the agent; changes nothing. Root \
      sees more. Every tunnel is also planned, as `roamward plan --up` does, and what the plan has to say is told.

      A tunnel that is wanted and fails, or whose peer does not answer, is a problem too, as the running agent reports it. A tunnel that has \
      been on its way for 15 s at most is a hint.

      Exit status: 0 without problems; 1 with one.
      """)

  @OptionGroup var policies: PolicyOptions
  @OptionGroup var sources: SourceOptions
  @OptionGroup var agent: AgentOptions
  @Flag(help: "Print JSON.") var json = false
  @Flag(name: .shortAndLong, help: "Also list the checks that passed.") var verbose = false

  func run() throws {
    let loaded = try policies.loadAll()
    let machine = try sources.machine()
    var host = HostCondition(of: machine, loaded: loaded, agent: .runs)
    askAgent(of: &host)
    let diagnosis = Diagnosis(of: host, with: loaded.policies, forecasts: try forecasts(of: loaded.policies, on: machine))
    write(json ? JSON(encoding: DoctorReport(diagnosis)).text(indented: true) + "\n" : diagnosis.text(verbose: verbose))
    if diagnosis.hasProblems { throw ExitStatus.refused }
  }

  private func askAgent(of host: inout HostCondition) {
    do {
      let client = try ControlClient(path: agent.socket)
      let report = try client.status(within: .seconds(5))
      host.isOnline = report.primary.link != nil
      host.tunnels = report.tunnels.map {
        TunnelCondition(
          name: $0.name, state: $0.state, age: (report.time - $0.since).components.seconds, failure: $0.failure,
          peerSilence: $0.peerSilenceMilliseconds.map { $0 / 1000 })
      }
    } catch {
      host.agent = .absent(reason: "\(error)")
    }
  }

  /// What the plan for each tunnel has to say that is no step.
  private func forecasts(of set: PolicySet, on machine: LinuxMachine) throws -> [String: [String]] {
    let snapshot = try sources.snapshot()
    var notes: [String: [String]] = [:]
    for tunnel in set.tunnels where tunnel.isEnabled {
      do throws(PlatformError) {
        let preview = try PlanPreview(of: set, on: snapshot, up: tunnel.name, machine: machine) { _ in StandingOrders() }
        notes[tunnel.name] = preview.notes
      } catch {
        notes[tunnel.name] = ["\(tunnel.name): \(error)"]
      }
    }
    return notes
  }
}

extension Diagnosis {
  fileprivate func text(verbose: Bool) -> String {
    var lines: [String] = []
    for finding in findings {
      lines.append("\(pad(finding.severity.rawValue, 8)) \(finding.message)  [\(finding.check)]")
      if let cure = finding.cure { lines.append("\(pad("", 8)) cure: \(cure)") }
    }
    if verbose { lines += passed.map { "\(pad("passed", 8)) \($0)" } }
    lines.append(summary)
    return lines.map { $0 + "\n" }.joined()
  }
}

extension DoctorReport {
  fileprivate init(_ diagnosis: Diagnosis) {
    self.init(
      findings: diagnosis.findings.map {
        Finding(check: $0.check, severity: $0.severity.rawValue, message: $0.message, cure: $0.cure)
      },
      passed: diagnosis.passed)
  }
}
