package import LinuxIO
internal import Lives
package import NetworkTypes
package import SystemdIO
package import WorkerLife

/// The parent of a worker that is started again after it has failed: carries out its life (`WorkerLife`).
package final class WorkerSupervisor {
  /// News for its owner.
  package enum News: Equatable {
    /// It has failed, and its tasks with it.
    case failed(String)
    /// The pause after this failure is over.
    case mayStart(after: String)
  }

  /// The path that it is started by, instead of the one where our programs are.
  private let place: String?
  private let loop: EventLoop
  private let take: ([UInt8]) throws -> Void
  private let tell: (News) -> Void
  private var life: WorkerLife
  private var run: WorkerRun?
  private var alarm: EventSource?

  /// - Parameters:
  ///   - program: its name.
  ///   - path: its path, searched on PATH unless it contains a slash; `nil`: where our programs are.
  ///   - take: takes a message; throws if it is none that this process may say, which is a failure.
  ///   - tell: called with its news; during a call of this value only with a failure that this call is about.
  package init(
    _ program: String, at path: String? = nil, _ limits: WorkerLife.Limits = WorkerLife.Limits(), on loop: EventLoop,
    take: @escaping ([UInt8]) throws -> Void, tell: @escaping (News) -> Void
  ) {
    place = path
    self.loop = loop
    self.take = take
    self.tell = tell
    life = WorkerLife(program, limits)
  }

  /// Whether its program is there.
  package var isInstalled: Bool { isOnPath(place ?? ownProgram(life.program)) }

  package var isRunning: Bool { life.isRunning }

  /// Whether it has said its first message.
  package var hasGreeted: Bool { life.hasGreeted }

  /// The reason why none should be started now.
  package var obstacle: String? { life.obstacle(at: .now) }

  /// The end of the pause after a failure; `nil`: one runs, or may be started.
  package var mayStart: Moment? { life.mayStart }

  /// The process ID, if it runs.
  package var process: Int32? { run?.number }

  /// Starts it unless it runs; a pause is cut short. Throws if it cannot be started, which counts as a failure once the owner says so.
  package func start() throws(SystemError) {
    guard let token = life.start(at: .now) else { return }
    do throws(SystemError) {
      run = try WorkerRun(life.program, at: place, on: loop, take: take) { [weak self] in self?.fail(token, $0) }
    } catch {
      end()
      throw error
    }
    setAlarm()
  }

  /// Sends a message, as soon as the process has read enough of those before.
  package func send(_ message: [UInt8], passing file: FileDescriptor? = nil) { run?.send(message, passing: file) }

  /// Takes the first message. `trouble`: the reason why it cannot work, which is a failure. Returns whether it can, and this was awaited.
  package func greet(_ trouble: String?) -> Bool {
    if let trouble {
      fail(WorkerTrouble.refuses(trouble).words(of: life.program))
      return false
    }
    defer { setAlarm() }
    return life.greeted()
  }

  /// Ends it. Nothing is told. A pause goes on.
  package func end() { perform(life.end()) }

  /// It is of no use, or lacks something: it is ended, and the reason is told.
  package func fail(_ trouble: String) { perform(life.fail(trouble, at: .now)) }

  /// No start can be tried for a longer while.
  package func postpone(_ trouble: String) {
    life.postpone(trouble, at: .now)
    setAlarm()
  }

  /// It has done its work.
  package func prove() { life.prove() }

  /// It has a task.
  package func work() {
    life.work()
    setAlarm()
  }

  /// It has no task, and is ended after this time, unless it gets one.
  package func rest(for time: Duration) {
    life.rest(until: .now + time)
    setAlarm()
  }

  private func fail(_ token: LifeToken, _ trouble: WorkerTrouble) { perform(life.fail(token, trouble, at: .now)) }

  private func setAlarm() {
    alarm = life.deadline.flatMap { moment in
      try? loop.at(moment) { [weak self] in
        guard let self else { return }
        perform(life.pass(at: .now))
      }
    }
  }

  private func perform(_ effects: [WorkerLife.Effect]) {
    if effects.contains(.end) { (_, run) = (run?.end(), nil) }
    // Before the news: its receiver may start another one.
    setAlarm()
    for effect in effects {
      switch effect {
      case .end: break
      case .failed(let trouble): tell(.failed(trouble))
      case .mayStart(let trouble): tell(.mayStart(after: trouble))
      }
    }
  }
}
