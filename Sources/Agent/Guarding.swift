package import ControlProtocol
internal import NetworkTypes
internal import RoamwardCore

extension Reconciler {
  /// What the policies and people want held back (docs/security.md).
  var guardedSetups: [TunnelSetup] {
    let evaluator = Evaluator(networks: policies.networks)
    return orderedSupervisors.map { supervisor in
      var setup = supervisor.setup
      setup.isGuarding = guarding.isGuarding(supervisor.policy)
      setup.isOnLANNetwork = evaluator.isOn(
        anyOf: supervisor.policy.routes?.lanNetworks ?? [], observation?.snapshot ?? NetworkSnapshot())
      return setup
    }
  }

  /// Whether the firewall is anybody's affair here: then it is looked at.
  var firewallNeed: FirewallNeed {
    let isTheirs = observation.map { $0.state.firewall != .absent } ?? true
    return isTheirs || policies.tunnels.contains { $0.guarding != .off || $0.takesEverything || $0.routes?.isEnforced == true }
      ? .whole : .nothing
  }

  var firewallStatus: FirewallStatus {
    if let release = guarding.release {
      return FirewallStatus(
        situation: release.isPortal ? .portal : .released, guards: guards.map(\.policy.name), blocking: release.isPortal ? blocking : [],
        until: release.lifetime.end, reason: release.reason)
    }
    return FirewallStatus(situation: guards.isEmpty ? .open : .guarded, guards: guards.map(\.policy.name), blocking: blocking)
  }

  private var guards: [TunnelSupervisor] { orderedSupervisors.filter { guarding.isGuarding($0.policy) } }

  private var blocking: [String] { guards.filter { $0.machine.level != .full }.map(\.policy.name) }

  /// Tells, once, of a situation that is another one.
  func tellOfFirewall() {
    let status = firewallStatus
    guard status != toldFirewall else { return }
    toldFirewall = status
    tell(.firewall(status))
  }

  /// Opens the firewall, wholly or for a portal, for a while.
  package func release(_ request: ReleaseRequest) {
    let now = world.wallClock()
    let network = NetworkIdentity(of: observation?.snapshot ?? NetworkSnapshot())
    var lifetime: Hold.Lifetime =
      switch request.until {
      case .networkChange: .network(network)
      case .resume: .resume
      case .seconds(let seconds): .time(now + seconds)
      }
    if request.isPortal { lifetime = .time(min(lifetime.end ?? .max, now + FirewallRelease.longestPortal)) }
    guarding.open(FirewallRelease(since: now, lifetime: lifetime, isPortal: request.isPortal, reason: request.reason))
    pass()
  }
}

extension TunnelPolicy {
  fileprivate var takesEverything: Bool {
    if includesAllNetworks || (routes?.include ?? []).contains(where: { $0.length == 0 }) { return true }
    guard routes?.include.isEmpty ?? true, case .wireGuard(let provider) = provider else { return false }
    return provider.configuration.peers.contains { $0.allowedIPs.contains { $0.length == 0 } }
  }
}
