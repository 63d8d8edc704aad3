internal import ConfinedProcess
internal import LinuxIO
internal import LoginProtocol
internal import SystemdIO

/// A run of a process of the gateway without privileges that says frames and takes frames: started with this value, and ended by `end`.
final class WorkerProcess {
  private let program: String
  private let process: ConfinedProcess
  private let loop: EventLoop
  private var outbox: MessageOutbox
  private var writing: EventSource?
  private let take: (LoginFrame) throws -> Void
  private let failed: (String) -> Void
  private var source: EventSource?

  /// A busy process reads its messages late. One that leaves so many unread does not work.
  private static let outboxLimit = 4096

  /// - Parameters:
  ///   - program: its name; it lies beside this program.
  ///   - take: takes a frame; throws if it is none that this process may say, which is a failure.
  ///   - failed: called when it has ended, or says what it may not; never during another call of this value.
  init(
    _ program: String, on loop: EventLoop, take: @escaping (LoginFrame) throws -> Void,
    failed: @escaping (String) -> Void
  ) throws(SystemError) {
    self.program = program
    self.take = take
    self.failed = failed
    self.loop = loop
    process = try ConfinedProcess(programBeside(program), [program, "--at-work"], on: loop)
    outbox = MessageOutbox(process.channel, limit: Self.outboxLimit)
    source = try loop.whenReadable(process.channel.descriptor.number) { [weak self] in self?.receive() }
  }

  deinit { end() }

  /// Ends it. Nothing is called any more.
  func end() {
    (source, writing) = (nil, nil)
    process.end()
  }

  func send(_ frame: LoginFrame, passing file: FileDescriptor? = nil) throws(SystemError) {
    try outbox.send(frame.bytes, passing: file)
    if outbox.isEmpty || writing != nil { return }
    writing = try loop.whenWritable(process.channel.descriptor.number) { [weak self] in self?.flush() }
  }

  private func flush() {
    do throws(SystemError) { try outbox.flush() } catch {
      // It has ended, which is received too.
      return writing = nil
    }
    if outbox.isEmpty { writing = nil }
  }

  private func receive() {
    for _ in 0..<64 where source != nil {
      do {
        switch try process.channel.receive() {
        case .nothing: return
        case .ended:
          source = nil
          return failed("\(program) has ended (\(process.end().map { "code \($0)" } ?? "unknown"))")
        case .message(let bytes, _): try take(LoginFrame(body: bytes.dropFirst(2)))
        }
      } catch {
        end()
        return failed("\(program) says what its protocol does not have; it is ended")
      }
    }
  }
}
