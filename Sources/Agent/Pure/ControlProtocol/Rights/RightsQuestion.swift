/// An answer of polkit.
package enum PolkitAnswer: Equatable, Sendable {
  case allowed
  case denied
  /// The user would have to authenticate, and polkit was not to ask for that, or could not.
  case needsAuthentication
  /// polkit does not run on this host, for this reason.
  case absent(String)
  /// polkit did not answer within the time limit.
  case unanswered
  /// polkit answered with an error.
  case failed(String)
}

/// The result for a request, or the next thing to find out.
package enum RightsDecision: Equatable, Sendable {
  case allowed
  /// Ask polkit. `interactively`: a polkit agent of the user may ask for a password meanwhile.
  case askPolkit(interactively: Bool)
  case refused(RequestError)
}

/// Whether a caller has a right. The only place that decides this, for the local socket and D-Bus alike.
package struct RightsQuestion: Equatable, Sendable {
  package let right: Right
  package let caller: Caller
  /// Whether the caller accepts a question for a password.
  package let mayInteract: Bool

  package init(_ right: Right, of caller: Caller, mayInteract: Bool = true) {
    self.right = right
    self.caller = caller
    self.mayInteract = mayInteract
  }

  /// The decision after polkit's last answer; `nil`: polkit has not been asked. polkit is asked without interaction first, because that
  /// has a short time limit, which a person at a prompt does not need to meet.
  package func decision(after answer: PolkitAnswer? = nil, wasInteractive: Bool = false) -> RightsDecision {
    if right == .read || caller.isOwner { return .allowed }
    guard let id = right.polkitAction else {
      return refuse("only root and the agent's own user may do this; you are user \(caller.user)")
    }
    let action = "\(right.words) (\(id))"
    guard caller.subject != nil else {
      return refuse("the agent cannot identify your process, which has ended or is in another process namespace; \(Self.cure)")
    }
    switch answer {
    case nil: return .askPolkit(interactively: false)
    case .allowed: return .allowed
    case .absent(let reason) where !right.isOfGroup:
      return refuse("only root may change policies where polkit does not run (\(reason)); \(Self.cure)")
    case .absent where caller.isMember: return .allowed
    case .absent(let reason):
      return refuse(
        "user \(caller.user) is not in the group \(Caller.groupName), which decides because polkit does not run (\(reason)); "
          + "add the user with `usermod --append --groups \(Caller.groupName) NAME` and log in again, or \(Self.cure)")
    case .denied:
      return refuse(
        "polkit does not allow \(action) to user \(caller.user) in this session; \(Self.cure), or add a rule to /etc/polkit-1/rules.d")
    case .needsAuthentication where mayInteract && !wasInteractive: return .askPolkit(interactively: true)
    case .needsAuthentication where !mayInteract:
      return refuse(
        "\(action) needs an administrator's password; allow the question in the call (ALLOW_INTERACTIVE_AUTHORIZATION), or \(Self.cure)")
    case .needsAuthentication:
      return refuse(
        "\(action) needs an administrator's password, and no polkit agent of user \(caller.user) asked for it; \(Self.cure)")
    case .unanswered:
      return refuse("polkit did not answer in time about \(action); check `systemctl status polkit`, or \(Self.cure)")
    case .failed(let reason):
      return refuse(
        "polkit cannot decide on \(action): \(reason); check that /usr/share/polkit-1/actions/net.roamward.policy is installed, "
          + "or \(Self.cure)")
    }
  }

  private static let cure = "run it with sudo"

  private func refuse(_ message: String) -> RightsDecision { .refused(RequestError(code: .notAllowed, message: message)) }
}
