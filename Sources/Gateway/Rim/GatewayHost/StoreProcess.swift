internal import ConfinedProcess
package import GatewayCore
package import GatewayStore
internal import LinuxIO
internal import NetworkTypes
package import SystemdIO
internal import WorkerLife

/// A store on a server, by way of `roamward-gateway-store`: that process has the connection and parses what the server sends; here only
/// typed values arrive. It is started when it is needed, and again after it has ended.
///
/// Every request waits for its answer, for `patience` at most. After a failure of the connection, requests fail at once until `pause` is
/// over: a gateway whose store is away goes on with its other work.
package final class StoreProcess: StoreEngine {
  static let program = "roamward-gateway-store"
  static let patience = Duration.seconds(5)

  private let target: String
  private enum Connection {
    case none
    case open(ConfinedProcess)
    case lost(StoreError)
  }

  private var life = WorkerLife(StoreProcess.program)
  private var connection = Connection.none
  /// A lost connection has rolled its transaction back: its other statements must not run on the next connection.
  private var isInTransaction = false
  private var follower: Follower?

  private struct Follower {
    let loop: EventLoop
    let changed: () -> Void
    var source: EventSource?
    /// Set while `changed` is due.
    var due: EventSource?
  }

  /// `target`: libpq's connection string.
  package init(_ target: String) { self.target = target }

  deinit { worker?.end() }

  /// When a new connection may be made after the last failure; `nil`: there is one, or none was needed.
  var nextAttempt: Moment? { life.mayStart }

  private var worker: ConfinedProcess? { if case .open(let worker) = connection { worker } else { nil } }

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
          if (try? StoreReply(bytes)) == .changed { follower?.changed() } else { _ = fail(Self.noAnswer) }
        }
      } catch { _ = fail(StoreError("store: \(error)")) }
    }
  }

  private static var noAnswer: StoreError { StoreError("store: \(program) says what no answer is; it is ended") }

  private func fail(_ error: StoreError) -> StoreError {
    follower?.source = nil
    if life.fail(error.description, at: .now).contains(.end) { worker?.end() }
    connection = .lost(error)
    return error
  }
}

// Requests.
extension StoreProcess {
  private func connected() throws(StoreError) -> ConfinedProcess {
    switch connection {
    case .open(let worker): return worker
    case .lost(let error) where isInTransaction || life.obstacle(at: .now) != nil: throw error
    case .none, .lost: break
    }
    _ = life.start(at: .now)
    let worker: ConfinedProcess
    do throws(SystemError) {
      worker = try ConfinedProcess(Self.program, on: follower?.loop)
    } catch {
      throw fail(StoreError("store: \(error)", help: "install \(Self.program), of the package roamward-gateway"))
    }
    connection = .open(worker)
    try finish(.connect(target), on: worker)
    attach()
    return worker
  }

  @discardableResult private func finish(_ request: StoreRequest, on worker: ConfinedProcess) throws(StoreError) -> [[SQLValue]] {
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
      case .done?: return rows
      case .changed?: remember()
      case .failed(let error)?:
        // Without a connection, that process has ended itself, or is about to.
        if case .connect = request { throw fail(error) }
        throw error
      }
    }
  }

  private func next(on worker: ConfinedProcess) -> StoreReply? {
    do throws(SystemError) {
      switch try worker.channel.receive() {
      case .nothing: return nil
      case .ended: return .failed(fail(StoreError("store: the connection to the server is lost", help: "check the server")))
      case .message(let bytes, _):
        if let reply = try? StoreReply(bytes) { return reply }
        return .failed(fail(Self.noAnswer))
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
