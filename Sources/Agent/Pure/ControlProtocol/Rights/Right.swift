internal import JSON

/// The permission that a request needs.
package enum Right: String, Equatable, Sendable, CaseIterable {
  /// Read states and the network: every user.
  case read
  /// Connect and disconnect tunnels by hand, end overrides, answer a provider's questions, run programs through a tunnel.
  case override
  /// Open the portal window.
  case portal
  /// Suspend the kill switch, disconnect a tunnel whose kill switch ends with it, or run a program past it.
  case suspend
  /// Activate, confirm and revert policies, which can run commands as root: as much as root's own rights.
  case apply
  /// Everything else that changes the machine: root and the agent's own user only.
  case administer

  /// The ID of polkit's action (packaging/polkit/net.roamward.policy); `nil`: polkit is not asked.
  package var polkitAction: String? {
    switch self {
    case .read, .administer: nil
    case .override, .portal, .suspend, .apply: "net.roamward.\(rawValue)"
    }
  }

  /// The actions that the right permits, for people.
  var words: String {
    switch self {
    case .read: "reading"
    case .override: "connecting and disconnecting tunnels"
    case .portal: "opening the portal window"
    case .suspend: "suspending the kill switch"
    case .apply: "changing policies"
    case .administer: "administration"
    }
  }

  /// Whether the group `roamward` has it where polkit does not run. Policies can run commands as root, so changing them is root's there.
  package var isOfGroup: Bool {
    switch self {
    case .read, .override, .portal, .suspend: true
    case .apply, .administer: false
    }
  }
}

extension Request {
  /// The permission that the request needs. `opensKillSwitch`: whether an override of the tunnel, up or down, ends a kill switch with the
  /// setting `on`. `hasKillSwitch`: whether a policy or a guard has one, that a program outside would pass.
  package func right(opensKillSwitch: (_ tunnel: String, _ wantsUp: Bool) -> Bool, hasKillSwitch: Bool = true) -> Right {
    switch self {
    case .status, .metrics, .network, .monitor: .read
    case .override(let tunnel, let request), .start(let tunnel, let request, _):
      opensKillSwitch(tunnel, request.wantsUp) ? .suspend : .override
    case .resume, .answer: .override
    case .run(let request): request.tunnel == nil && hasKillSwitch ? .suspend : .override
    case .release(let request): request.isPortal ? .portal : .suspend
    case .apply, .confirm, .revert, .reload: .apply
    // A simulation of one of this machine's packets: it changes nothing.
    case .message(_, let content) where content["type"] == "explain": .override
    case .guard, .message: .administer
    }
  }
}
