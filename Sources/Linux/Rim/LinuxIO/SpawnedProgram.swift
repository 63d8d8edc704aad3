internal import CLinux
internal import Glibc

/// The parameters of a program started beside the agent: every signal has its default action and is unblocked, and only the given
/// descriptors are open.
package struct SpawnedProgram {
  package enum Descriptor {
    case nothing
    /// The agent's own descriptor of that number.
    case inherited
    case open(FileDescriptor)
  }

  package enum Company {
    /// A process group of its own, which can be ended as a whole.
    case group
    /// A session of its own: it outlives its parent.
    case session
  }

  /// Searched on PATH unless it contains a slash.
  package var program: String
  /// With the program's own name first.
  package var arguments: [String]
  /// `NAME=value`.
  package var environment: [String]
  /// The descriptors, by their number in the program, from 0 on.
  package var descriptors: [Descriptor]
  package var company: Company
  /// Its file mode creation mask (umask(2)); `nil`: the agent's own.
  package var umask: UInt32?
  /// The open folder of the version 2 control group that it starts in; `nil`: the agent's own.
  package var group: FileDescriptor?
  /// In a control group: whether it has a Landlock domain of its own, so that programs of other domains cannot read its memory, and the
  /// reverse, although their user is the same.
  package var isSeparate = false

  package init(
    _ program: String, _ arguments: [String], environment: [String], descriptors: [Descriptor], company: Company, umask: UInt32? = nil,
    group: FileDescriptor? = nil
  ) {
    self.group = group
    self.umask = umask
    self.program = program
    self.arguments = arguments
    self.environment = environment
    self.descriptors = descriptors
    self.company = company
  }

  /// Starts it by posix_spawn(3), or in its control group; returns the process ID.
  package func start() throws(SystemError) -> Int32 {
    if let group { return try start(in: group) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var high: [FileDescriptor] = []
    for (number, descriptor) in zip(Int32(0)..., descriptors) {
      switch descriptor {
      case .nothing: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
      case .inherited: break
      case .open(let file):
        // The copies must not collide with the numbers in the program.
        let copy = fcntl(file.number, F_DUPFD_CLOEXEC, max(16, Int32(descriptors.count)))
        guard copy >= 0 else { throw .last("start \(program)") }
        high.append(FileDescriptor(owning: copy))
        posix_spawn_file_actions_adddup2(&actions, copy, number)
      }
    }
    // Our descriptors are close-on-exec; those inherited by the agent itself may not be.
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
    // posix_spawn(3) has no attribute for it. The agent's only thread creates no file meanwhile.
    let own = umask.map { Glibc.umask($0) }
    let result = posix_spawnp(&process, program, &actions, &attributes, &argv, &envp)
    if let own { _ = Glibc.umask(own) }
    withExtendedLifetime(high) {}
    guard result == 0 else { throw SystemError(code: result, operation: "start \(program)") }
    return process
  }

  private func start(in group: FileDescriptor) throws(SystemError) -> Int32 {
    var argv = arguments.map { strdup($0) } + [nil]
    var envp = environment.map { strdup($0) } + [nil]
    defer { for text in argv + envp { free(text) } }
    let numbers = descriptors.map { descriptor -> Int32 in
      switch descriptor {
      case .nothing: -1
      case .inherited: -2
      case .open(let file): file.number
      }
    }
    let process = clinux_spawn_in_group(
      group.number, program, &argv, &envp, numbers, Int32(numbers.count), company == .session ? 1 : 0, umask.map { Int32($0) } ?? -1,
      isSeparate ? 1 : 0)
    if process < 0 { throw .last("start \(program)") }
    withExtendedLifetime(descriptors) {}
    return process
  }
}
