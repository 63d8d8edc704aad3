internal import Glibc
package import LinuxIO
package import ProcessConfinement

/// The system calls of the process that serves or runs scripts. It cannot create, connect or bind sockets or open files, and accepts
/// connections at the agent's listening socket.
package enum ProxyFilter {
  package static func rules(process: Int32) -> [SystemCallFilter.Rule] {
    let noExecution = SystemCallFilter.Test(2, mask: UInt64(PROT_EXEC), equals: 0)
    // Not MSG_FASTOPEN, which connects.
    let plain = 0xffff_ffff & ~UInt64(MSG_NOSIGNAL | MSG_DONTWAIT)
    let calls = [
      // The channel, and clients.
      "read", "write", "recvmsg", "accept4", "shutdown",
      // Waiting. The timer exists.
      "epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl", "poll", "ppoll", "timerfd_settime", "clock_gettime", "futex", "sched_yield",
      "restart_syscall", "gettimeofday",
      // Existing descriptors.
      "close", "fstat",
      // Memory.
      "brk", "munmap", "mremap", "madvise", "getrandom",
      // The existing thread, and the exit: the Swift runtime restores the default action of the signal by which it ends.
      "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid", "set_robust_list", "rseq", "exit", "exit_group",
      "sched_getaffinity",
    ]
    return calls.map { .allow($0) } + [
      // Memory is never made executable.
      .allow("mmap", where: noExecution), .allow("mprotect", where: noExecution),
      .allow("sendto", where: .init(3, mask: plain, equals: 0), .init(4, mask: .max, equals: 0)),
      .allow("sendmsg", where: .init(2, mask: plain, equals: 0)),
      // abort(3), and no signal to another process.
      .allow("tgkill", where: .init(0, equals: UInt64(UInt32(bitPattern: process)))),
    ]
  }

  /// The filter for the calling process.
  package static func filter() throws(SystemError) -> SystemCallFilter { try SystemCallFilter(rules(process: getpid())) }
}
