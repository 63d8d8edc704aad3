import AgentCore
internal import ControlProtocol
internal import Glibc
internal import LinuxIO
import LinuxPlatform
internal import NetworkTypes
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

/// One connection of the local socket. It is read only in its turn, and not while an answer is unsent. An answer may have any length, and
/// its client nearly any speed: one that takes next to nothing of a long backlog is disconnected, and so is one that lets very many
/// events pile up.
final class ControlConnection {
  /// The most that is kept of events.
  private static let mostEvents = 1 << 22

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
  private var output: OutgoingBytes
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

  init(_ connection: FileDescriptor, caller: Caller, number: Int, limit: RequestLimit, loop: EventLoop) {
    output = OutgoingBytes(loop)
    self.connection = connection
    self.caller = caller
    self.number = number
    self.limit = limit
  }

  func start() -> Bool {
    source = try? output.loop.whenReady(connection.number, events: Readiness.readable) { [weak self] in self?.happened($0) }
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

  /// Sends an event, after those that the client has not taken yet.
  func sendEvent(_ text: String) {
    if output.count > Self.mostEvents { return hangUp() }
    send(text)
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
    do throws(SystemError) {
      try output.write(to: connection) { [weak self] in self?.hangUp() }
    } catch {
      return hangUp()
    }
    goOn()
  }

  func hangUp() {
    guard source != nil else { return }
    source = nil
    output.forget()
    whenGone()
  }
}

/// The bytes that are still to be sent on a connection.
private struct OutgoingBytes {
  /// Of what is longer, the client has to take `least` within `patience`.
  private static let longest = 1 << 20
  private static let least = 1 << 16
  private static let patience = Duration.seconds(10)

  let loop: EventLoop
  private var bytes: [UInt8] = []
  private var sent = 0
  /// Fires unless the client takes enough of a long backlog before.
  private var stall: EventSource?
  /// The bytes that it has taken since.
  private var taken = 0

  init(_ loop: EventLoop) { self.loop = loop }

  mutating func forget() { (bytes, sent, stall) = ([], 0, nil) }

  var count: Int { bytes.count - sent }
  var isEmpty: Bool { bytes.isEmpty }

  mutating func append(_ text: String) { bytes += Array(text.utf8) }

  /// Writes as much as the connection takes now. `stalled` is called when it has taken too little of a long backlog for a while.
  mutating func write(to connection: FileDescriptor, _ stalled: @escaping () -> Void) throws(SystemError) {
    let before = count
    while sent < bytes.count {
      let count = try connection.write(bytes[sent...])
      if count == 0 { break }
      sent += count
    }
    if sent == bytes.count { (bytes, sent) = ([], 0) }
    // Not often: the rest is moved.
    if sent > bytes.count / 2 {
      bytes.removeFirst(sent)
      sent = 0
    }
    if count <= Self.longest {
      stall = nil
      return
    }
    taken += before - count
    guard stall == nil || taken >= Self.least else { return }
    stall = try loop.at(.now + Self.patience, stalled)
    taken = 0
  }
}
