internal import CLinux
internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import ProviderProtocol

/// A connected TCP socket.
final class StreamSocket: OutsideSocket {
  /// Below this many unsent bytes the socket counts as drained.
  private static let drained = 65_536

  let transport = Transport.tcp
  let remote: Endpoint
  var unsentBytes: Int { unsent.count - sent }

  /// `nil` when closed.
  private var file: FileDescriptor?
  private let loop: DescriptorLoop
  private var source: DescriptorLoop.Source?
  private var watched: UInt32 = 0
  private var handler: ((SocketInput) -> Void)?
  private var drainHandlers: [() -> Void] = []
  private var unsent: [UInt8] = []
  /// The beginning of `unsent` that is sent already.
  private var sent = 0
  private var isPaused = false

  init(_ file: FileDescriptor, remote: Endpoint, on loop: DescriptorLoop) {
    self.file = file
    self.remote = remote
    self.loop = loop
  }

  func receive(_ handler: @escaping (SocketInput) -> Void) {
    self.handler = handler
    watch()
  }

  func pauseReceiving() {
    isPaused = true
    watch()
  }

  func resumeReceiving() {
    isPaused = false
    watch()
  }

  func send(_ data: [[UInt8]]) {
    guard file != nil else { return }
    let wasEmpty = unsentBytes == 0
    for piece in data { unsent += piece }
    if wasEmpty { flush() }
  }

  func whenDrained(_ handler: @escaping () -> Void) {
    if unsentBytes < Self.drained { return handler() }
    drainHandlers.append(handler)
  }

  func close() {
    file = nil
    handler = nil
    drainHandlers = []
    source = nil
  }

  private func watch() {
    let reads = handler != nil && !isPaused
    let events = (reads ? clinux_readable : 0) | (unsentBytes > 0 ? clinux_writable : 0)
    guard let file, events != 0 else {
      source = nil
      return watched = 0
    }
    guard source == nil || watched != events else { return }
    source = nil
    watched = events
    source = try? loop.whenReady(file.number, events: events) { [weak self] ready in
      guard let self else { return }
      if ready & clinux_writable != 0 { flush() }
      if ready & ~clinux_writable != 0 { read() }
    }
  }

  private func read() {
    guard let file else { return }
    do throws(SystemError) {
      guard let bytes = try file.read() else { return }
      if bytes.isEmpty { return ended("the server closed the connection") }
      handler?(.data([bytes]))
    } catch {
      ended(error.reason)
    }
  }

  private func flush() {
    guard let file else { return }
    do throws(SystemError) {
      while unsentBytes > 0 {
        let count = try file.write(unsent[sent...])
        if count == 0 { break }
        sent += count
      }
    } catch {
      return ended(error.reason)
    }
    // Moving the rest costs less than it saves only if much is sent.
    if sent == unsent.count || sent > 1 << 20 {
      unsent.removeFirst(sent)
      sent = 0
    }
    watch()
    guard unsentBytes < Self.drained, !drainHandlers.isEmpty else { return }
    let handlers = drainHandlers
    drainHandlers = []
    for handler in handlers { handler() }
  }

  private func ended(_ reason: String) {
    let handler = handler
    close()
    handler?(.ended(reason: reason))
  }
}
