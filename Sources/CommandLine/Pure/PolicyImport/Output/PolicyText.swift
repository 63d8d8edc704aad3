import NetworkTypes
import PolicySource
import RoamwardCore

extension ImportedTunnel {
  /// The policy file: remarks and the source text of its rules as comments, then the policy.
  func policyText(source: String) -> String {
    // Whole: a truncated comment would no longer be the rule.
    var comments = ["Imported from \(source) by `roamward import`."]
    comments += obstacles.map { "Off: \($0)" }
    if let ruleObstacle { comments.append("The rules are off: \(ruleObstacle)") }
    comments += remarks
    for (index, rule) in rules.enumerated() {
      if let original = rule.original { comments.append("Rule \(index + 1) was \(original)") }
    }
    return comments.map { "# \(singleLine($0))\n" }.joined() + PolicyPrinter.yaml(tunnels: [printable])
  }

  private var printable: PrintableTunnel {
    let idle = idle.map { Duration.seconds($0) }
    let isOnDemand = ruleObstacle == nil && onDemand != false
    var tunnel = PrintableTunnel(
      name: name, about: about.map(shown).flatMap { trimmed($0).isEmpty ? nil : trimmed($0) }, isEnabled: obstacles.isEmpty,
      provider: printableProvider, onDemand: OnDemand(isEnabled: isOnDemand, rules: rules.map(\.rule), timing: Timing(idle: idle)),
      routes: routes.flatMap { $0 == RoutePolicy() ? nil : $0 }, dns: dns, mtu: mtu.map { .fixed($0) }, proxy: proxy,
      killSwitch: killSwitch, includesAllNetworks: switches.includesAllNetworks, disconnectsOnSleep: switches.disconnectsOnSleep)
    if case .apps(let apps) = audience { tunnel.apps = AppsPolicy(include: apps) }
    return tunnel
  }

  private var printableProvider: PrintableTunnel.Provider {
    switch provider {
    case .wireGuard(let file): .wireGuard(config: file)
    case .command(let up, let down, let status, let interface):
      .command(CommandProviderConfiguration(up: up, down: down, status: status, interface: interface))
    case .installed(let configuration, _): .installed(configuration)
    case .profile(let name): .service(ServiceProviderConfiguration(.profile(name)))
    case .missing: .command(CommandProviderConfiguration(up: ["/bin/false"], down: ["/bin/true"]))
    }
  }
}
