internal import RoamwardCore

/// The change of a tunnel to another provider: it goes down, the changed policy takes its place, and it comes up again if it is wanted.
enum Replacement: Equatable {
  /// The next start after the change.
  struct Return: Equatable {
    /// The wish for the tunnel, which comes up again also if it is to be left as it is (`ignore`) then.
    var intent: Intent?
    /// The slot that it will have, so that `plan` can name it.
    var slot: UInt32?
  }

  case none
  /// The tunnel goes down, and this policy takes its place then.
  indirect case pending(TunnelPolicy, Return)
  /// The policy has taken its place, or the change was withdrawn: the next wish acts on it.
  case over(Return)

  /// The policy that takes the tunnel's place when it is down.
  var next: TunnelPolicy? { if case .pending(let next, _) = self { next } else { nil } }

  /// Whether a change was asked for that the tunnel has not come back from.
  var isUnderWay: Bool { if case .none = self { false } else { true } }

  var isPending: Bool { if case .pending = self { true } else { false } }

  var comesBack: Return {
    switch self {
    case .none: Return()
    case .pending(_, let back), .over(let back): back
    }
  }

  /// A changed policy is to take the tunnel's place.
  mutating func begin(with policy: TunnelPolicy) {
    var back = comesBack
    if next != policy { back.slot = nil }
    self = .pending(policy, back)
  }

  /// The policy changed back before the tunnel was down, or has taken its place.
  mutating func end() { if case .pending(_, let back) = self { self = .over(back) } }

  /// Takes a wish while the tunnel goes down. `now`: the wish until then; `nil`: it was not wanted. `slot` returns the one for the start.
  mutating func want(_ intent: Intent, now: Intent?, slot: (TunnelPolicy) -> UInt32) {
    guard case .pending(let next, var back) = self else { return }
    switch intent {
    case .up, .armed: back.intent = intent
    case .down: back.intent = nil
    case .watched, .unchanged: back.intent = now ?? back.intent
    }
    back.slot = back.intent == nil ? nil : back.slot ?? slot(next)
    self = .pending(next, back)
  }

  /// The next start, which is told once, and not before the change is over.
  mutating func takeReturn() -> Return {
    guard case .over(let back) = self else { return Return() }
    self = .none
    return back
  }
}
