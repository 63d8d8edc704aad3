internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol

/// The life of an installed provider's program, and of the runs that it makes of its tunnel, one after the other. It has no clock and
/// starts nothing: it takes events, and returns effects.
///
/// One program runs at a time. It runs for a run, or for messages of applications; without either it is ended.
struct ProviderLife {
  /// A program, and the channel to it.
  struct Program {
    var session: ProviderSession
    /// The firewall mark of its sockets.
    let mark: UInt32
  }

  enum Phase {
    /// No program runs. `after`: the last start that failed, if the last one did.
    case none(after: Failure?)
    case running(Program)
    /// It was started by another definition, or for another place: after its run it ends, and another one is started.
    case outdated(Program)
    /// It is being ended. `failed`: why it never said `hello`.
    case ending(Program, failed: FailedStart?)
    /// It waits for the next agent.
    case left
  }

  /// A start whose program never said `hello`.
  struct Failure: Equatable {
    /// The time for which a message is worth no other start.
    private static let validity = Duration.seconds(1)

    let at: Moment
    let refusal: Refusal

    func isRecent(at now: Moment) -> Bool { now < at + Self.validity }
  }

  enum Effect: Equatable {
    case startProgram
    case endProgram
    /// Ask the program for the run that is due.
    case startRun
    /// Ask the program to stop its run.
    case stopRun
    /// The program of a run that was wanted cannot be started, or the run cannot begin.
    case report(String)
    /// The same of one that messages alone needed.
    case log(String)
  }

  private(set) var phase = Phase.none(after: nil)
  var run = ProviderRun()

  /// The channel to the program; `nil`: none runs for this agent. To set it without a program does nothing.
  var session: ProviderSession? {
    get { program?.session }
    set {
      guard let newValue else { return }
      switch phase {
      case .running(var program):
        program.session = newValue
        phase = .running(program)
      case .outdated(var program):
        program.session = newValue
        phase = .outdated(program)
      case .ending(var program, let failed):
        program.session = newValue
        phase = .ending(program, failed: failed)
      case .none, .left: break
      }
    }
  }

  var program: Program? {
    switch phase {
    case .running(let program), .outdated(let program), .ending(let program, _): program
    case .none, .left: nil
    }
  }

  /// The program, if it may begin what it is asked for.
  var usable: Program? { if case .running(let program) = phase { program } else { nil } }

  var isLeft: Bool { if case .left = phase { true } else { false } }

  /// The reason why a message is not worth another start now.
  func recentFailure(at now: Moment) -> Refusal? {
    guard case .none(let failure?) = phase, failure.isRecent(at: now) else { return nil }
    return failure.refusal
  }

  // MARK: Wishes

  /// A run is wanted. `mark`: the one that its sockets need now.
  mutating func prepare(mark: UInt32) -> [Effect] {
    run = run.next()
    switch phase {
    case .none: return [.startProgram]
    // A message has started it while its outer tunnel was down, or another one.
    case .running(let program) where program.mark != mark: return end()
    case .running: return becameIdle()
    // The program of the run before is still ending.
    case .outdated, .ending, .left: return []
    }
  }

  /// No run is wanted any more.
  mutating func tearDown() -> [Effect] {
    run.tearDown()
    switch phase {
    case .running(let program), .outdated(let program): return program.session.isRunning ? [.stopRun] : end()
    case .none, .ending, .left: return []
    }
  }

  /// A message waits for the program.
  func messageCame() -> [Effect] { if case .none = phase { [.startProgram] } else { [] } }

  /// A message was replied to. `hasMessages`: others have no reply yet.
  mutating func messageEnded(hasMessages: Bool) -> [Effect] {
    session?.state == .idle && !hasMessages && !run.isDue ? end() : []
  }

  /// The program is no longer needed, or cannot be used.
  mutating func end(after failed: FailedStart? = nil) -> [Effect] {
    switch phase {
    case .running(let program), .outdated(let program):
      phase = .ending(program, failed: failed)
      return [.endProgram]
    case .none, .ending, .left: return []
    }
  }

  // MARK: The program

  mutating func programStarted(_ program: Program) { phase = .running(program) }

  /// The program was not started, or never said `hello`. The machine starts the tunnel again after a pause; messages are not worth another
  /// start.
  mutating func startFailed(_ refusal: Refusal, at now: Moment) -> [Effect] {
    phase = .none(after: Failure(at: now, refusal: refusal))
    guard run.isDue else { return [.log(refusal.text)] }
    run.end()
    return [.report(refusal.text)]
  }

  /// Everything that was started for the program has ended. Returns why it never said `hello`, if it did not; otherwise another one is
  /// started if a run is due, or messages wait.
  mutating func programEnded(hasWaitingMessages: Bool) -> (failed: FailedStart?, effects: [Effect]) {
    var failed: FailedStart?
    if case .ending(_, let reason) = phase { failed = reason }
    phase = .none(after: nil)
    return (failed, failed == nil && (run.isDue || hasWaitingMessages) ? [.startProgram] : [])
  }

  // MARK: The run

  /// The program can begin a run.
  func becameIdle() -> [Effect] { usable?.session.state == .idle && run.isDue ? [.startRun] : [] }

  /// The program is asked for the run that is due, on this network.
  mutating func beginRun(on path: NetworkPath?) { run.begin(.init(path: path)) }

  /// The run that is due lacks something. `hasMessages`: some have no reply yet.
  mutating func cannotBeginRun(_ reason: String, hasMessages: Bool) -> [Effect] {
    run.end()
    return [.report(reason)] + (hasMessages ? [] : end())
  }

  /// A run has ended. Returns whether its failure is one of the tunnel.
  mutating func runEnded(hasMessages: Bool) -> (isOfTunnel: Bool, effects: [Effect]) {
    // The program was idle before it said so, and the next run has begun.
    if session?.isRunning == true { return (false, []) }
    if !run.isDue { run.end() }
    if case .outdated = phase { return (false, end()) }
    return (true, run.isDue || hasMessages ? [] : end())
  }

  // MARK: The restart of the agent

  /// The program waits for the next agent, and is forgotten.
  mutating func leave() { phase = .left }

  /// Goes on with the run of another agent's program.
  mutating func adopt(_ program: Program, on path: NetworkPath?) {
    phase = .running(program)
    run.begin(.init(path: path, link: .wanted, isTakenOver: true))
  }

  /// Another agent's program, which this one would not have started so, is to end: first its run, if it can be asked to.
  mutating func replace(_ program: Program) { phase = .outdated(program) }
}
