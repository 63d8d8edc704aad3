internal import ConfinedProcess
internal import Glibc
import LinuxIO
internal import NetworkTypes
internal import ProbeProtocol
internal import RoamwardCore
package import SystemdIO
internal import WorkerLife

/// Runs `roamward-probe`, the confined process for the agent's network queries: started for a task, and ended after a time without one.
///
/// The helper is not trusted. It gets sockets to the destinations of its tasks, by their passage, and no others. Its messages are read with
/// limits; a message without a matching task ends it. If it dies, hangs or breaks these rules, its tasks fail with the reason. It is
/// started again for the next one, after a growing pause (`WorkerSupervisor`).
package final class ProbeHelper {
  package static let program = "roamward-probe"

  /// A task failed for a reason other than the network.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// A message that does not belong to what was asked.
  private struct Violation: Error, CustomStringConvertible {
    let description: String
  }

  /// Time limits, shortened by tests.
  package struct Patience: Sendable {
    /// The time after which a helper without a task is ended.
    package var idle = Duration.seconds(30)
    /// The limit from its start to its first message.
    package var greeting = Duration.seconds(10)
    /// The limit from the cancellation of a task to its final message.
    package var parting = Duration.seconds(2)

    package init() {}
  }

  private struct Open {
    let errand: Errand
    let passage: Passage
    /// `nil`: cancelled.
    var handler: ((Result<ErrandAnswer, Failure>) -> Void)?
    var isSent = false
    var wishes = 0
    /// The reason why a socket of its passage could not be created.
    var refusal: SystemError?
    /// The deadline of the helper's final message on it.
    var partsBy: Moment?
  }

  private let loop: EventLoop
  private let path: String?
  private let patience: Patience
  private lazy var worker = WorkerSupervisor(
    Self.program, at: path, WorkerLife.Limits(greeting: patience.greeting), on: loop,
    take: { [weak self] in try self?.take(HelperMessage($0)) }, tell: { [weak self] in self?.hear($0) })
  private var open: [UInt32: Open] = [:]
  /// Tasks that have not been sent, in order.
  private var waiting: [UInt32] = []
  private var count: UInt32 = 0
  /// Rings at the deadline of a final message.
  private var alarm: EventSource?
  /// Results to be delivered from the loop.
  private var news: [UInt32: EventSource] = [:]

  /// `path`: searched on PATH unless it contains a slash; `nil`: where our programs are.
  package init(on loop: EventLoop, path: String? = nil, patience: Patience = Patience()) {
    self.loop = loop
    self.path = path
    self.patience = patience
  }

  /// The reason why it cannot work here: not installed, or no confinement possible (a start tests that); `nil`: it works.
  package static var absence: String? {
    let path = ownProgram(program)
    guard isOnPath(path) else { return "\(program) is neither installed with roamwardd nor on its PATH" }
    var outcome: ChildProcess.Outcome?
    do throws(SystemError) {
      let loop = try EventLoop()
      let child = try ChildProcess([path, "--check"], timeout: .seconds(10), on: loop) {
        outcome = $0
        loop.stop()
      }
      _ = try loop.run()
      withExtendedLifetime(child) {}
    } catch {
      return error.description
    }
    guard let outcome, outcome.code != 0 else { return nil }
    return outcome.output.split(separator: "\n").first.map(String.init) ?? "\(program) ends with status \(outcome.code)"
  }

  /// The helper's process ID, if it runs.
  package var process: Int32? { worker.process }

  /// Sends a task to the helper. `then` is called once, later, never during this call, and never if the run was released before.
  func run(_ errand: Errand, by passage: Passage, then: @escaping (Result<ErrandAnswer, Failure>) -> Void) -> ErrandRun {
    count &+= 1
    let id = count
    open[id] = Open(errand: errand, passage: passage, handler: then)
    waiting.append(id)
    worker.work()
    start()
    flush()
    return ErrandRun(id, self)
  }

  /// Ends the process, because the machine has left the network that it spoke to: if it was taken over there, it must not answer for the
  /// next one. Tasks that are still wanted go to a new process.
  package func renew() {
    guard worker.isRunning else { return }
    worker.end()
    for id in open.keys.sorted() where open[id]?.isSent == true {
      if let task = open[id], task.handler != nil {
        open[id] = Open(errand: task.errand, passage: task.passage, handler: task.handler)
        waiting.append(id)
      } else {
        open[id] = nil
      }
    }
    waiting.sort()
    setAlarm()
    if !waiting.isEmpty { start() }
  }

  fileprivate func isWaiting(_ id: UInt32) -> Bool { open[id]?.isSent == false }

  fileprivate func cancel(_ id: UInt32) {
    news[id] = nil
    guard open[id]?.handler != nil else { return }
    open[id]?.handler = nil
    guard open[id]?.isSent == true else {
      waiting.removeAll { $0 == id }
      close(id)
      return
    }
    open[id]?.partsBy = .now + patience.parting
    send(.cancel(id))
    setAlarm()
  }

  private func close(_ id: UInt32) {
    open[id] = nil
    setAlarm()
    flush()
  }
}

// Start and stop.
extension ProbeHelper {
  private func start() {
    if worker.isRunning { return }
    if let trouble = worker.obstacle, let end = worker.mayStart {
      return failSoon("\(trouble); it is started again in \(seconds(until: end)) s")
    }
    do throws(SystemError) { try worker.start() } catch {
      let cure = error.code == ENOENT ? "; cure: install the package roamward, or the program in PATH" : ""
      let trouble = "\(Self.program) cannot be started: \(error.reason)\(cure)"
      worker.postpone(trouble)
      failSoon(trouble)
    }
  }

  private func seconds(until moment: Moment) -> Int64 { max(1, (moment - .now).components.seconds + 1) }

  private func hear(_ news: WorkerSupervisor.News) {
    switch news {
    case .failed(let trouble): failAll(trouble)
    // The next task starts it.
    case .mayStart: break
    }
  }

  /// The helper has ended: all its tasks fail.
  private func failAll(_ trouble: String) {
    let failing = open.sorted { $0.key < $1.key }
    open = [:]
    waiting = []
    setAlarm()
    for (_, errand) in failing { errand.handler?(.failure(Failure(description: trouble))) }
  }

  /// The same for new tasks, whose senders do not expect an answer during the call.
  private func failSoon(_ trouble: String) {
    let failing = waiting
    waiting = []
    for id in failing {
      guard let handler = open.removeValue(forKey: id)?.handler else { continue }
      news[id] = try? loop.at(.now) { [weak self] in
        self?.news[id] = nil
        handler(.failure(Failure(description: trouble)))
      }
    }
  }

  private func setAlarm() {
    alarm = open.values.compactMap(\.partsBy).min().flatMap { moment in
      try? loop.at(moment) { [weak self] in self?.worker.fail("\(Self.program) hangs") }
    }
  }
}

// Messages.
extension ProbeHelper {
  /// Sends the tasks that may be sent now.
  private func flush() {
    guard worker.hasGreeted else { return }
    for id in waiting {
      guard let errand = open[id]?.errand, open.values.count(where: { $0.isSent && $0.errand.isLookUp == errand.isLookUp }) < errand.limit
      else { continue }
      waiting.removeAll { $0 == id }
      open[id]?.isSent = true
      send(.errand(id, errand))
    }
    if open.isEmpty { worker.rest(for: patience.idle) }
  }

  private func send(_ message: AgentMessage, passing socket: FileDescriptor? = nil) {
    let bytes = message.bytes
    // The policy's URL and pins exceed the limit of a message.
    if bytes.count > MessageChannel.limit, case .errand(let id, _) = message {
      waiting.append(id)
      let kept = waiting
      waiting = [id]
      failSoon("the request is longer than \(MessageChannel.limit) bytes")
      waiting = kept.filter { $0 != id }
      return
    }
    worker.send(bytes, passing: socket)
  }

  private func take(_ message: HelperMessage) throws {
    switch message {
    case .hello(let trouble) where !worker.hasGreeted: if worker.greet(trouble) { flush() }
    case .wish(let wish) where open[wish.errand]?.isSent == true: try grant(wish)
    case .answer(let id, let answer) where open[id]?.isSent == true: try take(answer, of: id)
    default: throw Violation(description: "an answer without a request")
    }
  }

  private func grant(_ wish: SocketWish) throws(Violation) {
    guard let errand = open[wish.errand], errand.errand.leads(to: wish), errand.wishes < errand.errand.mostWishes else {
      throw Violation(description: "a socket that its errand does not lead to")
    }
    open[wish.errand]?.wishes += 1
    do throws(Passage.Refusal) {
      send(.socket(wish: wish.number, trouble: nil), passing: try errand.passage.socket(wish.transport, to: wish.destination))
    } catch {
      switch error {
      case .unusable(let error):
        open[wish.errand]?.refusal = error
        send(.socket(wish: wish.number, trouble: error.description))
      case .unreachable(let error): send(.socket(wish: wish.number, trouble: error.description))
      }
    }
  }

  private func take(_ answer: ErrandAnswer, of id: UInt32) throws(Violation) {
    guard let errand = open[id] else { return }
    guard errand.errand.expects(answer), answer != .cancelled || errand.handler == nil else {
      throw Violation(description: "an answer to another errand")
    }
    close(id)
    guard let handler = errand.handler else { return }
    if let refusal = errand.refusal, !answer.isSuccess {
      handler(.failure(Failure(description: refusal.description)))
    } else {
      handler(.success(answer))
    }
  }
}

/// A task in progress, as long as the value is retained; it retains the helper.
final class ErrandRun {
  private let id: UInt32
  private let helper: ProbeHelper

  fileprivate init(_ id: UInt32, _ helper: ProbeHelper) {
    self.id = id
    self.helper = helper
  }

  /// Whether it has not been sent yet: the helper is being started, or is busy.
  var isWaiting: Bool { helper.isWaiting(id) }

  deinit { helper.cancel(id) }
}

extension Errand {
  fileprivate var isLookUp: Bool { if case .lookUp = self { true } else { false } }

  /// The number of tasks of its kind that the helper runs at once.
  fileprivate var limit: Int { isLookUp ? ProbeLimits.lookUps : ProbeLimits.transfers }

  private var destinations: [Destination] {
    switch self {
    case .lookUp(let order): order.servers
    case .transfer(let order):
      URLParts(order.url).map { parts in order.addresses.map { Destination($0, port: parts.port) } } ?? []
    }
  }

  fileprivate func leads(to wish: SocketWish) -> Bool { destinations.contains(wish.destination) && (isLookUp || wish.transport == .tcp) }

  fileprivate var mostWishes: Int { destinations.count + ProbeLimits.spareSockets }

  /// Whether this may be the result of the task.
  fileprivate func expects(_ answer: ErrandAnswer) -> Bool {
    switch (self, answer) {
    case (_, .cancelled): true
    case (.lookUp, .addresses), (.lookUp, .noSuchName), (.lookUp, .noAddress), (.lookUp, .silence), (.lookUp, .failed): true
    case (.transfer(let order), .response(_, let body)): body.count <= order.bodyLimit
    case (.transfer, .impostor), (.transfer, .unanswered), (.transfer, .unsent): true
    default: false
    }
  }
}

extension ErrandAnswer {
  fileprivate var isSuccess: Bool {
    switch self {
    case .addresses, .response: true
    default: false
    }
  }
}
