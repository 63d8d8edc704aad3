internal import Glibc

/// Messages for the other end of a channel, in their order, also where that end leaves some unread for a while.
package struct MessageOutbox {
  /// The largest number of messages that may wait.
  private let limit: Int
  private let channel: MessageChannel
  private var waiting: [(message: [UInt8], passed: FileDescriptor?)] = []

  package init(_ channel: MessageChannel, limit: Int) {
    self.channel = channel
    self.limit = limit
  }

  /// Whether nothing waits. Otherwise `flush` is due when the channel's descriptor is writable.
  package var isEmpty: Bool { waiting.isEmpty }

  /// Sends a message, or keeps it and what is attached. Throws EAGAIN if too many wait, EPIPE if the other end has closed.
  package mutating func send(_ message: [UInt8], passing passed: FileDescriptor? = nil) throws(SystemError) {
    if waiting.isEmpty, try isSent(message, passed) { return }
    guard waiting.count < limit else { throw SystemError(code: EAGAIN, operation: "keep a message") }
    waiting.append((message, passed))
  }

  /// Sends what waits, as far as there is room.
  package mutating func flush() throws(SystemError) {
    var sent = 0
    defer { waiting.removeFirst(sent) }
    while sent < waiting.count, try isSent(waiting[sent].message, waiting[sent].passed) { sent += 1 }
  }

  private func isSent(_ message: [UInt8], _ passed: FileDescriptor?) throws(SystemError) -> Bool {
    do throws(SystemError) { try channel.send(message, passing: passed) } catch {
      guard error.code == EAGAIN else { throw error }
      return false
    }
    return true
  }
}
