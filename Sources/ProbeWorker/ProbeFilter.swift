internal import Glibc
package import LinuxIO
package import ProcessConfinement

/// What system calls the probes' process makes. No socket is made, connected or bound here, no file opened, and nothing is sent but on what
/// is connected: whom it speaks to is the agent's choice, even where it has been taken over.
package enum ProbeFilter {
  package static func rules(process: Int32) -> [SystemCallFilter.Rule] {
    let noExecution = SystemCallFilter.Test(2, mask: UInt64(PROT_EXEC), equals: 0)
    let plainFlags = SystemCallFilter.Test(3, mask: 0xffff_ffff & ~UInt64(MSG_NOSIGNAL | MSG_DONTWAIT), equals: 0)
    let noAddress = SystemCallFilter.Test(4, mask: .max, equals: 0)
    let plain = [
      // The channel and the sockets that came by it.
      "read", "write", "readv", "writev", "recvmsg", "recvfrom", "getsockopt", "getsockname", "getpeername", "shutdown",
      // Waiting.
      "epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl", "poll", "ppoll", "timerfd_create", "timerfd_settime", "clock_gettime",
      "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "futex", "sched_yield", "restart_syscall",
      // Descriptors that are there.
      "close", "dup2", "dup3", "fstat", "lseek",
      // Memory.
      "brk", "munmap", "mremap", "madvise", "getrandom",
      // The thread that is there, and the end: the Swift runtime puts back the default action of the signal by which it ends.
      "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid", "set_robust_list", "rseq", "exit", "exit_group",
      "sched_getaffinity", "uname", "getuid", "geteuid", "getgid", "getegid",
    ]
    let fileControls = [F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC]
    return plain.map { .allow($0) } + [
      // Memory is never made executable.
      .allow("mmap", where: noExecution), .allow("mprotect", where: noExecution),
      // To whom the socket is connected, and nobody else (MSG_FASTOPEN neither).
      .allow("sendto", where: plainFlags, noAddress),
      // Sockets come connecting. libcurl connects all the same, and then waits until the socket can be written to:
      // so it hears that it has begun.
      .answer("connect", EINPROGRESS),
      // abort(3), and no signal to another process.
      .allow("tgkill", where: .init(0, equals: UInt64(UInt32(bitPattern: process)))),
      // Not F_SETOWN or F_SETSIG, which send signals.
    ] + fileControls.map { .allow("fcntl", where: .init(1, equals: UInt64($0))) }
  }

  /// Of the calling process.
  package static func filter() throws(SystemError) -> SystemCallFilter { try SystemCallFilter(rules(process: getpid())) }
}
