internal import JSON
internal import KernelModel
internal import NetworkTypes

/// A tunnel that a plan starts or stops, and what its provider is asked for.
package struct ProviderAction: Hashable, Sendable, CustomStringConvertible {
  package var tunnel: String
  package var isStart: Bool
  package var text: String

  package var description: String { "\(isStart ? "start" : "stop"): \(tunnel): \(text)" }
}

/// The provider of a tunnel that is not down, as it was started.
package struct RunningProvider: Hashable, Sendable {
  /// The definition that it runs (``TunnelPolicy/definition``).
  package var definition: String
  /// The action that ends it, for people; `nil`: its end consists of steps alone.
  package var stop: String?

  package init(definition: String, stop: String?) {
    self.definition = definition
    self.stop = stop
  }
}

extension TunnelPolicy {
  /// Tells one definition of the provider from another: a tunnel whose definition changes ends, and starts again. It holds no secret.
  package var definition: String {
    let text = provider.definition + " through " + (through?.name ?? "")
    return String(text.utf8.reduce(14_695_981_039_346_656_037 as UInt64) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }, radix: 16)
  }

  /// Its provider as it runs.
  package var asRunning: RunningProvider { RunningProvider(definition: definition, stop: provider.action(starts: false)) }
}

extension ProviderConfiguration {
  fileprivate var definition: String {
    switch self {
    case .wireGuard(let provider): "\(name) \(provider.configuration?.definition ?? "")"
    case .command(let command): "\(name) \(command.up) \(command.down) \(command.status) \(command.interface ?? "") \(command.timeout)"
    case .installed(let provider):
      [
        name, "\(provider.program.name) \(provider.program.path) \(provider.program.user) \(provider.program.isInsecure)",
        "\(provider.program.needs.map(\.rawValue).sorted()) \(provider.program.capability?.rawValue ?? "")", provider.options.text(),
        "\(provider.credentials.map { [$0.name, $0.path] })", "\(provider.allowance.routes.map(\.description))",
        "\(provider.allowance.domains.map(\.description))",
      ].joined(separator: " ")
    case .service(let service):
      switch service.service {
      case .unit(let unit): "\(name) \(unit) \(service.interface ?? "")"
      case .profile(let profile): "\(name) \(profile) \(service.interface ?? "")"
      case .tailscale(let exitNode): "\(name) \(exitNode?.description ?? "") \(service.interface ?? "")"
      }
    }
  }
}

extension WireGuardQuickConfiguration {
  /// All but the private key and preshared keys.
  fileprivate var definition: String {
    let peers = peers.map { peer in
      "\(peer.publicKey) \(peer.endpoint?.description ?? "") \(peer.allowedIPs.map(\.description)) "
        + "\(peer.persistentKeepalive) \(peer.presharedKey != nil)"
    }
    return "\(publicKey) \(listenPort ?? 0) \(addresses.map(\.description)) \(dnsServers.map(\.description)) "
      + "\(searchDomains.map(\.description)) \(mtu ?? 0) \(routesFromAllowedIPs) \(peers)"
  }
}

extension DesiredTunnels {
  /// The providers that run: as the agent tells, or those of tunnels that seem to be up.
  private var runningProviders: [String: RunningProvider] {
    if let running { return running }
    let up = currentTunnels.filter { $0.isWanted || $0.isRunning }.map(\.setup.policy)
    return Dictionary(up.map { ($0.name, $0.asRunning) }) { first, _ in first }
  }

  /// The actions of providers until all is at rest: first the ends, then the starts, each in the order of the policies. A tunnel with
  /// another definition ends and starts again.
  package var providerActions: [ProviderAction] {
    let now = runningProviders
    // An armed WireGuard tunnel is in the steps; others are not armed.
    let wanted = atRest.currentTunnels.filter { $0.setup.level > .armed }.map(\.setup.policy)
    let definitions = Dictionary(wanted.map { ($0.name, $0.definition) }) { first, _ in first }
    let order = policies.tunnels.map(\.name).filter { now[$0] != nil } + now.keys.filter { policies.tunnel(named: $0) == nil }.sorted()
    let stops = order.compactMap { name -> ProviderAction? in
      guard let old = now[name], old.definition != definitions[name], let text = old.stop else { return nil }
      return ProviderAction(tunnel: name, isStart: false, text: text)
    }
    let starts = wanted.compactMap { policy -> ProviderAction? in
      guard now[policy.name]?.definition != policy.definition, let text = policy.provider.action(starts: true) else { return nil }
      return ProviderAction(tunnel: policy.name, isStart: true, text: text)
    }
    return stops + starts
  }

  /// The tunnels that end and start again, because the provider that runs is of another definition.
  package var replacedTunnels: Set<String> {
    let now = runningProviders
    return Set(
      policies.tunnels.filter { policy in
        // Of a file that may not be read, nothing is known.
        guard let old = now[policy.name], !policy.provider.isUnread else { return false }
        return old.definition != policy.definition
      }.map(\.name))
  }
}
