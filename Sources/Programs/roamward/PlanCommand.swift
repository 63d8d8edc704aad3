import AgentCore
import ArgumentParser
import ControlProtocol
import JSON
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Terminal

struct Plan: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan",
    abstract: "Show the steps that the agent would take.",
    discussion: """
      Lists the steps in order, each with the command that undoes it. Changes nothing. The plan assumes that every tunnel has reached \
      the state that its rules and manual overrides want.

      Manual overrides and a suspended kill switch are included. They come from the running agent; without one, from the agent's state \
      folder. What the providers of tunnels are asked for follows the steps, and after `then:` the steps that come once they have made \
      their links; changes made by their programs are not included.

      Example: `roamward plan --up corp`
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
    var lines = plan.steps.isEmpty && actions.isEmpty && !isPartial ? ["nothing to do: the system is in the desired state"] : []
    let width = min(100, columns(ofWidest: plan.steps.map(\.description)))
    lines += plan.steps.map { step in step.undo.map { "\(pad(step.description, width))  # undo: \($0)" } ?? step.description }
    lines += actions.map(\.description) + later.map { "then: \($0)" }
    lines += claims.map { "route: \($0)" } + others.all.map { "other: \($0)" }
    if let resolver { lines.append("note: DNS backend: \(resolver.backend) (\(resolver.reason))") }
    lines += notes.map { "note: \($0)" }
    return lines.map { $0 + "\n" }.joined()
  }
}
