internal import CLinux
internal import Glibc
internal import NetworkTypes

/// A program run beside the agent: no shell, its own process group, a clean environment, its output gathered up to a bound.
///
/// Lives as long as the value is kept: dropping it before the program has ended kills the program.
package final class ChildProcess {
  package struct Outcome: Hashable, Sendable {
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
  /// Until the end is known here; after that the number may belong to another process.
  private var isRunning = true
  private var wasTimedOut = false
  private var watchers: [EventSource] = []
  private var reader: EventSource?
  private var handler: ((Outcome) -> Void)?

  /// Starts `arguments[0]`, looked up on PATH unless it holds a slash. The handler is called once, when the program has ended. After
  /// `timeout` its whole group is told to end (SIGTERM), and made to two seconds later (SIGKILL). `input`: what it reads, no more than a pipe
  /// holds (64 KiB).
  package init(
    _ arguments: [String], environment: [String: String] = [:], input: [UInt8] = [], timeout: Duration, on loop: EventLoop,
    then handler: @escaping (Outcome) -> Void
  ) throws(SystemError) {
    var ends: [Int32] = [0, 0]
    guard clinux_pipe(&ends) == 0 else { throw .last("pipe") }
    let writeEnd = FileDescriptor(owning: ends[1])
    pipe = FileDescriptor(owning: ends[0])
    FaultPoint.pass("before starting \(arguments.joined(separator: " "))")
    let source = input.isEmpty ? nil : try filledPipe(input)
    process = try spawn(arguments, environment: environment, input: source?.number, output: writeEnd.number)
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

  /// Ends the program's whole group now, without calling the handler. Nothing happens where it has ended already.
  package func kill() {
    guard isRunning else { return }
    isRunning = false
    handler = nil
    watchers = []
    reader = nil
    Glibc.kill(-process, SIGKILL)
    waitpid(process, nil, 0)
  }

  private func gather() {
    guard let bytes = try? pipe.read() else { return }
    if bytes.isEmpty { reader = nil }
    output += bytes.prefix(max(0, 16_384 - output.count))
  }

  private func runOut() {
    wasTimedOut = true
    Glibc.kill(-process, SIGTERM)
    if let source = try? loop.at(.now + .seconds(2), { [weak self] in if let self { Glibc.kill(-self.process, SIGKILL) } }) {
      watchers.append(source)
    }
  }

  private func ended(_ code: Int32) {
    gather()
    // Not reaped yet, so the group's number is still its own: what outlived the time-out goes too.
    if wasTimedOut { Glibc.kill(-process, SIGKILL) }
    isRunning = false
    let finish = handler
    handler = nil
    watchers = []
    reader = nil
    finish?(Outcome(code: code, wasTimedOut: wasTimedOut, output: String(decoding: output, as: UTF8.self)))
  }
}

/// The end to read from of a pipe that holds these bytes.
private func filledPipe(_ bytes: [UInt8]) throws(SystemError) -> FileDescriptor {
  var ends: [Int32] = [0, 0]
  guard clinux_pipe(&ends) == 0 else { throw .last("pipe") }
  let readEnd = FileDescriptor(owning: ends[0])
  let writeEnd = FileDescriptor(owning: ends[1])
  // It is non-blocking, so more than a pipe holds is an error here and no wait.
  guard bytes.count <= 65_536, write(writeEnd.number, bytes, bytes.count) == bytes.count else { throw .last("write to a pipe") }
  return readEnd
}

/// posix_spawn(3) with every signal at its default and unblocked, its own process group, and no descriptor of ours but the output.
private func spawn(_ arguments: [String], environment: [String: String], input: Int32?, output: Int32) throws(SystemError) -> pid_t {
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  if let input {
    posix_spawn_file_actions_adddup2(&actions, input, 0)
  } else {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
  }
  posix_spawn_file_actions_adddup2(&actions, output, 1)
  posix_spawn_file_actions_adddup2(&actions, output, 2)
  // Ours are close-on-exec; what the agent itself was started with may not be.
  clinux_spawn_close_from(&actions, 3)

  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  var none = sigset_t()
  sigemptyset(&none)
  var all = sigset_t()
  sigfillset(&all)
  posix_spawnattr_setsigmask(&attributes, &none)
  posix_spawnattr_setsigdefault(&attributes, &all)
  posix_spawnattr_setpgroup(&attributes, 0)
  posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

  let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
  let variables = ["PATH": path].merging(environment) { _, new in new }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
  var argv = arguments.map { strdup($0) } + [nil]
  var envp = variables.map { strdup($0) } + [nil]
  defer { for text in argv + envp { free(text) } }

  var process = pid_t()
  let result = posix_spawnp(&process, arguments.first ?? "", &actions, &attributes, &argv, &envp)
  guard result == 0 else { throw SystemError(code: result, operation: "start \(arguments.first ?? "")") }
  return process
}
