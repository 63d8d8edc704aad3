package import ControlProtocol
package import JSON
import KernelModel
package import NetworkTypes
import PolicySource
import ProviderProtocol
package import RoamwardCore

/// Requests of operators.
extension Agent {
  /// Sets a manual override: brings a tunnel, or one of a group, up or down, whatever the rules decide. `start`: options for its
  /// provider; `isOwner`: the caller may set each of them.
  package func override(
    _ name: String, _ request: OverrideRequest, start: StartOptions? = nil, isOwner: Bool = true
  ) throws(RequestError) {
    let policies = try state.policies.startable(name, wantsUp: request.wantsUp, hasOptions: !(start?.isEmpty ?? true))
    guard let policy = policies.first(where: \.isEnabled) ?? policies.first else { return }
    let tunnel = policy.name
    let options = try ManualStart(
      policy: policy, request: start, isOwner: isOwner, before: state.decisions.overrides[tunnel]?.options,
      isRunning: state.tunnels[tunnel]?.installed?.session?.isRunning ?? false
    ).options(wantsUp: request.wantsUp)
    reconciler.observe(for: request.until == .networkChange ? [.gatewayMAC] : [])
    let cure = "`--even-ssh` does it all the same, and with `--for 5m` it ends by itself"
    try refuseToCut(request.sessions, under: preview(of: state.set, holding: policies.map(\.name), up: request.wantsUp), cure: cure)
    let now = platform.clock.wallClock()
    let lifetime: ManualOverride.Lifetime =
      switch request.until {
      case .networkChange: .network(state.seen.network)
      case .resume: .resume
      case .time(let duration): .time(now + duration)
      }
    let override = ManualOverride(wantsUp: request.wantsUp, since: now, lifetime: lifetime, reason: request.reason, options: options)
    let held = policies.map(\.name)
    let superseded = reconciler.change { state in
      state.policies.keepPassword(start?.password, of: tunnel)
      return held.flatMap { state.decisions.override($0, override, of: state.set) }
    }
    platform.recoveryLog.saveOverrides(state.decisions.overrides)
    for other in superseded { announcer.publish(.override(tunnel: other, nil, isSaid: false)) }
    for tunnel in held {
      announcer.publish(.override(tunnel: tunnel, request, isSaid: true))
      // A person who asks again has done what the last failure asked for.
      if request.wantsUp, let failed = state.tunnels[tunnel] {
        reconciler.beforePass { reconciler.drive(failed) { $0.handle(.retry, on: $1) } }
      }
    }
    reconciler.pass()
  }

  /// The owners of tunnels by the tunnels' names. They can be asked for while an event is published.
  package var owners: [String: UserName] { announcer.owners }

  /// The policies in force, with the options of starts by hand.
  package var policySet: PolicySet { state.set }

  /// The members of groups that are in use.
  package var turns: [String: GroupTurn] { state.decisions.groups.turns }

  /// Ends the manual override of one tunnel or group, or of all but these.
  package func resume(_ tunnel: String?, except others: Set<String> = []) throws(RequestError) {
    var named = tunnel.map { state.set.tunnels(meant: $0).map(\.name) }
    if named == nil, !others.isEmpty { named = state.decisions.overrides.keys.filter { !others.contains($0) }.sorted() }
    if let tunnel, named?.isEmpty == true { throw state.policies.noSuchTunnel(tunnel) }
    let ended = reconciler.change { state in
      if tunnel == nil { _ = state.killSwitch.machine.close() }
      return named?.flatMap { state.decisions.resume($0) } ?? state.decisions.resume(nil)
    }
    if !ended.isEmpty { platform.recoveryLog.saveOverrides(state.decisions.overrides) }
    for name in ended { announcer.publish(.override(tunnel: name, nil, isSaid: true)) }
    reconciler.pass()
  }

  /// Sends a message to a tunnel's provider. `content`: as in docs/provider-protocol.md, "message". A provider that does not run is started
  /// for it, and ended after the reply.
  package func message(_ tunnel: String, _ content: JSON, then done: @escaping (Reply) -> Void) {
    guard state.set.tunnel(named: tunnel) != nil else { return done(.refused(state.policies.noSuchTunnel(tunnel))) }
    guard let provider = state.tunnels[tunnel]?.installed else {
      return done(.refused(RequestError(code: .provider, message: "\(tunnel) has no installed provider, which could read messages")))
    }
    if let policy = state.set.tunnel(named: tunnel), !policy.isEnabled { return done(.refused(policy.refusal)) }
    let message: MessageContent
    do throws(MessageError) { message = try MessageContent(json: content) } catch {
      return done(.refused(RequestError(code: .badRequest, message: "the message: \(error)")))
    }
    provider.message(message) { reply in
      switch reply {
      case .success(let content): done(.done(["content": content?.json ?? .null]))
      case .failure(let refusal): done(.refused(RequestError(code: .provider, message: refusal.description)))
      }
    }
    schedule()
  }

  /// A person answers a question of a tunnel's provider, or declines (`nil`).
  package func answer(_ tunnel: String, _ question: Int?, with answer: String?) throws(RequestError) {
    guard state.set.tunnel(named: tunnel) != nil else { throw state.policies.noSuchTunnel(tunnel) }
    guard let provider = state.tunnels[tunnel]?.installed else {
      throw RequestError(code: .provider, message: "\(tunnel) has no installed provider, which could ask")
    }
    do throws(Refusal) { try provider.answer(question, with: answer) } catch {
      // An answer without a question asks to be asked again: the rules, which want the tunnel, stay in charge.
      if error.code == "no-question", question == nil, answer == nil, let waiting = state.tunnels[tunnel],
        waiting.machine.failure?.code == .actionNeeded
      {
        reconciler.beforePass { reconciler.drive(waiting) { $0.handle(.retry, on: $1) } }
        return reconciler.pass()
      }
      let failure = error.code == "no-question" ? state.tunnels[tunnel]?.machine.failure : nil
      throw RequestError(code: .provider, message: error.text + (failure.map { "; its last attempt failed: \($0)" } ?? ""))
    }
    reconciler.pass()
  }

  /// The network at the last pass.
  package var lastSnapshot: NetworkSnapshot { state.seen.snapshot }

  /// The same, with the sources of its facts.
  package var lastSnapshotWithSources: SnapshotWithSources {
    SnapshotWithSources(snapshot: lastSnapshot, provenance: state.seen.observation?.provenance ?? Provenance())
  }

  /// Files that the policies refer to.
  package var policyDependencies: [String] { state.policies.loaded.dependencies }

  /// Suspends the kill switch for a limited time, fully or for a portal. A full suspension ends the guards of killed programs for good.
  @discardableResult package func release(_ request: ReleaseRequest) throws(RequestError) -> ReleaseReply {
    try release(request, signIn: nil)
  }

  @discardableResult func release(_ request: ReleaseRequest, signIn: KillSwitchSuspension.SignIn?) throws(RequestError) -> ReleaseReply {
    var programs: ControlGroup?
    if let name = request.programs {
      guard let group = platform.machine.controlGroup(name) else {
        throw RequestError(code: .failed, message: "no program runs in a control group (version 2) named \(name)")
      }
      programs = group
    }
    if state.hasNothingToRelease {
      throw RequestError(code: .failed, message: "there is no kill switch to suspend: no policy has one, and no guard runs")
    }
    let ended = request.isPortal ? [] : openHeldGuards()
    if !ended.isEmpty, !state.hasKillSwitch {
      reconciler.pass()
      return ReleaseReply(endedGuards: ended, isSuspended: false)
    }
    let now = platform.clock.wallClock()
    var lifetime: ManualOverride.Lifetime =
      switch request.until {
      case .networkChange: .network(NetworkIdentity(of: state.seen.snapshot))
      case .resume: .resume
      case .time(let duration): .time(now + duration)
      }
    if request.isPortal { lifetime = .time(min(lifetime.end ?? .distantFuture, now + KillSwitchSuspension.longestPortal)) }
    let suspension = KillSwitchSuspension(
      since: now, lifetime: lifetime, isPortal: request.isPortal, programs: programs, signIn: signIn, reason: request.reason)
    reconciler.change { $0.killSwitch.machine.open(suspension) }
    reconciler.pass()
    return ReleaseReply(endedGuards: ended)
  }
}

extension AgentState {
  /// Whether nothing blocks traffic, and no policy or guard ever would.
  fileprivate var hasNothingToRelease: Bool {
    policies.isLoaded && !hasKillSwitch && seen.state?.firewall == .absent
  }

  /// Whether a policy has a kill switch, or there is a guard.
  var hasKillSwitch: Bool { !killSwitch.machine.programs.isEmpty || !set.tunnels.allSatisfy { $0.guarding == .off } }
}
