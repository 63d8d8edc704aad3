package import Lives
package import ProviderProtocol

/// Tasks of a provider, in the order in which they have to be carried out.
package enum LifeEffect: Equatable, Sendable {
  case ready
  case reasserting(code: Word, text: String)
  /// Have the program leave, as the agent wants for this reason, and kill it if it takes too long.
  case leave(StopReason)
  /// The run is over, and no answer is expected of its program: have it end.
  case abandon
  /// The run has failed.
  case failed(TunnelFailure)
  /// The run has ended as asked.
  case stopped
}

/// The life of a tunnel whose packets a program of another project carries: a run is prepared, its program runs, the tunnel is ready or
/// not, the program leaves, and has ended. It has no process, no clock, and no channel to the agent.
///
/// Each run has one end, `failed` or `stopped`. A run may use several programs, one after another. `Program`: all that a provider knows of
/// one of them.
package struct ProgramLife<Program: Sendable>: Sendable {
  /// The state of the tunnel.
  package enum Phase: Sendable {
    /// No run is under way.
    case idle(Remains)
    /// A run has begun, and no program of it runs now.
    case preparing(LifeToken, Remains)
    /// Its program runs, a process with this token.
    case running(LifeToken, Program, Traffic)
    /// The agent waits for this process to end.
    case leaving(LifeToken, Program?)
  }

  /// The remains of a program whose part in the life is over.
  package struct Remains: Sendable {
    /// Its process, if that has not ended yet.
    var process: LifeToken?
    /// The last that was known of it.
    var program: Program?
  }

  /// The meaning of the end of a process.
  package enum End: Sendable {
    /// The run goes on without a program. The provider starts another one, or fails.
    case unexpected(Program, wasReady: Bool)
    /// The agent wanted it, or it was a process of a run that is over: the provider has nothing to decide.
    case expected([LifeEffect])
  }

  package private(set) var phase = Phase.idle(Remains())

  package init() {}

  /// The program of this run, or of the last one if none is under way; `nil`: there was none yet.
  package var program: Program? {
    switch phase {
    case .idle(let remains): remains.program
    case .preparing(_, let remains): remains.program
    case .running(_, let program, _): program
    case .leaving(_, let program): program
    }
  }

  package var isReady: Bool { if case .running(_, _, let traffic) = phase { traffic.isReady } else { false } }

  /// The process that has not ended.
  private var process: LifeToken? {
    switch phase {
    case .idle(let remains): remains.process
    case .preparing(_, let remains): remains.process
    case .running(let process, _, _): process
    case .leaving(let process, _): process
    }
  }

  /// Whether this preparation goes on.
  package func isPreparing(_ attempt: LifeToken) -> Bool {
    if case .preparing(attempt, _) = phase { true } else { false }
  }

  /// Whether this process carries the run.
  package func isRunning(_ process: LifeToken) -> Bool {
    if case .running(process, _, _) = phase { true } else { false }
  }

  // MARK: The run

  /// A run begins. Returns the token of its preparation.
  package mutating func start() -> LifeToken {
    let attempt = LifeToken()
    phase = .preparing(attempt, Remains(process: process))
    return attempt
  }

  /// The program is started. Returns the token of its process, which has ended at once if there is none; `nil`: no run waits for a program.
  package mutating func launch(_ program: Program) -> LifeToken? {
    guard case .preparing = phase else { return nil }
    let process = LifeToken()
    phase = .running(process, program, Traffic())
    return process
  }

  /// The agent wants the run to end.
  package mutating func stop(_ reason: StopReason) -> [LifeEffect] {
    guard let process else {
      phase = .idle(Remains(program: program))
      return [.stopped]
    }
    phase = .leaving(process, program)
    return [.leave(reason)]
  }

  /// The run cannot go on.
  package mutating func fail(_ failure: TunnelFailure) -> [LifeEffect] {
    switch phase {
    case .idle: return []
    case .preparing, .running:
      phase = .idle(Remains(process: process, program: program))
      return [.abandon, .failed(failure)]
    case .leaving: return [.abandon]
    }
  }

  // MARK: The program

  /// Changes what is known of the program. Returns `nil`, without a change, unless this process carries the run.
  package mutating func update<Result>(_ process: LifeToken, _ change: (inout Program) -> Result) -> Result? {
    guard case .running(process, var program, let traffic) = phase else { return nil }
    // No second copy of what the program has told, which may be long.
    phase = .idle(Remains())
    defer { phase = .running(process, program, traffic) }
    return change(&program)
  }

  /// A process has ended, or could not be started.
  package mutating func ended(_ process: LifeToken) -> End {
    guard process == self.process else { return .expected([]) }
    switch phase {
    case .idle(let remains):
      phase = .idle(Remains(program: remains.program))
      return .expected([])
    case .preparing(let attempt, let remains):
      phase = .preparing(attempt, Remains(program: remains.program))
      return .expected([])
    case .running(_, let program, let traffic):
      phase = .preparing(LifeToken(), Remains(program: program))
      return .unexpected(program, wasReady: traffic.isReady)
    case .leaving(_, let program):
      phase = .idle(Remains(program: program))
      return .expected([.stopped])
    }
  }

  // MARK: Traffic

  /// Settings are requested. Returns the token of the request; `nil` unless this process carries the run.
  package mutating func request(_ process: LifeToken) -> LifeToken? {
    guard case .running(process, let program, var traffic) = phase else { return nil }
    let request = traffic.request()
    phase = .running(process, program, traffic)
    return request
  }

  /// The agent has applied the settings of this request.
  package mutating func applied(_ request: LifeToken) -> [LifeEffect] { change { $0.applied(request) } ? [.ready] : [] }

  /// The tunnel has a path to its other end.
  package mutating func found() -> [LifeEffect] { change { $0.found() } ? [.ready] : [] }

  /// The tunnel has no path any more.
  package mutating func lost(_ code: Word, _ text: String) -> [LifeEffect] {
    change { $0.lost(isDoubt: false) } ? [.reasserting(code: code, text: text)] : []
  }

  /// The other end does not answer for now. The tunnel is ready again with the next `found`, or with the next settings.
  package mutating func doubt(_ code: Word, _ text: String) -> [LifeEffect] {
    change { $0.lost(isDoubt: true) } ? [.reasserting(code: code, text: text)] : []
  }

  private mutating func change(_ change: (inout Traffic) -> Bool) -> Bool {
    guard case .running(let process, let program, var traffic) = phase else { return false }
    defer { phase = .running(process, program, traffic) }
    return change(&traffic)
  }
}
