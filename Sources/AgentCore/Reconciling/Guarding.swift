package import ControlProtocol
internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

extension Reconciler {
  /// What the agent knows of its tunnels, as the one builder takes it.
  var desiredTunnels: DesiredTunnels {
    DesiredTunnels(
      policies, decisions: deliberation.decisions, overrides: deliberation.holds, killSwitch: guarding,
      standings: orderedSupervisors.map(\.standing), takenSlots: others.takenSlots, on: lastSnapshot, isStopping: isStopping)
  }

  /// What is wanted of each tunnel now.
  var guardedSetups: [TunnelSetup] { desiredTunnels.setups }

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
        until: release.lifetime.end, programs: release.programs?.name, reason: release.reason,
        lifetime: release.lifetime.kind)
    }
    return FirewallStatus(situation: guards.isEmpty ? .open : .guarded, guards: guards.map(\.policy.name), blocking: blocking)
  }

  private var guards: [TunnelSupervisor] { orderedSupervisors.filter { guarding.isGuarding($0.policy) } }

  /// Without a network nothing flows anyway: what may be wanted on the next one is not told of there.
  private var blocking: [String] {
    guards.filter { $0.machine.level != .full && !(network.isNone && guarding.isUndecided($0.policy)) }.map(\.policy.name)
  }

  /// Tells, once, of a situation that is another one.
  func tellOfFirewall() {
    let status = firewallStatus
    recordBlocking(status)
    guard status != toldFirewall else { return }
    toldFirewall = status
    tell(.firewall(status))
  }

  /// Before the first policy set is in force, what an earlier agent blocks stays blocked, and its record stays true.
  private func recordBlocking(_ status: FirewallStatus) {
    if inForce.generation == 0, case .table(_, _, isGuarding: true) = observation?.state.firewall { return }
    let blocked = status.isBlocking ? status : nil
    guard recordedBlocking != .some(blocked) else { return }
    recordedBlocking = .some(blocked)
    world.recordBlocking(blocked)
  }

  /// Who the web and DNS are open to.
  var portalWindow: PortalWindow? { guarding.portalWindow(world.controlGroup) }

  /// How often a window is looked at: whether its programs have ended, or its tunnels are up, so that nobody needs it any more.
  private static let portalPace = Duration.seconds(5)

  var portalLookAt: Moment? { guarding.portal.map { _ in world.now() + Self.portalPace } }

  func closeNeedlessPortal() {
    guard let portal = guarding.portal else { return }
    let haveEnded = portal.programs.map { world.controlGroup($0.name) == nil } ?? false
    if haveEnded || !guards.isEmpty && blocking.isEmpty { _ = guarding.close() }
  }

  /// Opens the firewall, wholly or for a portal, for a while.
  package func release(_ request: ReleaseRequest) throws(RequestError) {
    var programs: ControlGroup?
    if let name = request.programs {
      guard let group = world.controlGroup(name) else {
        throw RequestError(code: .failed, message: "no program runs in a control group (version 2) named \(name)")
      }
      programs = group
    }
    let now = world.wallClock()
    let network = NetworkIdentity(of: observation?.snapshot ?? NetworkSnapshot())
    var lifetime: Hold.Lifetime =
      switch request.until {
      case .networkChange: .network(network)
      case .resume: .resume
      case .seconds(let seconds): .time(now + seconds)
      }
    if request.isPortal { lifetime = .time(min(lifetime.end ?? .max, now + FirewallRelease.longestPortal)) }
    guarding.open(FirewallRelease(since: now, lifetime: lifetime, isPortal: request.isPortal, programs: programs, reason: request.reason))
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
