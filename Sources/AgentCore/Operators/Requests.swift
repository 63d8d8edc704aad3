package import ControlProtocol
import NetworkTypes
import PolicySource
package import RoamwardCore

/// What a person asks of the agent.
extension Reconciler {
  /// Brings a tunnel up or down by hand, whatever the rules say.
  package func hold(_ tunnel: String, _ request: HoldRequest) throws(RequestError) {
    guard let policy = policies.tunnel(named: tunnel) else { throw noSuchTunnel(tunnel) }
    guard policy.isEnabled || !request.wantsUp else {
      throw RequestError(code: .disabled, message: "\(tunnel) is disabled by its policy (enabled: false, \(policy.location.short))")
    }
    observe(for: request.until == .networkChange ? [.gatewayMAC] : [])
    let cure = "`--even-ssh` does it all the same, and with `--for 5m` it ends by itself"
    try refuseToCut(request.sessions, under: prospect(of: policies, holding: tunnel, up: request.wantsUp), cure: cure)
    let now = world.wallClock()
    let lifetime: Hold.Lifetime =
      switch request.until {
      case .networkChange: .network(network)
      case .resume: .resume
      case .seconds(let seconds): .time(now + seconds)
      }
    let hold = Hold(wantsUp: request.wantsUp, since: now, lifetime: lifetime, reason: request.reason)
    let superseded = deliberation.hold(tunnel, hold, of: policies)
    world.journal.saveHolds(deliberation.holds)
    tellOfEndedHolds(superseded)
    tell(.hold(tunnel: tunnel, request, isSaid: true))
    pass()
  }

  /// Ends the hold on one tunnel, or on all.
  package func resume(_ tunnel: String?) throws(RequestError) {
    if let tunnel, policies.tunnel(named: tunnel) == nil { throw noSuchTunnel(tunnel) }
    if tunnel == nil { _ = guarding.close() }
    tellOfEndedHolds(deliberation.resume(tunnel), areSaid: true)
    pass()
  }

  /// The network as the last pass saw it.
  package var lastSnapshot: NetworkSnapshot { observation?.snapshot ?? NetworkSnapshot() }

  /// The same, with where its facts come from.
  package var lastUnderlay: Underlay { Underlay(snapshot: lastSnapshot, provenance: observation?.provenance ?? Provenance()) }

  /// Files beside the policies that they are made of.
  package var policyDependencies: [String] { inForce.loaded.dependencies }

  /// Looks at the machine now, for a report. What it finds is acted on in a pass of its own.
  ///
  /// Every user may ask for a report, as often as they like; the machine is observed at most ten times a second.
  package func refresh() {
    guard observation == nil || world.now() >= observedAt + .milliseconds(100) else { return }
    let before = observation
    observe()
    let isNew = before?.snapshot.isSameButForTime(as: lastSnapshot) != true || before?.state.kernel != observation?.state.kernel
    guard isNew else { return }
    // The kernel need not tell of it once more.
    isObservationStale = true
    settleUntil = settleUntil ?? world.now()
    schedule()
  }

  func tellOfEndedHolds(_ tunnels: [String], areSaid: Bool = false) {
    if areSaid, !tunnels.isEmpty { world.journal.saveHolds(deliberation.holds) }
    for tunnel in tunnels { tell(.hold(tunnel: tunnel, nil, isSaid: areSaid)) }
  }

  func noSuchTunnel(_ name: String) -> RequestError {
    guard inForce.isLoaded else {
      let words = "the agent has just started, and still ends what the one before it had begun (a tunnel's `down`): ask again in a moment"
      return RequestError(code: .starting, message: words)
    }
    let known = policies.tunnels.map(\.name).joined(separator: ", ")
    return RequestError(code: .noSuchTunnel, message: "no tunnel is named \"\(name)\"; known: \(known.isEmpty ? "none" : known)")
  }
}
