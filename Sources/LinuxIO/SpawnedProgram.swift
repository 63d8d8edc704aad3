internal import CLinux
internal import Glibc

/// How a program is started beside the agent: with every signal at its default and unblocked, and with no
/// descriptors but those that it is given.
package struct SpawnedProgram {
  package enum Descriptor {
    case nothing
    /// The agent's own of that number.
    case inherited
    case open(FileDescriptor)
  }

  package enum Company {
    /// A process group of its own, to be ended as a whole.
    case group
    /// A session of its own: it outlives who started it.
    case session
  }

  /// Looked up on PATH unless it holds a slash.
  package var program: String
  /// With the program's own name first.
  package var arguments: [String]
  /// `NAME=value`.
  package var environment: [String]
  /// By the number that each is to have, from 0 on.
  package var descriptors: [Descriptor]
  package var company: Company
  /// Its file mode creation mask (umask(2)); `nil`: the agent's own.
  package var umask: UInt32?

  package init(
    _ program: String, _ arguments: [String], environment: [String], descriptors: [Descriptor], company: Company, umask: UInt32? = nil
  ) {
    self.umask = umask
    self.program = program
    self.arguments = arguments
    self.environment = environment
    self.descriptors = descriptors
    self.company = company
  }

  /// posix_spawn(3); gives the process's number.
  package func start() throws(SystemError) -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var high: [FileDescriptor] = []
    for (number, descriptor) in zip(Int32(0)..., descriptors) {
      switch descriptor {
      case .nothing: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
      case .inherited: break
      case .open(let file):
        // Out of the way of the numbers that they are to have.
        let copy = fcntl(file.number, F_DUPFD_CLOEXEC, 16)
        guard copy >= 0 else { throw .last("start \(program)") }
        high.append(FileDescriptor(owning: copy))
        posix_spawn_file_actions_adddup2(&actions, copy, number)
      }
    }
    // Ours are close-on-exec; what the agent itself was started with may not be.
    clinux_spawn_close_from(&actions, Int32(descriptors.count))

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
    let company = company == .group ? Int16(POSIX_SPAWN_SETPGROUP) : Int16(clinux_spawn_new_session)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | company)

    var argv = arguments.map { strdup($0) } + [nil]
    var envp = environment.map { strdup($0) } + [nil]
    defer { for text in argv + envp { free(text) } }
    var process = pid_t()
    // posix_spawn(3) has no attribute for it. The agent's one thread makes no file meanwhile.
    let own = umask.map { Glibc.umask($0) }
    let result = posix_spawnp(&process, program, &actions, &attributes, &argv, &envp)
    if let own { _ = Glibc.umask(own) }
    withExtendedLifetime(high) {}
    guard result == 0 else { throw SystemError(code: result, operation: "start \(program)") }
    return process
  }
}
