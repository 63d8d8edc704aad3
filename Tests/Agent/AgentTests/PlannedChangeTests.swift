import AgentCore
import ControlProtocol
import JSON
import KernelModel
import NetworkTypes
import ProviderProtocol
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// Random changes of random policies: the plan and its JSON name before each start, each stop and each step that the agent makes after,
/// and the drift is gone then.
@Suite struct PlannedChangeTests {
  @Test("the plan before is what runs after", arguments: 0..<24) func sameAsAgent(seed: UInt64) throws {
    var random = RandomPolicies(seed: seed)
    let life = WatchedAgent(on: PlanPreviewTests.networks[1])
    for name in RandomPolicies.names { life.machine.providers.settings[name] = Change.brought }
    life.machine.policies = random.next()
    life.start(for: .seconds(60))
    for _ in 0..<12 {
      let change = try Change(of: life, to: random.next())
      #expect(change.planned.sorted() == change.done.sorted(), "\(change)")
      #expect(change.steps == change.made, "\(change)")
      #expect(change.report.asked == change.before.asked, "\(change)")
      #expect(change.report.written == change.before.written, "\(change)")
      let left = try life.preview.discrepancies
      #expect(left.isEmpty, "\(left) \(change)")
    }
  }
}

extension PlanReport {
  /// The starts and stops of a plan's JSON.
  fileprivate var asked: [String] { actions.map { "\($0.tunnel) \($0.isStart) \($0.what)" } }
  /// The steps of a plan's JSON, each with how it is undone.
  fileprivate var written: [String] { (steps + later).map { "\($0.what) # \($0.undo ?? $0.undoText ?? "")" } }
}

extension PlanPreview {
  fileprivate var asked: [String] { actions.map { "\($0.tunnel) \($0.isStart) \($0.text)" } }
  fileprivate var written: [String] { (plan.steps + later).map { "\($0) # \($0.undo.map(\.description) ?? "")" } }
}

/// One change of policies, with what the plan said before and what was done after.
private struct Change: CustomStringConvertible {
  /// The settings that simulated providers bring.
  static let brought = TunnelSettings(addresses: ["198.18.0.2/32", "2001:db8:ffff::2/128"].map(Sample.own))
  let old: PolicySet
  let new: PolicySet
  let before: PlanPreview
  /// The report of the plan, as the tool prints it for programs.
  let report: PlanReport
  /// The requests that providers got.
  let done: [String]
  /// The steps that were applied.
  let made: Set<String>

  init(of life: WatchedAgent, to policies: PolicySet) throws {
    let machine = life.machine
    old = machine.policies
    new = policies
    machine.policies = policies
    before = try life.preview
    report = try JSON(parsing: JSON(encoding: PlanReport(before)).text().utf8).decoded()
    let counts = (machine.programs.calls.count, machine.programs.services.orders.count, machine.providers.orders.count)
    let applied = machine.log.applied.count
    life.agent.policiesChanged()
    machine.run(for: .seconds(100))
    let runs = machine.programs.calls.dropFirst(counts.0).compactMap { call -> String? in
      switch call.action {
      case .up: "\(call.tunnel) start: \(call.command.up)"
      case .down: "\(call.tunnel) stop: \(call.command.down)"
      case .status: nil
      }
    }
    done = runs + machine.programs.services.orders.dropFirst(counts.1) + machine.providers.orders.dropFirst(counts.2)
    made = Self.lasting(Array(machine.log.applied.dropFirst(applied)))
  }

  var planned: [String] {
    before.actions.compactMap { action -> String? in
      let name = action.tunnel
      switch (action.isStart ? new : old).tunnel(named: name)?.provider {
      case .command(let command): return action.isStart ? "\(name) start: \(command.up)" : "\(name) stop: \(command.down)"
      case .service(let service): return "\(action.isStart ? "start" : "stop") \(service.service.name)"
      case .installed(let provider):
        return action.isStart ? "\(name) start: \(provider.program.path) as \(provider.program.user)" : "\(name) stop"
      default: return "\(name): nothing of its provider was to be asked"
      }
    }
  }

  var steps: Set<String> { Self.lasting(before.plan.steps + before.later) }

  /// The steps, without firewalls that another one replaces, and keepalives of a start.
  private static func lasting(_ steps: [Step]) -> Set<String> {
    let isFirewall = { (step: Step) in
      switch step {
      case .replaceFirewall, .removeFirewall: true
      default: false
      }
    }
    let last = steps.last(where: isFirewall)
    return Set(
      steps.compactMap { step in
        if isFirewall(step) { return step == last ? rules(step) : nil }
        if case .addAddress(let address, _) = step, brought.addresses.contains(address) { return nil }
        let text = step.description
        return text.contains("persistent-keepalive 5") ? nil : text
      })
  }

  /// The rules of a firewall table, without the addresses that providers bring. Tunnels for the same prefix have one rule.
  private static func rules(_ step: Step) -> String {
    guard case .replaceFirewall(let table) = step else { return step.description }
    var rules = Set<String>()
    for part in "\(table)".split(separator: "; ") {
      let isInside = part.hasSuffix(inside)
      let words = isInside ? part.dropLast(inside.count) : part[..<(part.firstRange(of: " flows")?.lowerBound ?? part.endIndex)]
      for word in words.split(whereSeparator: { $0 == " " || $0 == "," })
      where !brought.addresses.contains(where: { "\($0.address)" == word }) {
        rules.insert("\(word)\(isInside ? inside : "")")
      }
    }
    return "nft \(rules.sorted())"
  }

  private static let inside = " only from inside the tunnel"

  var description: String {
    func text(_ policies: PolicySet) -> [String] {
      policies.tunnels.map {
        "\($0.name) \($0.provider.title) \($0.linkName ?? "-") \($0.onDemand.rules.map(\.action.rawValue)) \($0.isEnabled)"
      }
    }
    return "\(text(old)) -> \(text(new))"
  }
}

/// Random policies of all kinds of providers. The same seed gives the same.
private struct RandomPolicies {
  static let names = ["a", "b", "c", "d"]
  private var random: SplitMix64

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  mutating func next() -> PolicySet {
    let names = Self.names.filter { _ in random.pick([true, true, false]) }
    let tunnels = names.map { tunnel($0) }
    // One tunnel has Tailscale, as `check` says.
    let last = tunnels.last { $0.provider.name == "tailscale" }?.name
    return PolicySet(tunnels: tunnels.filter { $0.provider.name != "tailscale" || $0.name == last })
  }

  private mutating func tunnel(_ name: String) -> TunnelPolicy {
    var tunnel = Sample.tunnel(
      name, rules: [Sample.rule(.always, random.pick([.connect, .connect, .connect, .disconnect]))],
      precedence: random.pick([.personal, .personal, .enterprise]), isEnabled: random.pick([true, true, true, false]))
    tunnel.provider = provider(name)
    tunnel.routes = RoutePolicy(
      include: PrefixList(random.pick([["192.168.99.0/24"], ["192.168.98.0/24", "2001:db8:98::/48"]]).map(Sample.prefix)))
    let killSwitch = random.pick([KillSwitch.off, .off, .on, .always])
    if tunnel.mayBlock { tunnel.killSwitch = killSwitch }
    return tunnel
  }

  private mutating func provider(_ name: String) -> ProviderConfiguration {
    let kind = random.pick(["command", "unit", "installed", "networkmanager", "tailscale", "wireguard"])
    switch kind {
    case "command":
      let program = random.pick(["vpn", "other"])
      return .command(
        CommandProviderConfiguration(
          up: [program, "up"], down: [program, random.pick(["down", "stop"])], status: random.pick([[], [program, "status"]]),
          interface: random.pick([nil, "\(name)0", "\(name)1"])))
    case "unit":
      return .service(
        .init(.unit(random.pick(["\(name)1.service", "\(name)2.service", "\(name).target"])), interface: random.pick([nil, "\(name)0"])))
    case "networkmanager": return .service(.init(.profile(random.pick(["\(name)1", "\(name)2"]))))
    case "tailscale":
      return .service(.init(.tailscale(exitNode: random.pick([nil, "192.0.2.77", "192.0.2.78"].map { $0.map(Sample.address) }))))
    case "installed":
      let path = random.pick(["/usr/libexec/one", "/usr/libexec/two"])
      return .installed(
        InstalledProviderConfiguration(
          program: ProviderProgram(name: path, path: path, user: random.pick(["one", "two"]), needs: [.device, .udp]),
          options: random.pick([[:], ["mode": "fast"]]),
          credentials: random.pick([[], [ProviderCredential(name: "password", path: "/etc/secret")]]),
          allowance: random.pick([.everything, SettingsAllowance(routes: [.everything(.v4), .everything(.v6)], domains: [])])))
    default:
      return .wireGuard(
        WireGuardProviderConfiguration(
          path: random.pick(["/etc/a.conf", "/etc/b.conf"]),
          configuration: Sample.wireGuard(
            allowed: random.pick([["10.0.0.0/8"], ["10.5.0.0/16"]]),
            addresses: random.pick([["10.77.0.2/32"], ["10.77.0.3/32", "2001:db8::3/128"]]))))
    }
  }
}

extension TunnelPolicy {
  /// Whether a policy file may give it a kill switch.
  fileprivate var mayBlock: Bool {
    switch provider {
    case .wireGuard, .installed: true
    case .command(let command): command.interface != nil
    case .service(let service): service.hasGroup && service.interface != nil
    }
  }
}
