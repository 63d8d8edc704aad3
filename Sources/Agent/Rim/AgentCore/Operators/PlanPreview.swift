internal import ControlProtocol
internal import NetworkTypes
internal import RoamwardCore

/// Previews of requests.
extension Agent {
  /// The desired state of these policies on this network with every tunnel at rest, and with the tunnels of `held` up or down by hand.
  func preview(of policies: PolicySet, holding held: [String] = [], up: Bool = false) -> DesiredState {
    var tunnels = state.desiredTunnels
    tunnels.policies = policies
    for tunnel in held { tunnels.overrides[tunnel] = ManualOverride(wantsUp: up, since: .distantFuture, lifetime: .resume) }
    return state.desired(of: tunnels.atRest.setups)
  }

  /// Throws if a session from one of these addresses would be cut.
  func refuseToCut(_ sessions: [IPAddress], under preview: DesiredState, cure: String) throws(RequestError) {
    for address in sessions {
      let (before, after) = (state.desiredState.fate(of: address), preview.fate(of: address))
      guard before.isCut(by: after) else { continue }
      let what = after.text(comingFrom: before)
      throw RequestError(code: .wouldCut, message: "this would cut the SSH session from \(address): \(what); \(cure)")
    }
  }
}

extension PacketFate {
  fileprivate func text(comingFrom before: PacketFate) -> String {
    switch self {
    case .inside(let link, let prefix):
      let cure = prefix.length == 0 ? "" : " (\(prefix))"
      return "what goes there would go into the tunnel on \(link)\(cure), unless its policy excludes the address (routes: exclude)"
    case .unreachable(let prefix): return "\(prefix) would be unreachable"
    case .blocked(let guards): return "the kill switch of \(guards.joined(separator: ", ")) would block it"
    case .outside:
      if case .inside(let link, _) = before { return "it comes through the tunnel on \(link), which would not be there any more" }
      return "it would go another way"
    }
  }
}
