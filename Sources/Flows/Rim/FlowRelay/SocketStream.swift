internal import Glibc
package import LinuxIO

/// A TCP connection on the loop as a stream. It keeps at most what one `send` has brought while it was empty, and reads one part at a time.
package final class SocketStream: FlowStream {
  /// Bytes that are read at once.
  package static let part = 16_384

  private enum Sending {
    case open
    /// It ends when the kept bytes are sent.
    case finishing
    case finished
  }

  private let file: FileDescriptor
  private let loop: DescriptorLoop
  private var handler: ((StreamEvent) -> Void)?
  private var source: DescriptorLoop.Source?
  /// The events that the source watches.
  private var watched: UInt32?
  private var unsent: ArraySlice<UInt8> = []
  private var sending = Sending.open
  private var (isPaused, hasEnded) = (false, false)

  package init(_ file: FileDescriptor, on loop: DescriptorLoop) {
    self.file = file
    self.loop = loop
  }

  package func begin(_ handler: @escaping (StreamEvent) -> Void) {
    self.handler = handler
    watch()
  }

  package func send(_ bytes: [UInt8]) -> Bool {
    guard handler != nil, sending == .open else { return true }
    guard unsent.isEmpty else {
      unsent += bytes
      return false
    }
    unsent = bytes[...]
    write()
    return unsent.isEmpty
  }

  package func finish() {
    guard sending == .open else { return }
    sending = .finishing
    endSending()
  }

  package func pause() {
    isPaused = true
    watch()
  }

  package func resume() {
    isPaused = false
    watch()
  }

  package func close() {
    (handler, source, watched) = (nil, nil, nil)
    unsent = []
  }

  private func write() {
    do throws(SystemError) {
      while !unsent.isEmpty {
        let count = try file.write(unsent)
        if count == 0 { break }
        unsent = unsent.dropFirst(count)
      }
    } catch {
      return breakOff()
    }
    // The memory of what is sent goes.
    if unsent.isEmpty { unsent = [] }
    endSending()
    watch()
  }

  private func endSending() {
    guard case .finishing = sending, unsent.isEmpty else { return }
    sending = .finished
    shutdown(file.number, Int32(SHUT_WR))
  }

  /// One source at a time for a descriptor, which is replaced when other events are waited for.
  private func watch() {
    guard handler != nil else { return }
    let events = (isPaused || hasEnded ? 0 : Readiness.readable) | (unsent.isEmpty ? 0 : Readiness.writable)
    guard events != watched else { return }
    source = nil
    watched = events
    source = try? loop.whenReady(file.number, events: events) { [weak self] ready in self?.take(ready) }
    if source == nil { breakOff() }
  }

  private func take(_ ready: UInt32) {
    if ready & Readiness.writable != 0, !unsent.isEmpty {
      write()
      if unsent.isEmpty { handler?(.drained) }
    }
    guard handler != nil else { return }
    if ready & Readiness.readable != 0, !isPaused, !hasEnded { return read() }
    guard ready & Readiness.ended != 0 else { return }
    if StreamSocket.failure(of: file) != 0 { return breakOff() }
    // Both directions have ended, and one is not read to its end: nothing new is to be watched until then.
    if !isPaused, !hasEnded { return read() }
    source = nil
  }

  private func read() {
    do throws(SystemError) {
      guard let bytes = try file.read(atMost: Self.part) else { return }
      hasEnded = bytes.isEmpty
      if hasEnded { watch() }
      handler?(bytes.isEmpty ? .ended : .data(bytes))
    } catch {
      breakOff()
    }
  }

  private func breakOff() {
    let handler = handler
    close()
    handler?(.broken)
  }
}
