import AgentCore
import AgentDaemon
import ArgumentParser
import ControlProtocol
import Glibc
import KernelModel
import LinuxPlatform
import PolicySource
import RoamwardCore

struct Diff: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "What on this machine is not as the policies want it: kernel, resolver and firewall.",
    discussion: """
      Lines with - are wanted and not there, lines with + are there and not wanted. Decides and observes with the agent's own code, and needs \
      no agent; but root, because others may not ask for WireGuard devices and the firewall.

      Exit status: 0 nothing differs; 1 something does; 2 it could not be found out.
      """)

  @OptionGroup var policies: PolicyOptions
  @OptionGroup var facts: FactOptions
  @Flag(help: "Print JSON.") var json = false

  func run() throws {
    guard geteuid() == 0 else { throw trouble("root is needed, to ask for WireGuard devices and the firewall") }
    let recorded = RecordedState(facts.sources.stateDir)
    let named = try policies.named()
    var layers = named.isEmpty ? PolicyLayers.standard : named
    if let trial = recorded.trialLayer { layers.append(trial) }
    let loaded = loadPolicies(layers: layers, requireRootOwnership: false)
    if loaded.hasErrors {
      for diagnostic in loaded.diagnostics { writeError(diagnostic.rendered(color: usesColor) + "\n") }
      throw trouble("the policies have errors, so that it is not known what is wanted")
    }
    let snapshot = try facts.snapshot()
    let machine = try facts.sources.machine()
    let preview: PlanPreview
    do throws(PlatformError) {
      preview = try facts.preview(of: loaded.policies, on: snapshot, machine: machine)
    } catch {
      throw trouble("\(error)")
    }
    var differences = preview.plan.discrepancies(in: preview.observed)
    if case .table(let table) = preview.desired.firewall, case .table(table.digest, _, _) = preview.observed.firewall,
      let lines = machine.firewallDifference(from: table), !lines.missing.isEmpty || !lines.extra.isEmpty
    {
      let name = "table \(FirewallTable.name)"
      func trimmed(_ line: String) -> String { "\(name):" + line.split(whereSeparator: \.isWhitespace).reduce("") { $0 + " " + $1 } }
      differences.append(Discrepancy(.firewall, wanted: lines.missing.map(trimmed), found: lines.extra.map(trimmed)))
    }
    let notes = preview.notes + preview.plan.conflicts.map(\.description)
    write(json ? differences.json(notes).text(indented: true) + "\n" : differences.text(notes))
    if !differences.isEmpty { throw ExitCode(1) }
  }

  private func trouble(_ text: String) -> ExitCode {
    writeError("roamward: \(text)\n")
    return ExitCode(2)
  }
}

extension [Discrepancy] {
  fileprivate func text(_ notes: [String]) -> String {
    var lines = isEmpty ? [] : ["--- wanted", "+++ found"]
    var area: Discrepancy.Area?
    for difference in self {
      if area != difference.area { lines.append("@@ \(difference.area.rawValue) @@") }
      area = difference.area
      lines += difference.wanted.map { "-\($0)" } + difference.found.map { "+\($0)" }
    }
    lines += notes.map { "note: \($0)" }
    return lines.map { $0 + "\n" }.joined()
  }

  fileprivate func json(_ notes: [String]) -> JSON {
    let differences = map { difference -> JSON in
      ["area": .string(difference.area.rawValue), "wanted": JSON(difference.wanted), "found": JSON(difference.found)]
    }
    return ["version": 1, "differences": .array(differences), "notes": JSON(notes)]
  }
}
