import KernelModel
import NetworkTypes
import RoamwardCore

/// The reason why a tunnel with watched look-ups is up, and the end of that reason.
///
/// A look-up wants the tunnel up while the rules only watch for one. This ends when the tunnel is idle, when its start has failed for a
/// while, and when rules or a person want something else.
struct LookupStart {
  /// A start that has not succeeded for so long is given up: the next look-up begins another one.
  static let patience = Duration.seconds(60)

  /// The look-up that brought it up.
  private(set) var latest: NameLookup?
  /// The intent of rules and person, regardless of look-ups.
  private(set) var intent = Intent.unchanged
  /// The target of a tunnel that is down: nothing, or its device ready for a look-up.
  private(set) var targetWhenDown = TunnelMachine.Target.down
  /// Whether a rule that watches look-ups found the tunnel up, by another rule or by hand.
  private var wasUp = false
  private var giveUpAt: Moment?
  /// Whether its names are already asked for, while the observation that verifies its routes is still to come.
  private(set) var allowsQuestions = false

  /// Takes the intent of rules and person; returns the one that is acted on. `isWanted`: whether the tunnel is wanted up now.
  mutating func take(_ intent: Intent, isWanted: Bool, at now: Moment) -> Intent {
    let before = self.intent
    self.intent = intent
    switch intent {
    case .up, .down:
      (latest, wasUp, giveUpAt) = (nil, false, nil)
      return intent
    case .watched:
      if before != .watched, latest == nil { wasUp = isWanted }
      return latest != nil || wasUp ? .up : .down
    case .armed: return latest != nil ? .up : .armed
    case .unchanged: return intent
    }
  }

  /// `isReady`: while the tunnel is down, its device is to be ready.
  mutating func setTargetWhenDown(isReady: Bool) { targetWhenDown = isReady ? .ready : .down }

  /// Notes a look-up. Returns whether it is the start of the tunnel.
  mutating func record(_ lookup: NameLookup, isUp: Bool, at now: Moment) -> Bool {
    guard [.watched, .armed].contains(intent), latest == nil, !isUp else { return false }
    latest = lookup
    giveUpAt = now + Self.patience
    return true
  }

  /// Its routes are in place, and nothing else has changed: its names can be asked for.
  mutating func allowQuestions() { allowsQuestions = true }

  /// Follows the tunnel's state.
  mutating func follow(_ state: TunnelMachine.State) { if !state.isApplying { allowsQuestions = false } }

  /// The end of a start that has not succeeded.
  func end(in state: TunnelMachine.State) -> Moment? { state.isUp || latest == nil ? nil : giveUpAt }

  /// Whether idleness ends it.
  func endsWhenIdle(_ policy: TunnelPolicy) -> Bool {
    intent == .armed ? latest != nil : policy.onDemand.timing.idle != nil && (latest != nil || intent == .watched)
  }

  /// Idleness, or the end of patience, ends what the look-up began: the machine is told what is wanted now.
  mutating func turn(_ event: TunnelMachine.Event, in state: TunnelMachine.State, at now: Moment) -> TunnelMachine.Event {
    if state.isUp, latest != nil { giveUpAt = now + Self.patience }
    guard event == .idle, latest != nil || intent == .watched else { return event }
    (latest, wasUp, giveUpAt) = (nil, false, nil)
    return .want(intent == .armed ? .armed : targetWhenDown)
  }
}

extension TunnelMachine.State {
  /// Whether it is connected, or was and may still be.
  var isUp: Bool {
    switch self {
    case .connected, .reasserting: true
    default: false
    }
  }

  /// Whether its peer has answered, and its routes are being made.
  var isApplying: Bool { if case .applying = self { true } else { false } }
}

extension TunnelMachine {
  /// The state as it matters for a look-up of the tunnel's names.
  var progress: NameWatch.Progress {
    switch state {
    case .connected, .reasserting: .connected
    case .preparing where target == .ready, .backingOff where target == .ready: .down
    case .preparing, .awaitingPeer, .applying, .called: .starting
    case .backingOff: .failed
    case .disconnected, .disconnecting, .withdrawing, .readying, .ready, .arming, .armed: .down
    }
  }
}
