internal import ConfinedProcess
package import GatewayCore
package import GatewayStore
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
package import SystemdIO

/// A store on a server, by way of `roamward-gateway-store`: that process has the connection and parses what the server sends; here only
/// typed values arrive. It is started when it is needed, and again after it has ended.
///
/// Every request waits for its answer, for `patience` at most. After a failure of the connection, requests fail at once until `pause` is
/// over: a gateway whose store is away goes on with its other work.
package final class StoreProcess: StoreEngine {
  static let program = "roamward-gateway-store"
  static let patience = Duration.seconds(5)

  private let target: String
  private var worker: Worker?
  private var pause = RestartPause()
  private var lastFailure: StoreError?
  /// A lost connection has rolled its transaction back: its other statements must not run on the next connection.
  private var isInTransaction = false
  private var follower: Follower?

  private struct Worker {
    let process: Int32
    let channel: MessageChannel
  }

  private struct Follower {
    let loop: EventLoop
    let changed: () -> Void
    var source: EventSource?
    /// Set while `changed` is due.
    var due: EventSource?
  }

  /// `target`: libpq's connection string.
  package init(_ target: String) { self.target = target }

  deinit { end() }

  /// When a new connection may be made after the last failure; `nil`: there was none.
  var nextAttempt: Moment? { pause.end }

  /// Calls `changed` after every transaction that some gateway or command has committed, as long as the connection lasts.
  package func follow(on loop: EventLoop, changed: @escaping () -> Void) {
    follower = Follower(loop: loop, changed: changed)
    attach()
  }

  private func attach() {
    guard let worker, let loop = follower?.loop else { return }
    follower?.source = try? loop.whenReadable(worker.channel.descriptor.number) { [weak self] in self?.receiveNews() }
  }

  private func receiveNews() {
    while let worker {
      do throws(SystemError) {
        switch try worker.channel.receive() {
        case .nothing: return
        case .ended: _ = fail(StoreError("store: the connection to the server is lost"))
        case .message(let bytes, _):
          guard (try? StoreReply(bytes)) == .changed else { return end() }
          follower?.changed()
        }
      } catch { return end() }
    }
  }

  private func end() {
    follower?.source = nil
    guard let worker else { return }
    self.worker = nil
    // A process that may not be killed ends by the closing of its channel.
    guard Privileges.signal(worker.process, SIGKILL) else { return }
    var status: Int32 = 0
    while waitpid(worker.process, &status, 0) < 0, errno == EINTR {}
  }

  private func fail(_ error: StoreError) -> StoreError {
    end()
    pause.fail(at: .now)
    lastFailure = error
    return error
  }
}

// Requests.
extension StoreProcess {
  private func connected() throws(StoreError) -> Worker {
    if let worker { return worker }
    if let lastFailure, isInTransaction || pause.end.map({ $0 > .now }) == true { throw lastFailure }
    let worker: Worker
    do throws(SystemError) {
      let (ours, theirs) = try MessageChannel.pair()
      let process = try SpawnedProgram(
        programBeside(Self.program), [Self.program, "--at-work"], environment: [],
        descriptors: [.nothing, .nothing, .nothing, .open(theirs)], company: .group
      ).start()
      worker = Worker(process: process, channel: ours)
    } catch {
      throw fail(StoreError("store: \(error)", help: "install \(Self.program), of the package roamward-gateway"))
    }
    self.worker = worker
    try finish(.connect(target), on: worker)
    attach()
    return worker
  }

  @discardableResult private func finish(_ request: StoreRequest, on worker: Worker) throws(StoreError) -> [[SQLValue]] {
    let bytes = request.bytes
    guard bytes.count <= MessageChannel.limit else { throw StoreError("store: a value is too long", help: "use fewer or shorter values") }
    do throws(SystemError) { try worker.channel.send(bytes) } catch { throw fail(StoreError("store: \(error)")) }
    var deadline = Moment.now + Self.patience
    var rows: [[SQLValue]] = []
    while true {
      guard worker.channel.wait(atMost: deadline - .now) else {
        throw fail(StoreError("store: the server has not answered for \(Self.patience.components.seconds) s", help: "check the server"))
      }
      switch next(on: worker) {
      case nil: break
      case .rows(let part)?:
        rows += part
        deadline = .now + Self.patience
      case .done?:
        lastFailure = nil
        return rows
      case .changed?: remember()
      case .failed(let error)?:
        // Without a connection, that process has ended itself, or is about to.
        if case .connect = request { throw fail(error) }
        throw error
      }
    }
  }

  private func next(on worker: Worker) -> StoreReply? {
    do throws(SystemError) {
      switch try worker.channel.receive() {
      case .nothing: return nil
      case .ended: return .failed(fail(StoreError("store: the connection to the server is lost", help: "check the server")))
      case .message(let bytes, _):
        if let reply = try? StoreReply(bytes) { return reply }
        return .failed(fail(StoreError("store: \(Self.program) says what no answer is; it is ended")))
      }
    } catch { return .failed(fail(StoreError("store: \(error)"))) }
  }

  /// News that came between the parts of an answer is told afterwards.
  private func remember() {
    guard let loop = follower?.loop, follower?.due == nil else { return }
    follower?.due = try? loop.at(.now) { [weak self] in
      self?.follower?.due = nil
      self?.follower?.changed()
    }
  }

  private func finish(_ request: StoreRequest) throws(StoreError) { try finish(request, on: try connected()) }

  private func begin(_ request: StoreRequest) throws(StoreError) {
    isInTransaction = false
    try finish(request)
    isInTransaction = true
  }

  package func beginWriting() throws(StoreError) { try begin(.beginWriting) }
  package func beginReading() throws(StoreError) { try begin(.beginReading) }
  package func announce() throws(StoreError) { try finish(.announce) }

  package func commit() throws(StoreError) {
    try finish(.commit)
    isInTransaction = false
  }

  package func rollBack() {
    if let worker, isInTransaction { _ = try? finish(.rollBack, on: worker) }
    isInTransaction = false
  }

  @discardableResult package func run(_ statement: String, _ values: [SQLValue]) throws(StoreError) -> [[SQLValue]] {
    try finish(.run(statement, values), on: try connected())
  }

  /// The server checks its pages itself.
  package func problems() throws(StoreError) -> [String] { [] }
}
