import AgentCore
import ArgumentParser
import ControlProtocol
import History
import JSON
import LinuxPlatform
import RoamwardCore
import Terminal

struct Explain: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Explain a tunnel's decision, or a packet's way.",
    discussion: """
      Shows every rule and every key, the fact that was found for it, and its file and line. Uses this machine's current network, or \
      another one as `evaluate` does. Needs neither root nor the agent.

      With --to, it follows a packet: this machine's rules, routes and kill switch, the tunnel, and the other end of the tunnel, if the \
      tunnel's provider can ask there. A name is looked up as programs do, and its first address followed. The first step that stops it is named. Firewall rules of other programs are not read. Exit \
      status: 0 it passes; 1 it is stopped, or a step is not known.

      With --app too, it is a packet of a program that `apps` of a policy names: transmission.service, /usr/bin/firefox.

      Example: `roamward explain corp --set interface=wifi --set ssid=Cafe`
      """)

  @Argument(help: "Name of the tunnel or group.", completion: .tunnels) var tunnel: String?
  @Option(help: ArgumentHelp("Follow a packet to this destination.", valueName: "address-or-name[:port][/protocol]")) var to: String?
  @Option(help: ArgumentHelp("With --to: as a packet of this program, unit or group.", valueName: "program")) var app: String?
  @OptionGroup var policies: PolicyOptions
  @OptionGroup var facts: FactOptions
  @Flag(help: "Print JSON.") var json = false
  @Option(help: ArgumentHelp("Write a page for a browser instead.", valueName: "file"), completion: .file()) var html: String?

  func validate() throws {
    if (tunnel == nil) == (to == nil) { throw ValidationError("name a tunnel, or a packet's destination with --to") }
    if app != nil, to == nil { throw ValidationError("--app is for a packet: add --to with its destination") }
    if let to, PacketDestination(to) == nil, PacketDestination.named(to) == nil {
      throw ValidationError(
        "--to takes an address or a name, with a port or without: 10.20.1.2, 10.20.1.2:443, [2001:db8::7]:53/udp, git.corp.example:443")
    }
  }

  func run() throws {
    if let destination = to.flatMap({ PacketDestination($0) }) { return try explain(PacketExplanation(destination)) }
    if let named = to.flatMap({ PacketDestination.named($0) }) { return try explain(named.name, at: named.at) }
    guard let tunnel else { return }
    let set = try policies.load()
    let members = try set.meant(tunnel)
    let snapshot = try facts.snapshot()
    let evaluator = Evaluator(networks: set.networks)
    let decisions = evaluator.decide(set, on: snapshot, under: facts.overrides(on: snapshot), turns: facts.turns(of: set))
    let own = members.compactMap { member in decisions.first { $0.tunnel == member.name } }
    // All members of a group have its rules: they are explained for the one in use.
    guard let decision = own.first(where: { $0.inert?.code != .standby }) ?? own.first, let policy = set.tunnel(named: decision.tunnel)
    else { return }
    let trace = evaluator.trace(policy, on: snapshot)
    if let html {
      try writePage(explanationPage(of: policy, decision, trace, on: snapshot), to: html)
    } else if json {
      var whole = decision
      whole.trace = trace
      let provider = policy.provider
      let report = ExplanationReport(
        decision: DecisionReport(whole), provider: .init(name: provider.title, providerClass: provider.providerClass.rawValue),
        network: snapshot.json, routes: try claims(on: policy, of: set, snapshot).map { RouteReport($0) })
      write(JSON(encoding: report).text(indented: true) + "\n")
    } else {
      if let group = set.group(of: policy.name) { write(explanation(of: group, decisions)) }
      write(explanation(of: policy, decision: decision, trace: trace))
      let claims = try claims(on: policy, of: set, snapshot)
      if !claims.isEmpty {
        write(claims.reduce("\nRoutes and rules of this machine inside the tunnel's prefixes, while it is up:\n") { "\($0)  \($1)\n" })
      }
    }
  }

  /// The routes of this machine; those of another network cannot be known.
  private func claims(on policy: TunnelPolicy, of set: PolicySet, _ snapshot: NetworkSnapshot) throws -> [RouteClaim] {
    guard facts.isOfThisMachine else { return [] }
    let machine = try facts.sources.machine()
    do throws(PlatformError) {
      return try facts.preview(of: set, on: snapshot, up: policy.name, machine: machine).claims.filter { $0.tunnel == policy.name }
    } catch {
      writeError("roamward: cannot determine the tunnel's routes: \(error)\n")
      return []
    }
  }
}
