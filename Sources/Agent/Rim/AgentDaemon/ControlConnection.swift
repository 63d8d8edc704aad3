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
  private let longestRequest: Int
  private let complaint: String
  private var input = LineBuffer()
  private var output: [UInt8] = []
  private var sent = 0
  /// The event source of both directions: the loop watches a descriptor once. `nil` after the end.
  private var source: EventSource?
  private var awaitsTurn = false
  /// Whether the answer to its last request is still being made.
  var awaitsReply = false
  /// The check of the caller's right to the last request. It ends with the connection.
  var check: AnyObject?

  /// `complaint`: the reply to a request that is too long; the connection ends after it.
  init(_ connection: FileDescriptor, caller: Caller, number: Int, longestRequest: Int, complaint: String) {
    self.connection = connection
    self.caller = caller
    self.number = number
    self.longestRequest = longestRequest
    self.complaint = complaint
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
    guard source != nil, !awaitsTurn else { return }
    awaitsTurn = true
    watch()
    whenReady()
  }

  /// Handles at most one read and one request.
  func takeTurn(_ answer: ([UInt8]) -> Void) {
    awaitsTurn = false
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

  private func goOn() {
    guard source != nil else { return }
    if output.isEmpty, input.hasLine, !awaitsReply { awaitTurn() } else { watch() }
  }

  private func watch() {
    source?.setEvents(output.isEmpty ? awaitsTurn || awaitsReply ? 0 : Readiness.readable : Readiness.writable)
  }

  func send(_ text: String) {
    guard source != nil else { return }
    output += Array(text.utf8)
    flush()
  }

  private func receive() {
    do throws(SystemError) {
      guard let bytes = try connection.read(atMost: min(65_536, longestRequest)) else { return }
      guard !bytes.isEmpty else { return hangUp() }
      input.append(bytes)
    } catch {
      return hangUp()
    }
    guard !input.hasLine, input.count > longestRequest else { return }
    send(complaint)
    hangUp()
  }

  private func flush() {
    do throws(SystemError) {
      while sent < output.count {
        let count = try connection.write(output[sent...])
        if count == 0 { break }
        sent += count
      }
    } catch {
      return hangUp()
    }
    if sent == output.count {
      (output, sent) = ([], 0)
    } else if output.count - sent > Self.longestBacklog {
      return hangUp()
    } else if sent > 65_536 {
      output.removeFirst(sent)
      sent = 0
    }
    if output.isEmpty, !awaitsTurn, !awaitsReply, input.hasLine { awaitTurn() } else { watch() }
  }

  func hangUp() {
    guard source != nil else { return }
    source = nil
    whenGone()
  }
}
