internal import Glibc
package import LinuxIO
package import SystemdIO

/// The messages of a channel, on the loop: those that come, and those that the other end has not read yet.
package final class MessageExchange {
  /// The end of the exchange, by the other end.
  package enum End {
    /// It has closed.
    case closed
    /// Its message cannot be received.
    case unreadable(SystemError)
    /// A message cannot be sent to it: it leaves too many unread, or this one is too long.
    case unsent(SystemError)
  }

  /// Other events of the loop have their turn after so many messages.
  private static let mostAtOnce = 32

  package let channel: MessageChannel
  private let loop: EventLoop
  private let takesDescriptors: Bool
  private let take: ([UInt8], FileDescriptor?) -> Void
  private let ended: (End) -> Void
  private var outbox: MessageOutbox
  private var reading: EventSource?
  private var writing: EventSource?
  private var unsent: SystemError?

  /// - Parameters:
  ///   - limit: the number of messages that may wait. A busy process reads late; one that leaves more unread does not work.
  ///   - takesDescriptors: descriptors of the other end are closed otherwise.
  ///   - ended: called at most once; nothing is called after it. Neither is called during a call of this value.
  package init(
    _ channel: MessageChannel, limit: Int = 4096, takesDescriptors: Bool = false, on loop: EventLoop,
    take: @escaping ([UInt8], FileDescriptor?) -> Void, ended: @escaping (End) -> Void
  ) throws(SystemError) {
    self.channel = channel
    self.loop = loop
    self.takesDescriptors = takesDescriptors
    self.take = take
    self.ended = ended
    outbox = MessageOutbox(channel, limit: limit)
    reading = try loop.whenReadable(channel.descriptor.number) { [weak self] in self?.receive() }
  }

  /// Whether everything has been sent.
  package var isSent: Bool { outbox.isEmpty }

  /// Sends a message as soon as the other end has read enough of those before. `passed` stays open until then.
  package func send(_ message: [UInt8], passing passed: FileDescriptor? = nil) {
    guard reading != nil, unsent == nil else { return }
    exchange { outbox throws(SystemError) in try outbox.send(message, passing: passed) }
  }

  /// Nothing is called any more. The channel is open until this value is released.
  package func close() {
    (reading, writing) = (nil, nil)
    outbox = MessageOutbox(channel, limit: 0)
  }

  private func flush() { exchange { outbox throws(SystemError) in try outbox.flush() } }

  private func exchange(_ body: (inout MessageOutbox) throws(SystemError) -> Void) {
    do throws(SystemError) {
      try body(&outbox)
      if outbox.isEmpty {
        writing = nil
      } else if writing == nil {
        writing = try loop.whenWritable(channel.descriptor.number) { [weak self] in self?.flush() }
      }
    } catch {
      writing = nil
      outbox = MessageOutbox(channel, limit: 0)
      // The end of the other side is received; so is this end, after the messages that have come before it.
      if error.code == EPIPE || error.code == ECONNRESET { return }
      unsent = error
      shutdown(channel.descriptor.number, Int32(SHUT_RDWR))
    }
  }

  private func receive() {
    for _ in 0..<Self.mostAtOnce where reading != nil {
      do throws(SystemError) {
        switch try channel.receive(takesDescriptors: takesDescriptors) {
        case .message(let bytes, let file): take(bytes, file)
        case .nothing: return
        case .ended: return end(unsent.map { .unsent($0) } ?? .closed)
        }
      } catch { return end(.unreadable(error)) }
    }
  }

  private func end(_ end: End) {
    close()
    ended(end)
  }
}
