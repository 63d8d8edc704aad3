internal import LinuxIO
internal import NetworkTypes

/// A TCP connection with messages in both directions, each with its length in two bytes before it (RFC 1035 section 4.2.2).
///
/// Both buffers, of input and of output, are bounded. A connection that makes no progress is to be closed (`isStuck`).
final class MessageStream {
  /// Without progress for this time the other end counts as gone. Clients keep connections open between questions (RFC 7766 section 6.2.3).
  private static let patience = Duration.seconds(5)
  private static let idleTime = Duration.seconds(10)
  /// Bytes that may wait for the other end.
  private static let mostPending = 256 << 10

  private let file: FileDescriptor
  private let loop: DescriptorLoop
  private var source: DescriptorLoop.Source?
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  private var progress: Moment
  /// Messages that were taken and not answered yet.
  private(set) var unanswered = 0
  private var isPaused = false
  private var events: UInt32 = 0
  /// The other end sends no more, and may still read.
  private var isFinished = false
  /// Both directions have ended.
  private var isGone = false
  private let wake: () -> Void

  /// `wake` is called when something can be read or written, or the connection has ended: then `exchange` is to be called.
  init(_ file: FileDescriptor, on loop: DescriptorLoop, wake: @escaping () -> Void) throws(SystemError) {
    self.file = file
    self.loop = loop
    self.wake = wake
    progress = .now
    try watch()
  }

  /// Whether it makes no progress, or is idle for too long.
  func isStuck(at now: Moment) -> Bool {
    let limit = output.isEmpty && input.isEmpty ? Self.idleTime : Self.patience
    return now - progress > limit && (unanswered == 0 || !output.isEmpty)
  }

  /// Whether messages wait for `exchange` that had to wait for an answer.
  var canGoOn: Bool { isPaused }

  /// Queues a message. Returns whether the connection goes on.
  func send(_ message: ArraySlice<UInt8>) -> Bool {
    unanswered = max(0, unanswered - 1)
    guard message.count <= 65_535, output.count + message.count + 2 <= Self.mostPending else { return false }
    output.append(UInt8(message.count >> 8))
    output.append(UInt8(message.count & 0xff))
    output += message
    return write() && !(isFinished && unanswered == 0 && output.isEmpty)
  }

  /// Writes and reads what is possible now. Passes the whole messages, at most `limit` that are unanswered. Returns whether the connection
  /// goes on.
  func exchange(atMost limit: Int, _ take: ([UInt8]) -> Void) -> Bool {
    guard !isGone, write() else { return false }
    do throws(SystemError) {
      if unanswered < limit, !isFinished, let bytes = try file.read(atMost: 16_384) {
        if bytes.isEmpty { isFinished = true } else { progress = .now }
        input += bytes
      }
    } catch {
      return false
    }
    var start = 0
    while unanswered < limit, input.count - start >= 2 {
      let length = Int(input[start]) << 8 | Int(input[start + 1])
      // No message is shorter than its header.
      guard length >= 12 else { return false }
      guard input.count - start - 2 >= length else { break }
      unanswered += 1
      take(Array(input[start + 2..<start + 2 + length]))
      start += 2 + length
    }
    input.removeFirst(start)
    isPaused = unanswered >= limit
    if isFinished, unanswered == 0, output.isEmpty { return false }
    return (try? watch()) != nil
  }

  private func write() -> Bool {
    do throws(SystemError) {
      while !output.isEmpty {
        let count = try file.write(output[...])
        guard count > 0 else { break }
        output.removeFirst(count)
        progress = .now
      }
      try watch()
      return true
    } catch {
      return false
    }
  }

  /// Watches for what is of use now.
  private func watch() throws(SystemError) {
    let wanted = (isPaused || isFinished ? 0 : Readiness.readable) | (output.isEmpty ? 0 : Readiness.writable)
    guard source == nil || wanted != events else { return }
    source = nil
    events = wanted
    source = try loop.whenReady(file.number, events: wanted) { [weak self] events in
      guard let self else { return }
      if events & Readiness.ended != 0, events & Readiness.readable == 0 { isGone = true }
      wake()
    }
  }
}
