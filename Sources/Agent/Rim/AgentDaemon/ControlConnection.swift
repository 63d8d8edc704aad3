import AgentCore
internal import ControlProtocol
internal import Glibc
internal import LinuxIO
import LinuxPlatform
internal import SystemdIO

/// The messages that a client receives without a further request.
enum Monitoring {
  case nothing, events
  /// Events, and every observed network.
  case everything

  func includes(_ event: Event.Kind) -> Bool {
    if case .snapshot = event { self == .everything } else { self != .nothing }
  }
}

/// The limit of a client's requests.
struct RequestLimit {
  let bytes: Int
  /// The reply to a request that is longer; the connection ends after it.
  let complaint: String
}

/// One connection of the local socket. It is read only in its turn, and not while an answer is unsent. A client that does not read its
/// events in time is disconnected: the backlog is limited.
final class ControlConnection {
  private static let longestBacklog = 1 << 20

  let caller: Caller
  /// A sequence number.
  let number: Int
  var monitors = Monitoring.nothing
  /// Called when a request or an answer is pending.
  var whenReady: () -> Void = {}
  var whenGone: () -> Void = {}
  private let connection: FileDescriptor
  private let limit: RequestLimit
  private var input = LineBuffer()
  private var output = OutgoingBytes()
  /// The event source of both directions: the loop watches a descriptor once. `nil` after the end.
  private var source: EventSource?
  private var phase = Phase.reading

  /// The progress of its next request, or of its last one.
  private enum Phase {
    /// It is read when something comes.
    case reading
    /// Something has come, and it waits for its turn.
    case awaitsTurn
    /// The answer is being made. The check of the caller's right to it ends with the connection.
    case awaitsReply(check: AnyObject?)
  }

  init(_ connection: FileDescriptor, caller: Caller, number: Int, limit: RequestLimit) {
    self.connection = connection
    self.caller = caller
    self.number = number
    self.limit = limit
  }

  func start(on loop: EventLoop) -> Bool {
    source = try? loop.whenReady(connection.number, events: Readiness.readable) { [weak self] in self?.happened($0) }
    source?.setPriority(.client)
    return source != nil
  }

  private func happened(_ bits: UInt32) {
    // The client has closed the connection: no reply can reach it.
    if bits & Readiness.ended != 0 { return hangUp() }
    if bits & Readiness.writable != 0 { flush() }
    if bits & Readiness.readable != 0, output.isEmpty { awaitTurn() }
  }

  private func awaitTurn() {
    guard source != nil, case .reading = phase else { return }
    phase = .awaitsTurn
    watch()
    whenReady()
  }

  /// Handles at most one read and one request.
  func takeTurn(_ answer: ([UInt8]) -> Void) {
    guard case .awaitsTurn = phase else { return }
    phase = .reading
    guard output.isEmpty else { return watch() }
    if !input.hasLine { receive() }
    guard source != nil else { return }
    if output.isEmpty, let line = input.takeLine() {
      // A disconnected client gets no answer, even to an earlier request.
      guard !hasHungUp else { return hangUp() }
      answer(line)
    }
    goOn()
  }

  private var hasHungUp: Bool {
    var poller = pollfd(fd: connection.number, events: 0, revents: 0)
    return poll(&poller, 1, 0) > 0
  }

  /// Waits for the reply that `begin` makes, at once or later, until `endReply`. It returns the check of the caller's right.
  func awaitReply(_ begin: () -> AnyObject?) {
    phase = .awaitsReply(check: nil)
    let check = begin()
    if case .awaitsReply = phase { phase = .awaitsReply(check: check) }
  }

  /// Sends the reply to its last request.
  func endReply(_ text: String) {
    phase = .reading
    send(text)
  }

  private func goOn() {
    guard source != nil else { return }
    if output.isEmpty, input.hasLine, case .reading = phase { awaitTurn() } else { watch() }
  }

  private func watch() {
    guard output.isEmpty else {
      source?.setEvents(Readiness.writable)
      return
    }
    if case .reading = phase { source?.setEvents(Readiness.readable) } else { source?.setEvents(0) }
  }

  func send(_ text: String) {
    guard source != nil else { return }
    output.append(text)
    flush()
  }

  private func receive() {
    do throws(SystemError) {
      guard let bytes = try connection.read(atMost: min(65_536, limit.bytes)) else { return }
      guard !bytes.isEmpty else { return hangUp() }
      input.append(bytes)
    } catch {
      return hangUp()
    }
    guard !input.hasLine, input.count > limit.bytes else { return }
    send(limit.complaint)
    hangUp()
  }

  private func flush() {
    do throws(SystemError) { try output.write(to: connection) } catch { return hangUp() }
    if output.count > Self.longestBacklog { return hangUp() }
    goOn()
  }

  func hangUp() {
    guard source != nil else { return }
    source = nil
    whenGone()
  }
}

/// The bytes that are still to be sent on a connection.
private struct OutgoingBytes {
  private var bytes: [UInt8] = []
  private var sent = 0

  var count: Int { bytes.count - sent }
  var isEmpty: Bool { bytes.isEmpty }

  mutating func append(_ text: String) { bytes += Array(text.utf8) }

  /// Writes as much as the connection takes now.
  mutating func write(to connection: FileDescriptor) throws(SystemError) {
    while sent < bytes.count {
      let count = try connection.write(bytes[sent...])
      if count == 0 { break }
      sent += count
    }
    if sent == bytes.count {
      (bytes, sent) = ([], 0)
    } else if sent > 65_536 {
      bytes.removeFirst(sent)
      sent = 0
    }
  }
}
