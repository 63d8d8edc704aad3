import AgentCore
import ArgumentParser
import LinuxPlatform
import RoamwardCore
import Terminal

/// The inputs of a plan for this machine.
struct PreviewOptions: ParsableArguments {
  @OptionGroup var policies: PolicyOptions
  @OptionGroup var facts: FactOptions
  @Option(help: ArgumentHelp("Plan with a manual override (up) of this tunnel or group.", valueName: "tunnel"), completion: .tunnels)
  var up: String?

  /// The plan, and the network on which it is based. An error is printed and ends the program.
  func preview() throws -> (PlanPreview, on: NetworkSnapshot) {
    // The plan names them.
    let set = try policies.load(unread: .left)
    if let up { _ = try set.meant(up) }
    let snapshot = try facts.snapshot()
    let machine = try facts.sources.machine()
    do throws(PlatformError) {
      return (try facts.preview(of: set, on: snapshot, up: up, machine: machine), snapshot)
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
  }
}

extension FactOptions {
  /// The manual overrides that hold on this machine's network; none for another network.
  func overrides(on snapshot: NetworkSnapshot) -> [String: ManualOverride] {
    isOfThisMachine ? agent.overrides(on: snapshot, sources) : [:]
  }

  /// The members of groups that are in use on this machine's network; empty for another network.
  func turns(of policies: PolicySet) -> [String: GroupTurn] { isOfThisMachine ? agent.turns(of: policies) : [:] }

  /// The plan under the current overrides and suspension.
  func preview(
    of policies: PolicySet, on snapshot: NetworkSnapshot, up: String? = nil, machine: LinuxMachine
  ) throws(PlatformError) -> PlanPreview {
    try PlanPreview(of: policies, on: snapshot, up: up, machine: machine, inputs: agent.planInputs(on: snapshot, sources))
  }
}
