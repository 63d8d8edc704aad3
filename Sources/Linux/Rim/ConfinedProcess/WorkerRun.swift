package import LinuxIO
package import SystemdIO
package import WorkerLife

/// One run of a worker, with its messages: started with this value, and ended by `end`.
package final class WorkerRun {
  private let process: ConfinedProcess
  private let take: ([UInt8]) throws -> Void
  private let failed: (WorkerTrouble) -> Void
  private var exchange: MessageExchange?

  /// - Parameters:
  ///   - program: its name.
  ///   - path: its path, searched on PATH unless it contains a slash; `nil`: where our programs are.
  ///   - take: takes a message; throws if it is none that this process may say, which is a failure.
  ///   - failed: called when it has ended, or says what it may not; never during another call of this value.
  package init(
    _ program: String, at path: String? = nil, on loop: EventLoop, take: @escaping ([UInt8]) throws -> Void,
    failed: @escaping (WorkerTrouble) -> Void
  ) throws(SystemError) {
    self.take = take
    self.failed = failed
    process = try ConfinedProcess(program, at: path, on: loop)
    exchange = try MessageExchange(process.channel, on: loop) { [weak self] bytes, _ in
      self?.receive(bytes)
    } ended: { [weak self] in
      self?.exchangeEnded($0)
    }
  }

  deinit { end() }

  /// The process ID.
  package var number: Int32 { process.process }

  /// Sends a message, as soon as the process has read enough of those before.
  package func send(_ message: [UInt8], passing file: FileDescriptor? = nil) { exchange?.send(message, passing: file) }

  /// Ends it. Nothing is called any more. Returns its exit code, or 128 plus the signal's number, if that is known.
  @discardableResult
  package func end() -> Int32? {
    exchange?.close()
    exchange = nil
    return process.end()
  }

  private func receive(_ bytes: [UInt8]) {
    do { try take(bytes) } catch { fail(.broke("\(error)")) }
  }

  private func exchangeEnded(_ end: MessageExchange.End) {
    switch end {
    case .closed: failed(.ended(code: self.end()))
    case .unreadable(let error): fail(.broke("\(error)"))
    case .unsent(let error): fail(.unread(error.reason))
    }
  }

  private func fail(_ trouble: WorkerTrouble) {
    end()
    failed(trouble)
  }
}
