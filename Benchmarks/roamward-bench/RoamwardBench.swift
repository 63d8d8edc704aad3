import ArgumentParser

/// The parts of `make bench` that have to be a program of their own; `Benchmarks/run` puts them together.
@main
struct RoamwardBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "roamward-bench",
    abstract: "Measures the agent's parts beside what people use otherwise.",
    discussion: """
      Each measurement prints a line of the table: what, ours, the peer's, the ratio, the bar, a remark; separated by tabs. Nothing here
      fails for being slow.
      """,
    subcommands: [
      RoutesCommand.self, EvaluationCommand.self, ReachCommand.self, CompareCommand.self, DecisionCommand.self, DomainsCommand.self,
      FirewallCommand.self, ReloadCommand.self, GapCommand.self, FloodCommand.self, SocketsCommand.self, HistoryBench.self,
    ])
}
