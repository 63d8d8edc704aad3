public import NetworkTypes
public import ProviderProtocol
public import RoamwardProvider

/// A socket in memory; the test is the server.
public final class MemorySocket: OutsideSocket {
  public let transport: Transport
  public let remote: Endpoint
  /// The messages or bytes that the provider sent, the oldest first.
  public private(set) var sent: [[UInt8]] = []
  public private(set) var isClosed = false
  /// Whether the server takes nothing: bytes of a stream stay in `unsentBytes`.
  public var isStalled = false { didSet { if !isStalled { drain() } } }
  public var unsentBytes: Int { stalled.reduce(0) { $0 + $1.count } }

  private let settle: () -> Void
  private var handler: ((SocketInput) -> Void)?
  private var isPaused = false
  private var waiting: [SocketInput] = []
  private var stalled: [[UInt8]] = []
  private var drainHandlers: [() -> Void] = []

  init(_ transport: Transport, remote: Endpoint, settle: @escaping () -> Void) {
    self.transport = transport
    self.remote = remote
    self.settle = settle
  }

  /// The server sends datagrams, or bytes of the stream.
  public func deliver(_ data: [[UInt8]]) { deliver(.data(data)) }

  /// The server closes the stream, or cannot be reached.
  public func end(reason: String = "closed") { deliver(.ended(reason: reason)) }

  /// Takes what was sent.
  public func takeSent() -> [[UInt8]] {
    defer { sent = [] }
    return sent
  }

  private func deliver(_ input: SocketInput) {
    guard !isClosed else { return }
    waiting.append(input)
    flush()
    settle()
  }

  public func receive(_ handler: @escaping (SocketInput) -> Void) {
    self.handler = handler
    flush()
  }

  public func pauseReceiving() { isPaused = true }

  public func resumeReceiving() {
    isPaused = false
    flush()
  }

  public func send(_ data: [[UInt8]]) {
    guard !isClosed else { return }
    if isStalled {
      // Datagrams are lost in a full queue; a stream waits.
      if transport == .tcp { stalled += data }
    } else {
      sent += data
    }
  }

  public func whenDrained(_ handler: @escaping () -> Void) {
    if unsentBytes < 65_536 { handler() } else { drainHandlers.append(handler) }
  }

  public func close() {
    isClosed = true
    handler = nil
    (waiting, stalled, drainHandlers) = ([], [], [])
  }

  private func drain() {
    sent += stalled
    stalled = []
    let handlers = drainHandlers
    drainHandlers = []
    for handler in handlers { handler() }
    settle()
  }

  private func flush() {
    while let handler, !isPaused, !waiting.isEmpty { handler(waiting.removeFirst()) }
  }
}
