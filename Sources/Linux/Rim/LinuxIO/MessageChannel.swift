internal import CLinux
internal import Glibc

/// One end of a SOCK_SEQPACKET pair of unix(7): messages arrive whole and in order, or not at all, and may have a descriptor attached.
package final class MessageChannel {
  /// The descriptor number of the channel in a helper.
  package static let inheritedNumber: Int32 = 3

  /// The maximum length of a message in bytes. A longer one is an error at either end.
  package static let limit = 65_536

  package enum Received {
    case message([UInt8], FileDescriptor?)
    /// No message is available now.
    case nothing
    /// The other end has closed.
    case ended
  }

  package let descriptor: FileDescriptor

  package init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

  /// Creates two ends: the first is non-blocking, the second is for another process.
  package static func pair() throws(SystemError) -> (MessageChannel, FileDescriptor) {
    var ends: [Int32] = [-1, -1]
    guard clinux_message_pair(&ends) == 0 else { throw .last("make a channel") }
    return (MessageChannel(FileDescriptor(owning: ends[0])), FileDescriptor(owning: ends[1]))
  }

  /// Sends a message; `passed` stays open here. Throws EAGAIN if the other end has left too much unread, EPIPE if it has closed.
  package func send(_ message: [UInt8], passing passed: FileDescriptor? = nil) throws(SystemError) {
    guard message.count <= Self.limit else { throw SystemError(code: EMSGSIZE, operation: "send a message") }
    let result = message.withUnsafeBytes { clinux_send_message(descriptor.number, $0.baseAddress, $0.count, passed?.number ?? -1) }
    withExtendedLifetime(passed) {}
    guard result == 0 else { throw .last("send a message") }
  }

  /// Takes the next message, without blocking. Unwanted descriptors are closed.
  package func receive(takesDescriptors: Bool = false) throws(SystemError) -> Received {
    var passed: Int32 = -1
    var count = 0
    var failure: SystemError?
    let bytes = [UInt8](unsafeUninitializedCapacity: Self.limit) { buffer, initialized in
      count = clinux_receive_message(descriptor.number, buffer.baseAddress, buffer.count, takesDescriptors ? 1 : 0, &passed)
      if count < 0 { failure = .last("receive a message") }
      initialized = max(0, count)
    }
    switch failure?.code {
    case EAGAIN: return .nothing
    case ECONNRESET: return .ended
    case .some: throw failure ?? SystemError(code: EIO, operation: "receive a message")
    case nil: break
    }
    let file = passed >= 0 ? FileDescriptor(owning: passed) : nil
    return count == 0 ? .ended : .message(bytes, file)
  }

  /// Waits for a message, `limit` at most; returns whether there is one, or the end.
  package func wait(atMost limit: Duration) -> Bool {
    let (seconds, attoseconds) = limit.components
    var entry = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)) > 0
  }
}
