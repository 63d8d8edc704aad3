internal import RoamwardCore

/// The life of a tunnel that programs bring up, take down and check. It has no clock and runs nothing: it takes events and returns effects.
///
/// One program runs at a time. If the tunnel is no longer wanted, a running `up` is ended, and `down` follows its end. After each `up` one
/// `down` is due. An effect that reports comes last: the tunnel's machine may answer with another event at once.
struct CommandLife: Equatable {
  enum Phase: Equatable {
    /// No program runs, and no `down` is due.
    case down
    /// `up` runs.
    case starting
    /// `up` has ended, here or in another agent: `down` is due.
    case up(Check)
    /// `up` or `status` is being ended; `down` follows. `isStartDue`: after that, `up`.
    case ending(isStartDue: Bool)
    /// `down` runs.
    case stopping(isStartDue: Bool)
    /// The programs wait for the next agent. `isChecking`: a `status` has not ended yet.
    case left(isChecking: Bool)
    /// The time for `down` is over, and this program is being killed.
    case cut(CommandAction)
  }

  /// The query of the status of a tunnel that is up.
  enum Check: Equatable {
    case none
    /// `isToRepeat`: another network has come meanwhile.
    case running(isToRepeat: Bool)
    /// It was not connected yet: the status is queried again, until the machine's deadline.
    case due
  }

  enum Event: Equatable {
    case prepare
    case probePeer
    case askAgain
    /// The running program has ended.
    case ended(CommandOutcome)
    case tearDown
    case cutShort
    /// Another agent has brought the tunnel up as this one would.
    case takeOver
    /// Another agent has brought it up in another way: it ends by its own `down`.
    case replace
    /// The next agent goes on with it, if `isLeft` then.
    case handOver
  }

  enum Effect: Equatable {
    /// Run this program of the tunnel.
    case run(CommandAction)
    /// Run the `down` that another agent owes.
    case runOtherDown
    /// End the running program; `ended` follows.
    case end
    /// Kill the running program; `ended` follows.
    case cut
    /// `down` has ended: nothing is due any more.
    case forgetNote
    case report(TunnelMachine.Event)
    /// A program has ended: a pass is due.
    case changed
  }

  private(set) var phase = Phase.down
  /// Whether it has a `status`; otherwise it is connected as soon as `up` has succeeded.
  let hasStatus: Bool

  init(hasStatus: Bool) { self.hasStatus = hasStatus }

  /// Whether everything started has ended, or is the next agent's.
  var isTornDown: Bool { phase == .down || phase == .left(isChecking: false) }

  var isLeft: Bool { if case .left = phase { true } else { false } }

  mutating func handle(_ event: Event) -> [Effect] {
    switch event {
    case .prepare: return prepare()
    case .probePeer: return probePeer()
    case .askAgain: return phase == .up(.due) ? probePeer() : []
    case .ended(let outcome): return programEnded(outcome)
    case .tearDown: return tearDown()
    case .cutShort: return cutShort()
    case .takeOver where phase == .down:
      phase = .up(.none)
      return []
    case .replace where phase == .down:
      phase = .stopping(isStartDue: false)
      return [.runOtherDown]
    case .takeOver, .replace: return []
    case .handOver: return handOver()
    }
  }

  private mutating func prepare() -> [Effect] {
    switch phase {
    case .down:
      phase = .starting
      return [.run(.up)]
    case .ending:
      phase = .ending(isStartDue: true)
      return []
    case .stopping:
      phase = .stopping(isStartDue: true)
      return []
    case .starting, .up:
      let effects = tearDown()
      _ = prepare()
      return effects
    case .left, .cut: return []
    }
  }

  private mutating func probePeer() -> [Effect] {
    if !hasStatus { return [.report(.peerAnswered)] }
    switch phase {
    case .up(.running):
      phase = .up(.running(isToRepeat: true))
      return []
    case .up:
      phase = .up(.running(isToRepeat: false))
      return [.run(.status)]
    case .down, .starting, .ending, .stopping, .left, .cut: return []
    }
  }

  private mutating func programEnded(_ outcome: CommandOutcome) -> [Effect] {
    switch phase {
    case .starting:
      phase = .up(.none)
      return [.report(outcome.event(onSuccess: .prepared)), .changed]
    case .up(.running(let isToRepeat)):
      let hasAnswered = outcome == .succeeded
      phase = .up(isToRepeat ? .running(isToRepeat: false) : hasAnswered ? .none : .due)
      return (isToRepeat ? [.run(.status)] : []) + (hasAnswered ? [.report(.peerAnswered)] : []) + [.changed]
    case .ending(let isStartDue):
      phase = .stopping(isStartDue: isStartDue)
      return [.run(.down), .changed]
    case .stopping(let isStartDue):
      phase = isStartDue ? .starting : .down
      return [.forgetNote] + (isStartDue ? [.run(.up)] : []) + [.changed]
    case .left:
      phase = .left(isChecking: false)
      return [.changed]
    // The note of a `down` that did not begin stays, for the next start or for a clean-up.
    case .cut(let action):
      phase = .down
      return (action == .down ? [.forgetNote] : []) + [.changed]
    case .down, .up(.none), .up(.due): return []
    }
  }

  private mutating func tearDown() -> [Effect] {
    switch phase {
    case .starting, .up(.running):
      phase = .ending(isStartDue: false)
      return [.end]
    case .up:
      phase = .stopping(isStartDue: false)
      return [.run(.down)]
    case .ending:
      phase = .ending(isStartDue: false)
      return []
    case .stopping:
      phase = .stopping(isStartDue: false)
      return []
    case .down, .left, .cut: return []
    }
  }

  private mutating func cutShort() -> [Effect] {
    switch phase {
    case .starting, .ending: phase = .cut(.up)
    case .up(.running): phase = .cut(.status)
    case .stopping: phase = .cut(.down)
    case .up:
      phase = .down
      return []
    // To cut a `status` that does not end yet would end what `up` has left running.
    case .down, .left, .cut: return []
    }
    return [.cut]
  }

  /// It cannot be left while `up` or `down` runs, or another `status` is to follow.
  private mutating func handOver() -> [Effect] {
    switch phase {
    case .up(.running(isToRepeat: false)):
      phase = .left(isChecking: true)
      return [.end]
    case .up(.none), .up(.due):
      phase = .left(isChecking: false)
      return []
    case .down, .starting, .up(.running), .ending, .stopping, .left, .cut: return []
    }
  }
}

extension CommandOutcome {
  fileprivate func event(onSuccess success: TunnelMachine.Event) -> TunnelMachine.Event {
    switch self {
    case .succeeded: success
    case .failed(let reason): .failed(TunnelFailure(.commandFailed, reason))
    }
  }
}
