import AgentCore
import AgentDaemon
import ArgumentParser
import ControlProtocol
import JSON
import KernelModel
import LinuxPlatform
import RoamwardCore

struct Plan: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Every change that the agent would make on this machine, in order, each with its undo.",
    discussion: """
      Changes nothing. The agent executes exactly the plan that is made here, once its tunnels have done what rules and manual overrides want of \
      them. Overrides and a suspended kill switch count, by the word of the running agent, else by what the last one has written down. What the \
      programs of a tunnel of commands do is not in it.
      """)

  @OptionGroup var plan: PreviewOptions
  @Flag(help: "Print JSON.") var json = false

  func run() throws {
    let (preview, _) = try plan.preview()
    write(json ? JSON(encoding: PlanReport(preview)).text(indented: true) + "\n" : preview.text)
  }
}

extension PlanPreview {
  fileprivate var text: String {
    var lines = plan.steps.isEmpty ? ["nothing to do: the machine is as the policies want it"] : []
    let width = min(100, plan.steps.map { $0.description.count }.max() ?? 0)
    lines += plan.steps.map { step in step.undo.map { "\(pad(step.description, width))  # undo: \($0)" } ?? step.description }
    lines += claims.map { "route: \($0)" } + others.all.map { "other: \($0)" }
    if let resolver { lines.append("note: name servers go to \(resolver.backend), because \(resolver.reason)") }
    lines += notes.map { "note: \($0)" }
    return lines.map { $0 + "\n" }.joined()
  }
}
