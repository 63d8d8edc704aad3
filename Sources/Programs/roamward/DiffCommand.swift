import AgentCore
import ArgumentParser
import ControlProtocol
import Glibc
import JSON
import KernelModel
import LinuxPlatform
import PolicyFiles
import PolicySource
import RoamwardCore
import Terminal

struct Diff: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Show drift between policies and system state.",
    discussion: """
      Compares kernel, DNS backend, firewall and providers with the desired state. Lines with - are desired but missing; lines with + are present \
      but not desired. Needs root to read WireGuard devices and the firewall, but no agent.

      Exit status: 0 no drift; 1 drift; 2 error.

      Example: `roamward diff --json`
      """)

  @OptionGroup var policies: PolicyOptions
  @OptionGroup var facts: FactOptions
  @Flag(help: "Print JSON.") var json = false

  func run() throws {
    guard geteuid() == 0 else { throw trouble("needs root to read WireGuard devices and the firewall; run it with sudo") }
    let recorded = RecordedState(facts.sources.stateDir)
    let named = try policies.named()
    var layers = named.isEmpty ? PolicyLayers.standard : named
    var files = PolicyFileSystem.linux
    if let trial = recorded.trialLayer {
      files = files.reading(trial, asIfIn: layers.last)
      layers.append(trial)
    }
    let loaded = loadPolicies(layers: layers, files: files, requireRootOwnership: false)
    if loaded.hasErrors {
      for diagnostic in loaded.diagnostics { writeError(diagnostic.rendered(color: usesColor) + "\n") }
      throw trouble("the policies have errors, so the desired state is not known; correct them first")
    }
    let snapshot = try facts.snapshot()
    let machine = try facts.sources.machine()
    let preview: PlanPreview
    do throws(PlatformError) {
      preview = try facts.preview(of: loaded.policies, on: snapshot, machine: machine)
    } catch {
      throw trouble("\(error)")
    }
    var differences = preview.discrepancies
    if case .table(let table) = preview.desired.firewall, case .table(table.digest, _, _) = preview.observed.firewall,
      let lines = machine.firewallDifference(from: table), !lines.missing.isEmpty || !lines.extra.isEmpty
    {
      let name = "table \(FirewallTable.name)"
      func trimmed(_ line: String) -> String { "\(name):" + line.split(whereSeparator: \.isWhitespace).reduce("") { $0 + " " + $1 } }
      differences.append(Discrepancy(.firewall, wanted: lines.missing.map(trimmed), found: lines.extra.map(trimmed)))
    }
    write(
      json ? JSON(encoding: DiffReport(differences, preview)).text(indented: true) + "\n" : differences.text(preview.notes))
    if !differences.isEmpty { throw ExitCode(1) }
  }

  private func trouble(_ text: String) -> ExitCode {
    writeError("roamward: \(text)\n")
    return ExitCode(2)
  }
}

extension [Discrepancy] {
  fileprivate func text(_ notes: [String]) -> String {
    var lines = isEmpty ? [] : ["--- desired", "+++ observed"]
    var area: Discrepancy.Area?
    for difference in self {
      if area != difference.area { lines.append("@@ \(difference.area.rawValue) @@") }
      area = difference.area
      lines += difference.wanted.map { "-\($0)" } + difference.found.map { "+\($0)" }
    }
    lines += notes.map { "note: \($0)" }
    return lines.map { $0 + "\n" }.joined()
  }
}
