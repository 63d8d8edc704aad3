internal import Glibc
package import LinuxIO
package import ProcessConfinement

/// The system calls of the probe process. It cannot create, connect or bind sockets or open files, and sends on connected sockets only. So
/// the agent determines its destinations, even if the process is compromised.
package enum ProbeFilter {
  package static func rules(process: Int32) -> [SystemCallFilter.Rule] {
    let noExecution = SystemCallFilter.Test(2, mask: UInt64(PROT_EXEC), equals: 0)
    let plainFlags = SystemCallFilter.Test(3, mask: 0xffff_ffff & ~UInt64(MSG_NOSIGNAL | MSG_DONTWAIT), equals: 0)
    let noAddress = SystemCallFilter.Test(4, mask: .max, equals: 0)
    let plain = [
      // The channel, and the sockets received over it.
      "read", "write", "readv", "writev", "recvmsg", "recvfrom", "getsockopt", "getsockname", "getpeername", "shutdown",
      // Waiting.
      "epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl", "poll", "ppoll", "timerfd_create", "timerfd_settime", "clock_gettime",
      "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "futex", "sched_yield", "restart_syscall",
      // Existing descriptors.
      "close", "dup2", "dup3", "fstat", "lseek",
      // Memory.
      "brk", "munmap", "mremap", "madvise", "getrandom",
      // The existing thread, and the exit: the Swift runtime restores the default action of the signal by which it ends.
      "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid", "set_robust_list", "rseq", "exit", "exit_group",
      "sched_getaffinity", "uname", "getuid", "geteuid", "getgid", "getegid",
    ]
    let fileControls = [F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC]
    return plain.map { .allow($0) } + [
      // Memory is never made executable.
      .allow("mmap", where: noExecution), .allow("mprotect", where: noExecution),
      // Only to the connected address (no MSG_FASTOPEN either).
      .allow("sendto", where: plainFlags, noAddress),
      // Received sockets are already connecting. libcurl calls `connect` all the same, and then waits until the socket is writable: this
      // answer reports that it has begun.
      .answer("connect", EINPROGRESS),
      // abort(3), and no signal to another process.
      .allow("tgkill", where: .init(0, equals: UInt64(UInt32(bitPattern: process)))),
      // Not F_SETOWN or F_SETSIG, which send signals.
    ] + fileControls.map { .allow("fcntl", where: .init(1, equals: UInt64($0))) }
  }

  /// The filter for the calling process.
  package static func filter() throws(SystemError) -> SystemCallFilter { try SystemCallFilter(rules(process: getpid())) }
}
