import Agent
import ArgumentParser
import RoamwardCore

/// What a plan for this machine is made from.
struct ForecastOptions: ParsableArguments {
  @OptionGroup var policies: PolicyOptions
  @OptionGroup var facts: FactOptions
  @Option(help: ArgumentHelp("As if this tunnel were wanted, whatever the rules say.", valueName: "tunnel")) var up: String?

  /// The plan, and the network that it was made on. What keeps from making it is told, and ends the program.
  func forecast() throws -> (Forecast, on: NetworkSnapshot) {
    let set = try policies.load()
    if let up { _ = try set.described(up) }
    let snapshot = try facts.snapshot()
    let machine = try facts.sources.machine()
    do throws(WorldError) {
      return (try Forecast(of: set, on: snapshot, up: up, machine: machine), snapshot)
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
  }
}
