package import Lives
package import NetworkTypes

/// The life of a confined worker in its parent: it is started when it is needed, says hello, works, and is ended; after a failure it is
/// started again, after a pause. It has no process and no clock.
///
/// Each run has one end: `end`, or the failure that is told. Reports that come with the token of an earlier run change nothing.
package struct WorkerLife: Sendable {
  /// The time limits of a kind of worker.
  package struct Limits: Equatable, Sendable {
    /// From the start to the first message; `nil`: the parent's tasks have limits of their own.
    package var greeting: Duration?
    /// A worker that has proved itself and has run for longer than this is started again without a pause; `nil`: each failure has one.
    package var settled: Duration?

    package init(greeting: Duration? = nil, settled: Duration? = nil) {
      self.greeting = greeting
      self.settled = settled
    }
  }

  package enum Phase: Equatable, Sendable {
    /// None runs, and one may be started at any time.
    case idle
    case running(Run)
    /// The last one has failed, for this reason. `until`: the end of the pause.
    case pausing(until: Moment, trouble: String)
  }

  /// One process.
  package struct Run: Equatable, Sendable {
    package let token: LifeToken
    let since: Moment
    var stage = Stage.starting
  }

  package enum Stage: Equatable, Sendable {
    /// It has not said its first message.
    case starting
    case greeted
    /// It has done its work once.
    case proven
    /// It has no task: it is ended at this moment.
    case resting(until: Moment)
  }

  /// Tasks of the parent, in the order in which they have to be carried out.
  package enum Effect: Equatable, Sendable {
    /// End the process.
    case end
    /// Tell the reason: its tasks have failed.
    case failed(String)
    /// Tell that the pause after this failure is over.
    case mayStart(after: String)
  }

  /// The program's name.
  package let program: String
  package private(set) var phase = Phase.idle
  private let limits: Limits
  private var pause = RestartPause()

  package init(_ program: String, _ limits: Limits = Limits()) {
    self.program = program
    self.limits = limits
  }

  package var isRunning: Bool { if case .running = phase { true } else { false } }

  /// Whether it has said its first message.
  package var hasGreeted: Bool { if case .running(let run) = phase { run.stage != .starting } else { false } }

  /// The end of the pause after a failure; `nil`: one runs, or may be started.
  package var mayStart: Moment? { if case .pausing(let until, _) = phase { until } else { nil } }

  /// The reason why none should be started now.
  package func obstacle(at now: Moment) -> String? {
    guard case .pausing(let until, let trouble) = phase, now < until else { return nil }
    return trouble
  }

  /// The moment at which `pass` is due; `nil`: never.
  package var deadline: Moment? {
    switch phase {
    case .idle: nil
    case .pausing(let until, _): until
    case .running(let run):
      switch run.stage {
      case .starting: limits.greeting.map { run.since + $0 }
      case .greeted, .proven: nil
      case .resting(let until): until
      }
    }
  }

  // MARK: The parent

  /// One is needed now; a pause is cut short. Returns the token of the process to be started; `nil`: one runs.
  package mutating func start(at now: Moment) -> LifeToken? {
    if isRunning { return nil }
    let token = LifeToken()
    phase = .running(Run(token: token, since: now))
    return token
  }

  /// It is not needed. A pause goes on.
  package mutating func end() -> [Effect] {
    guard isRunning else { return [] }
    phase = .idle
    return [.end]
  }

  /// It has a task.
  package mutating func work() { change { if case .resting = $0.stage { $0.stage = .greeted } } }

  /// It has no task. One that has not said hello, or has to prove itself, goes on.
  package mutating func rest(until moment: Moment) {
    change { run in
      switch run.stage {
      case .starting, .proven: break
      case .greeted, .resting: run.stage = .resting(until: moment)
      }
    }
  }

  /// It has done its work.
  package mutating func prove() { change { if $0.stage == .greeted { $0.stage = .proven } } }

  /// The parent has found that it is of no use, or that what it needs is not there.
  package mutating func fail(_ trouble: String, at now: Moment) -> [Effect] {
    let ends: [Effect] = isRunning ? [.end] : []
    if case .running(let run) = phase, run.stage == .proven, let settled = limits.settled, now - run.since > settled {
      phase = .idle
    } else {
      phase = .pausing(until: pause.fail(at: now), trouble: trouble)
    }
    return ends + [.failed(trouble)]
  }

  /// No start can be tried for a longer while, which is not told again.
  package mutating func postpone(_ trouble: String, at now: Moment) {
    if !isRunning { phase = .pausing(until: pause.fail(at: now), trouble: trouble) }
  }

  // MARK: The process

  /// Its first message has come. Returns whether this was awaited.
  package mutating func greeted() -> Bool {
    guard case .running(var run) = phase, run.stage == .starting else { return false }
    run.stage = .greeted
    phase = .running(run)
    return true
  }

  /// This process has failed.
  package mutating func fail(_ token: LifeToken, _ trouble: WorkerTrouble, at now: Moment) -> [Effect] {
    guard case .running(let run) = phase, run.token == token else { return [] }
    return fail(trouble.words(of: program), at: now)
  }

  /// The deadline has come, or another moment.
  package mutating func pass(at now: Moment) -> [Effect] {
    guard let deadline, deadline <= now else { return [] }
    switch phase {
    case .idle: return []
    case .pausing(_, let trouble):
      phase = .idle
      return [.mayStart(after: trouble)]
    case .running(let run):
      guard run.stage == .starting, let limit = limits.greeting else { return end() }
      return fail(run.token, .silent(limit), at: now)
    }
  }

  private mutating func change(_ change: (inout Run) -> Void) {
    guard case .running(var run) = phase else { return }
    change(&run)
    phase = .running(run)
  }
}
