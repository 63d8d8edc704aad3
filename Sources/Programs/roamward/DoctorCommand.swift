import AgentCore
import ArgumentParser
import ControlClient
import ControlProtocol
import Doctor
import Glibc
internal import HostFindings
import JSON
import LinuxPlatform
import NetworkTypes
import PolicySource
import RoamwardCore
import Terminal

struct Doctor: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: "Find problems on this host, each with a cure.",
    discussion: """
      Checks the kernel, other network programs, the policies, the agent and the plan of each tunnel (as `roamward plan --up`). Changes \
      nothing. Some checks need root.

      A tunnel that fails, or does not receive an answer from its peer, is a problem. A tunnel that has been connecting for at most 15 s \
      is a hint.

      Exit status: 0 no problems; 1 problems.

      Example: `roamward doctor --verbose`
      """)

  @OptionGroup var policies: PolicyOptions
  @OptionGroup var sources: SourceOptions
  @OptionGroup var agent: AgentOptions
  @Flag(help: "Print JSON.") var json = false
  @Flag(name: .shortAndLong, help: "List passed checks too.") var verbose = false

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
    do throws(ControlClient.Failure) {
      let client = try ControlClient(path: agent.socket)
      let report = try client.status(within: .seconds(5))
      host.isOnline = report.primary.link != nil
      host.tunnels = report.tunnels.map {
        TunnelCondition(
          name: $0.name, state: $0.state, age: (report.time - $0.since).components.seconds, failure: $0.failure,
          failureCode: $0.failureCode, peerSilence: $0.peerSilenceMilliseconds.map { $0 / 1000 },
          expiring: $0.notes.filter { $0.code == .credentialExpiring }.map(\.text))
      }
      host.withheld = (report.resolver?.withheld ?? []).map { WithheldCondition(text: $0.text, cure: $0.cure) }
      host.sharedAddresses = report.tunnels.flatMap { tunnel in
        (tunnel.byName?.addresses ?? []).filter(\.isShared).map { "\(tunnel.name): \($0.shareText)" }
      }
      host.guards = report.guards.map { found in
        GuardCondition(
          name: "\(ProgramGuard(found))", hasLink: !found.links.isEmpty, age: (report.time - found.since).components.seconds,
          isHeld: found.heldSince != nil)
      }
    } catch {
      if case .noAgent = error { host.agent = .absent(reason: "\(error)") } else { host.agent = .silent(reason: "\(error)") }
    }
  }

  /// The notes and conflicts of each tunnel's plan, without its steps.
  private func forecasts(of set: PolicySet, on machine: LinuxMachine) throws -> [String: [String]] {
    let snapshot = try sources.snapshot()
    var notes: [String: [String]] = [:]
    for tunnel in set.tunnels where tunnel.isEnabled {
      do throws(PlatformError) {
        let preview = try PlanPreview(of: set, on: snapshot, up: tunnel.name, machine: machine) { _ in PlanInputs() }
        // The override is that of `up` above. What needs root is told once, by a check.
        notes[tunnel.name] = (preview.remarks.filter { ![.manualOverride, .needsRoot].contains($0.code) } + preview.plan.conflicts).map(
          \.description)
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
    if verbose {
      lines += passed.map { "\(pad("passed", 8)) \($0)" } + unseen.map { "\(pad("not run", 8)) \($0): needs root" }
    }
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
      passed: diagnosis.passed, unseen: diagnosis.unseen)
  }
}
