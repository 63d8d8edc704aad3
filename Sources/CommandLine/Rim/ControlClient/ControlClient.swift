package import ControlProtocol
internal import Glibc
package import JSON
internal import LinuxIO
internal import NetworkTypes

/// A connection to the agent's local socket.
package final class ControlClient {
  /// The reason why there is no answer.
  package enum Failure: Error, Equatable, Sendable {
    /// No agent is listening.
    case noAgent(path: String, reason: String)
    case refused(RequestError)
    /// The agent closed the connection, or violated the protocol.
    case broken(String)
  }

  package static let defaultPath = ControlSocket.standard

  private let connection: FileDescriptor
  private var input = LineBuffer()

  package init(path: String) throws(Failure) {
    // Try the owners' own socket first: other users cannot block it.
    if let owners = try? FileDescriptor.connect(to: ControlSocket.ownersPath(of: path)) {
      connection = owners
      return
    }
    do throws(SystemError) {
      connection = try FileDescriptor.connect(to: path)
    } catch {
      throw .noAgent(path: path, reason: error.reason)
    }
  }

  /// Sends a request and returns its result. A stopped agent does not answer: `limit` limits the wait. `whileWaiting` is called every
  /// quarter of a second until the answer comes, with the time that has passed.
  package func ask(_ request: Request, within limit: Duration? = nil, whileWaiting: ((Duration) -> Void)? = nil) throws(Failure) -> JSON {
    do throws(SystemError) {
      try connection.writeAll(Array((request.json.text() + "\n").utf8))
    } catch {
      // An agent that refuses a long request says why before it closes.
      guard error.code == EPIPE || error.code == ECONNRESET else { throw .broken(error.description) }
    }
    if let whileWaiting {
      let began = Moment.now
      while !hasInput(within: .milliseconds(250)) { whileWaiting(.now - began) }
    }
    if let limit { try wait(until: .now + limit) }
    guard let json = try nextLine() else { throw .broken("the agent closed the connection without an answer") }
    switch try Self.read(json, { json throws(JSONMismatch) in try Reply(json) }) {
    case .done(let result): return result
    case .refused(let error): throw .refused(error)
    }
  }

  /// The agent's report.
  package func status(within limit: Duration? = nil) throws(Failure) -> StatusReport {
    try Self.read(try ask(.status, within: limit)) { json throws(JSONMismatch) in try json.decoded() }
  }

  /// The agent's report with its counts.
  package func metrics(within limit: Duration? = nil) throws(Failure) -> MetricsReport {
    try Self.read(try ask(.metrics, within: limit)) { json throws(JSONMismatch) in try json.decoded() }
  }

  /// The network as the agent sees it: `request` is `network`, or `monitor` with snapshots.
  package func network(_ request: Request = .network, within limit: Duration? = nil) throws(Failure) -> NetworkReply {
    try Self.read(try ask(request, within: limit)) { json throws(JSONMismatch) in try json.decoded() }
  }

  private static func read<Value>(_ json: JSON, _ read: (JSON) throws(JSONMismatch) -> Value) throws(Failure) -> Value {
    do throws(JSONMismatch) { return try read(json) } catch { throw .broken("the agent's answer cannot be read: \(error)") }
  }

  private func hasInput(within duration: Duration) -> Bool {
    var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return hasLine || poll(&poller, 1, Int32(clamping: duration.milliseconds)) > 0
  }

  private func wait(until deadline: Moment) throws(Failure) {
    while !hasLine {
      let left = (deadline - .now).milliseconds
      var poller = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let count = poll(&poller, 1, Int32(clamping: max(0, left)))
      if count > 0 { return }
      if left <= 0 { throw .broken("the agent does not answer") }
    }
  }

  /// Waits for the next event of a monitoring connection; `nil` if the agent closed it.
  package func next() throws(Failure) -> EventReport? {
    guard let json = try nextLine() else { return nil }
    return try Self.read(json) { json throws(JSONMismatch) in try json.decoded() }
  }

  private func nextLine() throws(Failure) -> JSON? {
    while true {
      if let line = input.takeLine() {
        do throws(JSONError) { return try JSON(parsing: line) } catch { throw .broken("not JSON: \(error.reason)") }
      }
      do throws(SystemError) {
        guard let bytes = try connection.read(), !bytes.isEmpty else { return nil }
        input.append(bytes)
      } catch {
        throw .broken(error.description)
      }
    }
  }

  /// The descriptor, for waiting with a time limit.
  package var descriptor: Int32 { connection.number }

  /// True if a whole line has been received.
  package var hasLine: Bool { input.hasLine }
}

extension ControlClient.Failure: CustomStringConvertible {
  package var description: String {
    switch self {
    case .noAgent(let path, let reason): "no agent answers at \(path): \(reason)"
    case .refused(let error): error.message
    case .broken(let reason): reason
    }
  }
}
