internal import ControlProtocol
internal import NetworkTypes
internal import RoamwardCore

/// What would be, if it were asked for.
extension Reconciler {
  /// What these policies want of the machine on this network once every tunnel that they want is up; with `tunnel` held up or down by hand.
  func prospect(of policies: PolicySet, holding tunnel: String? = nil, up: Bool = false) -> DesiredState {
    let snapshot = lastSnapshot
    let evaluator = Evaluator(networks: policies.networks)
    var used = usedSlots
    let setups = policies.tunnels.map { policy -> TunnelSetup in
      let running = supervisors[policy.name]
      var hold = deliberation.holds[policy.name]
      if policy.name == tunnel { hold = Hold(wantsUp: up, since: 0, lifetime: .resume) }
      let decision = evaluator.decide(policy, on: snapshot, patience: .isOver, explaining: .none)
      let isUp =
        switch Intent(policy, decision: decision, hold: hold) {
        case .up: true
        case .down: false
        case .unchanged: running?.machine.isWanted ?? false
        }
      let slot = running.flatMap { $0.machine.isRunning ? $0.slot : nil } ?? TunnelSetup.freeSlot(for: policy.precedence, used: used)
      used.insert(slot)
      let isReleased = guarding.release.map { !$0.isPortal } ?? false
      let isGuarding = !isReleased && policy.isEnabled && (policy.guarding == .always || policy.guarding == .on && isUp)
      var setup = TunnelSetup(
        policy: policy, level: isUp ? .full : .nothing, slot: slot, link: policy.linkName, device: .foreign, isGuarding: isGuarding)
      setup.refusesNames = policy.isEnabled && policy.dnsInForce.refusesWhenDown && decision.outcome != .disconnect
      setup.isOnLANNetwork = evaluator.isOn(anyOf: policy.routes?.lanNetworks ?? [], snapshot)
      return setup
    }
    return DesiredState(of: setups, on: underlayFit, portal: portalWindow)
  }

  /// Throws where a session from one of these addresses would not go on.
  func refuseToCut(_ sessions: [IPAddress], under prospect: DesiredState, cure: String) throws(RequestError) {
    for address in sessions {
      let (before, after) = (desiredState.fate(of: address), prospect.fate(of: address))
      guard before.isCut(by: after) else { continue }
      let what = after.words(comingFrom: before)
      throw RequestError(code: .wouldCut, message: "this would cut the SSH session from \(address): \(what); \(cure)")
    }
  }
}

extension PacketFate {
  fileprivate func words(comingFrom before: PacketFate) -> String {
    switch self {
    case .inside(let link, let prefix):
      let cure = prefix.length == 0 ? "" : " (\(prefix))"
      return "what goes there would go into the tunnel on \(link)\(cure), unless its policy excludes the address (routes: exclude)"
    case .unreachable(let prefix): return "\(prefix) would be unreachable"
    case .blocked(let guards): return "the kill switch of \(guards.joined(separator: ", ")) would hold it back"
    case .outside:
      if case .inside(let link, _) = before { return "it comes through the tunnel on \(link), which would not be there any more" }
      return "it would go another way"
    }
  }
}

extension TunnelPolicy {
  /// The link that carries it; `nil` for a command that names none.
  var linkName: String? {
    switch provider {
    case .wireGuard: TunnelSetup.linkName(forTunnel: name)
    case .command(let command): command.interface
    }
  }
}
