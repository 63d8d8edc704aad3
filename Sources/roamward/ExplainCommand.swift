import AgentCore
import AgentDaemon
import ArgumentParser
import ControlProtocol
import LinuxPlatform
import RoamwardCore

struct Explain: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Why a tunnel is as it is: every rule, every key, what was found, and where it is written.",
    discussion: "Judges this machine's network as it is now, or another one, as `evaluate` does. Needs neither root nor the agent.")

  @Argument(help: "The tunnel's name.") var tunnel: String
  @OptionGroup var policies: PolicyOptions
  @OptionGroup var facts: FactOptions
  @Flag(help: "Print JSON.") var json = false

  func run() throws {
    let set = try policies.load()
    let policy = try set.described(tunnel)
    let snapshot = try facts.snapshot()
    let evaluator = Evaluator(networks: set.networks)
    guard let decision = evaluator.decide(set, on: snapshot).first(where: { $0.tunnel == tunnel }) else { return }
    let trace = evaluator.trace(policy, on: snapshot)
    if json {
      var whole = decision
      whole.trace = trace
      let members: JSON = [
        "version": 1, "decision": whole.json, "network": snapshot.json,
        "routes": .array(try claims(on: policy, of: set, snapshot).map(\.json)),
      ]
      write(members.text(indented: true) + "\n")
    } else {
      write(explanation(of: policy, decision: decision, trace: trace))
      let claims = try claims(on: policy, of: set, snapshot)
      if !claims.isEmpty {
        write(claims.reduce("\nRoutes and rules of this machine that lie in what it includes, while it is up:\n") { "\($0)  \($1)\n" })
      }
    }
  }

  /// Of this machine; another network has no routes that could be known.
  private func claims(on policy: TunnelPolicy, of set: PolicySet, _ snapshot: NetworkSnapshot) throws -> [RouteClaim] {
    guard facts.network == nil, facts.live || facts.set.isEmpty else { return [] }
    let machine = try facts.sources.machine()
    do throws(PlatformError) {
      return try facts.preview(of: set, on: snapshot, up: policy.name, machine: machine).claims.filter { $0.tunnel == policy.name }
    } catch {
      writeError("roamward: its routes cannot be told: \(error)\n")
      return []
    }
  }
}
