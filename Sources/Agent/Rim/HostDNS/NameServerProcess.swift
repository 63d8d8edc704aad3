internal import ConfinedProcess
internal import Glibc
internal import LinuxIO
internal import NameProtocol
internal import NetworkTypes
internal import SystemdIO

/// One process of our name server, and the messages that it has not read yet.
final class NameServerProcess {
  private let process: ConfinedProcess
  private let loop: EventLoop
  private let heard: (NameReport) -> Void
  private let failed: (String) -> Void
  private var reading: EventSource?
  private var writing: EventSource?
  private var outgoing: [(order: NameOrder, passed: FileDescriptor?)] = []
  private var isEnded = false

  /// Starts the program. `heard` is called for each of its messages, and `failed` when it ends by itself or breaks the protocol, in words.
  init(_ path: String, on loop: EventLoop, heard: @escaping (NameReport) -> Void, failed: @escaping (String) -> Void) throws(SystemError) {
    self.loop = loop
    self.heard = heard
    self.failed = failed
    process = try ConfinedProcess(path, [NameServerBackend.program, "--at-work"], on: loop)
    reading = try loop.whenReadable(process.channel.descriptor.number) { [weak self] in self?.receive() }
  }

  /// Sends a message, as soon as the process has read enough of those before.
  func send(_ order: NameOrder, _ passed: FileDescriptor? = nil) {
    outgoing.append((order, passed))
    if writing == nil { flush() }
  }

  /// Ends it; nothing is called any more.
  func end() {
    isEnded = true
    (reading, writing, outgoing) = (nil, nil, [])
    _ = process.end()
  }

  private func flush() {
    while let (order, passed) = outgoing.first {
      do throws(SystemError) {
        try process.channel.send(order.bytes, passing: passed)
        outgoing.removeFirst()
      } catch {
        // Its end is noticed when its messages are read.
        guard error.code == EAGAIN else { return outgoing = [] }
        if writing == nil { writing = try? loop.whenWritable(process.channel.descriptor.number) { [weak self] in self?.flush() } }
        return
      }
    }
    writing = nil
  }

  private func receive() {
    for _ in 0..<64 where !isEnded {
      do {
        switch try process.channel.receive() {
        case .nothing: return
        case .ended: return failed("\(NameServerBackend.program) has ended")
        case .message(let bytes, _): heard(try NameReport(bytes))
        }
      } catch {
        return failed("\(NameServerBackend.program) broke the protocol: \(error)")
      }
    }
  }
}
