internal import CLinux
internal import Glibc
package import LinuxIO
internal import NetworkTypes

/// A program run beside the agent: no shell, its own process group, a clean environment, umask 022, its output collected up to a limit.
///
/// Lives as long as the value is retained: releasing it before the program has ended kills the program.
package final class ChildProcess {
  package struct Outcome: Equatable, Sendable {
    /// 0 to 255, or 128 and the signal's number.
    package let code: Int32
    package let wasTimedOut: Bool
    /// Standard output and standard error, at most 16 KiB of them.
    package let output: String
  }

  package let process: Int32
  private let loop: EventLoop
  private let pipe: FileDescriptor
  private var output: [UInt8] = []
  /// True until its end is known here; after that the process ID may belong to another process.
  private var isRunning = true
  private var wasTimedOut = false
  private var isEnding = false
  private var watchers: [EventSource] = []
  private var reader: EventSource?
  private var handler: ((Outcome) -> Void)?

  /// Starts `arguments[0]`, searched on PATH unless it contains a slash. The handler is called once, when the program has ended. After
  /// `timeout` its whole group gets SIGTERM, and SIGKILL two seconds later. `input`: its standard input, at most a pipe's capacity (64
  /// KiB). `group`: the folder of the control group that it starts in.
  package init(
    _ arguments: [String], environment: [String: String] = [:], input: [UInt8] = [], timeout: Duration,
    group: FileDescriptor? = nil, on loop: EventLoop, then handler: @escaping (Outcome) -> Void
  ) throws(SystemError) {
    var ends: [Int32] = [0, 0]
    guard clinux_pipe(&ends) == 0 else { throw .last("pipe") }
    let writeEnd = FileDescriptor(owning: ends[1])
    pipe = FileDescriptor(owning: ends[0])
    FaultPoint.pass("before starting \(arguments.joined(separator: " "))")
    let source = input.isEmpty ? nil : try filledPipe(input)
    let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    let variables = ["PATH": path].merging(environment) { _, new in new }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
    process = try SpawnedProgram(
      arguments.first ?? "", arguments, environment: variables,
      descriptors: [source.map { .open($0) } ?? .nothing, .open(writeEnd), .open(writeEnd)], company: .group, umask: 0o022,
      group: group
    ).start()
    FaultPoint.pass("after starting \(arguments.joined(separator: " "))")
    self.loop = loop
    self.handler = handler
    reader = try loop.whenReadable(pipe.number) { [weak self] in self?.gather() }
    watchers = [
      try loop.onExit(of: process) { [weak self] code in self?.ended(code) },
      try loop.at(.now + timeout) { [weak self] in self?.runOut() },
    ]
  }

  deinit { kill() }

  /// Kills the program's whole group now, without calling the handler. Has no effect if it has ended already.
  package func kill() {
    guard isRunning else { return }
    isRunning = false
    handler = nil
    watchers = []
    reader = nil
    Privileges.signal(-process, SIGKILL)
    waitpid(process, nil, 0)
  }

  /// Sends SIGTERM to the program's whole group, and SIGKILL two seconds later. The handler is called when it has ended.
  package func end() {
    guard isRunning, !isEnding else { return }
    isEnding = true
    Privileges.signal(-process, SIGTERM)
    if let source = try? loop.at(.now + .seconds(2), { [weak self] in if let self { Privileges.signal(-self.process, SIGKILL) } }) {
      watchers.append(source)
    }
  }

  /// Kills the program's whole group now (SIGKILL). The handler is called when it has ended.
  package func cut() {
    guard isRunning else { return }
    isEnding = true
    Privileges.signal(-process, SIGKILL)
  }

  private func gather() {
    guard let bytes = try? pipe.read() else { return }
    if bytes.isEmpty { reader = nil }
    output += bytes.prefix(max(0, 16_384 - output.count))
  }

  private func runOut() {
    wasTimedOut = true
    end()
  }

  private func ended(_ code: Int32) {
    gather()
    // It is not reaped yet, so the group ID is still its own: processes that survived SIGTERM are killed too.
    if isEnding { Privileges.signal(-process, SIGKILL) }
    isRunning = false
    let finish = handler
    handler = nil
    watchers = []
    reader = nil
    finish?(Outcome(code: code, wasTimedOut: wasTimedOut, output: String(decoding: output, as: UTF8.self)))
  }
}

/// The read end of a pipe that contains these bytes.
package func filledPipe(_ bytes: [UInt8]) throws(SystemError) -> FileDescriptor {
  var ends: [Int32] = [0, 0]
  guard clinux_pipe(&ends) == 0 else { throw .last("pipe") }
  let readEnd = FileDescriptor(owning: ends[0])
  let writeEnd = FileDescriptor(owning: ends[1])
  // It is non-blocking, so input beyond the pipe's capacity is an error, not a wait.
  guard bytes.count <= 65_536, write(writeEnd.number, bytes, bytes.count) == bytes.count else { throw .last("write to a pipe") }
  return readEnd
}
