import ArgumentParser
import ControlProtocol
import JSON
import NetworkTypes
import RoamwardCore
import Terminal

struct Evaluate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "evaluate",
    abstract: "Evaluate the rules without changing anything.",
    discussion: """
      Uses the agent's own rule evaluation. Needs neither root nor the agent.

      With --exit-code and one tunnel, the exit status is the decision: 10 connect, 11 disconnect, 12 ignore, 13 evaluate-connection, 14 \
      pending; 15 if the decision has no effect: the tunnel is disabled or held by hand, on-demand is off, another enterprise \
      tunnel takes precedence, or the tunnel that it goes through cannot be up.

      Example: `roamward evaluate --set interface=wifi --set ssid=Cafe --explain`
      """)

  @OptionGroup var policies: PolicyOptions
  @OptionGroup var facts: FactOptions
  @Option(help: ArgumentHelp("Evaluate only this tunnel or group.", valueName: "name"), completion: .tunnels) var tunnel: String?
  @Option(help: ArgumentHelp("Evaluate a lookup of this name (evaluate-connection).", valueName: "name")) var host: String?
  @Flag(help: "Show every rule that was evaluated, with its result.") var explain = false
  @Flag(help: "Print JSON.") var json = false
  @Flag(help: "Report one tunnel's decision as the exit status.") var exitCode = false

  func run() throws {
    let set = try policies.load()
    let snapshot = try facts.snapshot()
    let evaluator = Evaluator(networks: set.networks)
    let chosen = try tunnel.map { try set.meant($0) } ?? set.tunnels
    if exitCode, chosen.count != 1, tunnel.flatMap({ set.group(named: $0) }) == nil {
      throw ValidationError("--exit-code needs exactly one tunnel; choose it with --tunnel")
    }
    let all = evaluator.decide(set, on: snapshot, under: facts.overrides(on: snapshot), turns: facts.turns(of: set))
    let decisions = all.filter { decision in chosen.contains { $0.name == decision.tunnel } }
    let hosts = try host.map { text in
      guard let name = DomainName(text) else { throw ValidationError("--host takes a domain name, not \"\(text)\"") }
      return chosen.map { evaluator.decide(host: name, $0, on: snapshot) }
    }
    if json {
      let report = EvaluationReport(
        decisions: decisions.map { DecisionReport($0) }, hosts: (hosts ?? []).map { HostReport($0) }, network: snapshot.json)
      write(JSON(encoding: report).text(indented: true) + "\n")
    } else {
      write(report(decisions, explained: explain))
      for host in hosts ?? [] { write("\(pad(host.tunnel, 8))  \(host.text)\n") }
    }
    // A group's decision is that of the member in use.
    if exitCode, let decision = decisions.first(where: { $0.inert?.code != .standby }) ?? decisions.first { throw decision.exitCode }
  }
}

extension Decision {
  fileprivate var exitCode: ExitCode {
    switch inert {
    case nil, .notArmed: break
    case .disabled, .ownerAway, .onDemandOff, .excluded, .reserved, .standby, .overridden, .blocked: return ExitCode(15)
    }
    return switch outcome {
    case .connect: ExitCode(10)
    case .disconnect: ExitCode(11)
    case .ignore: ExitCode(12)
    case .evaluateConnection: ExitCode(13)
    case .pending: ExitCode(14)
    }
  }
}
