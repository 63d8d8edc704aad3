package import NetworkTypes

/// The end of a program and of all that it has started: they are asked to end, and killed after a while. The last of them has ended when
/// the program has exited and its control group is empty.
package struct ProgramEnd: Sendable {
  package enum Phase: Equatable, Sendable {
    case running
    /// All of them are killed from this moment on.
    case leaving(Exit, killAt: Moment)
    case over
  }

  package enum Exit: Equatable, Sendable {
    case awaited
    /// As a shell gives it; `nil`: it is not known.
    case exited(code: Int32?)
  }

  package enum Effect: Equatable, Sendable {
    /// Ask all of them to end (SIGTERM).
    case ask
    /// Kill all of them.
    case kill
    /// Call `look` now.
    case look
    /// Call `look` after a while.
    case lookLater
    /// All of them have ended.
    case over(code: Int32?)
  }

  /// From the request to the kill.
  package static let patience = Duration.seconds(2)

  package private(set) var phase = Phase.running

  package init() {}

  /// Whether the program itself runs.
  package var isRunning: Bool {
    switch phase {
    case .running, .leaving(.awaited, _): true
    case .leaving(.exited, _), .over: false
    }
  }

  package mutating func end(at now: Moment) -> [Effect] {
    guard phase == .running else { return [] }
    phase = .leaving(.awaited, killAt: now + Self.patience)
    return [.ask, .look]
  }

  /// They are to be killed now.
  package mutating func cut(at now: Moment) -> [Effect] {
    switch phase {
    case .running: phase = .leaving(.awaited, killAt: now)
    case .leaving(let exit, _): phase = .leaving(exit, killAt: now)
    case .over: return []
    }
    return [.look]
  }

  /// The program itself has exited; others of its group may run.
  package mutating func exited(_ code: Int32?, at now: Moment) -> [Effect] {
    switch phase {
    case .running:
      phase = .leaving(.exited(code: code), killAt: now + Self.patience)
      return [.ask, .look]
    case .leaving(_, let killAt):
      phase = .leaving(.exited(code: code), killAt: killAt)
      return [.look]
    case .over: return []
    }
  }

  /// `isPopulated`: whether its control group has processes.
  package mutating func look(isPopulated: Bool, at now: Moment) -> [Effect] {
    guard case .leaving(let exit, let killAt) = phase else { return [] }
    if case .exited(let code) = exit, !isPopulated {
      phase = .over
      return [.over(code: code)]
    }
    return now >= killAt ? [.kill, .lookLater] : [.lookLater]
  }
}
