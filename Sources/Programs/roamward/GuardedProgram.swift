import Glibc
import LinuxIO
import NetworkTypes

/// The program of a guard, as a child of this process, which is in the guard's control group.
///
/// The kill switch is closed as long as this process lives. So it outlives a program that was ended by a signal or has failed, until a
/// person ends it too.
struct GuardedProgram {
  /// Signals of a person who ends the program.
  private static let ends = [SIGINT, SIGTERM, SIGQUIT, SIGHUP]
  /// Signals that programs give a meaning of their own.
  private static let others = [SIGUSR1, SIGUSR2]
  /// A program that ends within so long of such a signal was ended by it.
  private static let patience = Duration.seconds(30)

  private let process: Int32
  private var signals: sigset_t
  /// When a person last wanted it to end.
  private var endedAt: Moment?

  /// Starts it. It has this process's terminal, descriptors and environment. `begin` is called before: from then on, no signal of a person
  /// ends this process without a word.
  init(_ path: String, _ arguments: [String], begin: () -> Void) throws(SystemError) {
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in Self.ends + Self.others + [SIGCHLD] { sigaddset(&signals, signal) }
    self.signals = signals
    var before = sigset_t()
    sigprocmask(SIG_BLOCK, &signals, &before)
    begin()
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setsigmask(&attributes, &before)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    let environment = (try? TextFile.read("/proc/self/environ", limit: 1 << 22)) ?? []
    var argv = arguments.map { strdup($0) } + [nil]
    var envp = environment.split(separator: 0).map { strdup(String(decoding: $0, as: UTF8.self)) } + [nil]
    defer { for text in argv + envp { free(text) } }
    var process = pid_t()
    let result = posix_spawn(&process, path, nil, &attributes, &argv, &envp)
    guard result == 0 else { throw SystemError(code: result, operation: "execute \(path)") }
    self.process = process
  }

  /// Waits for the program's end. Returns its code, as a shell gives it, and whether that is an end that a person wanted.
  mutating func end() -> (code: Int32, isWanted: Bool) {
    while true {
      let signal = nextSignal()
      if signal != SIGCHLD { continue }
      var status: Int32 = 0
      guard waitpid(process, &status, WNOHANG) == process else { continue }
      let code = status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
      return (code, code == 0 || endedAt.map { Moment.now - $0 < Self.patience } ?? false)
    }
  }

  /// Waits until a person ends this process.
  mutating func awaitPerson() {
    while !Self.ends.contains(nextSignal()) {}
  }

  /// The terminal gives a signal to both; one of another process is passed on.
  private mutating func nextSignal() -> Int32 {
    var info = siginfo_t()
    let signal = sigwaitinfo(&signals, &info)
    if Self.ends.contains(signal) { endedAt = .now }
    if signal > 0, signal != SIGCHLD, info.si_code <= 0 { kill(process, signal) }
    return signal
  }
}
