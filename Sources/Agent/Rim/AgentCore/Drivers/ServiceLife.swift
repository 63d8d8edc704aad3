internal import Lives
internal import RoamwardCore

/// The life of a service that is a tunnel. It has no clock and reads nothing: it takes events, and returns effects.
///
/// A start waits for the end of a stop. News of a start, and the end of a stop, count only for the attempt that is under way. An effect
/// that reports comes last: the tunnel's machine may answer with another event at once.
struct ServiceLife: Equatable {
  enum Phase: Equatable {
    /// Nothing was started, or it was left to the next agent.
    case down
    /// It was started, and does not run yet, or has ended by itself. `isTakenOver`: another agent has started it.
    case starting(LifeToken, isTakenOver: Bool)
    case running(LifeToken)
    /// It is being stopped. `isStartDue`: it starts again after that.
    case stopping(LifeToken, isStartDue: Bool)
    /// The time for the stop is over: it is not waited for.
    case cut(LifeToken)
  }

  enum Event: Equatable {
    case prepare
    case probePeer
    case isRunning(LifeToken)
    /// It did not start, or has ended by itself.
    case ended(LifeToken, reason: String)
    case tearDown
    /// The service manager has stopped it, or says that it does not.
    case stopped(LifeToken)
    case cutShort
    /// Another agent has started it as this one would.
    case takeOver
    /// Another agent has started it in another place: it is stopped.
    case stopLeft
    /// Another agent has started another service or command: that is stopped.
    case replace
    case handOver
  }

  enum Effect: Equatable {
    case start(LifeToken, isTakenOver: Bool)
    case stop(LifeToken)
    /// Stop what another agent has started in its place.
    case stopOther(LifeToken)
    case report(TunnelMachine.Event)
    /// The service has moved by itself: a pass is due.
    case changed
  }

  private(set) var phase = Phase.down

  /// Whether nothing runs that this agent has to stop.
  var isTornDown: Bool {
    switch phase {
    case .down, .cut: true
    case .starting, .running, .stopping: false
    }
  }

  /// Whether its manager reports its changes.
  var isWatched: Bool { attempt != nil }

  /// Whether news of this start still count.
  func isWatched(_ start: LifeToken) -> Bool { attempt == start }

  /// The start that is under way or has succeeded.
  private var attempt: LifeToken? {
    switch phase {
    case .starting(let attempt, _), .running(let attempt): attempt
    case .down, .stopping, .cut: nil
    }
  }

  /// Whether the end of this stop still counts.
  func isStopping(_ stop: LifeToken) -> Bool {
    switch phase {
    case .stopping(stop, _), .cut(stop): true
    default: false
    }
  }

  mutating func handle(_ event: Event) -> [Effect] {
    switch (phase, event) {
    case (.stopping(let stop, _), .prepare):
      phase = .stopping(stop, isStartDue: true)
      return []
    case (_, .prepare): return start(isTakenOver: false)
    case (.running, .probePeer): return [.report(.peerAnswered)]
    case (.starting(let current, let isTakenOver), .isRunning(let start)) where current == start:
      phase = .running(start)
      return [.report(isTakenOver ? .peerAnswered : .prepared), .changed]
    case (_, .ended(let start, let reason)) where attempt == start:
      if case .running = phase { phase = .starting(start, isTakenOver: false) }
      return [.report(.failed(TunnelFailure(.serviceFailed, reason))), .changed]
    case (.starting, .tearDown), (.running, .tearDown): return stop { .stop($0) }
    case (.stopping(let stop, _), .tearDown):
      phase = .stopping(stop, isStartDue: false)
      return []
    case (.stopping(let current, let isStartDue), .stopped(let stop)) where current == stop:
      phase = .down
      return (isStartDue ? start(isTakenOver: false) : []) + [.changed]
    case (.cut(let current), .stopped(let stop)) where current == stop:
      phase = .down
      return [.changed]
    // The note stays, for the next start or for a clean-up.
    case (.stopping(let stop, _), .cutShort):
      phase = .cut(stop)
      return []
    case (.starting, .cutShort), (.running, .cutShort), (.running, .handOver):
      phase = .down
      return []
    case (.down, .takeOver): return start(isTakenOver: true)
    case (.down, .stopLeft): return stop { .stop($0) }
    case (.down, .replace): return stop { .stopOther($0) }
    default: return []
    }
  }

  private mutating func start(isTakenOver: Bool) -> [Effect] {
    let attempt = LifeToken()
    phase = .starting(attempt, isTakenOver: isTakenOver)
    return [.start(attempt, isTakenOver: isTakenOver)]
  }

  private mutating func stop(_ effect: (LifeToken) -> Effect) -> [Effect] {
    let attempt = LifeToken()
    phase = .stopping(attempt, isStartDue: false)
    return [effect(attempt)]
  }
}
