internal import CAres
internal import Glibc
package import LinuxIO
package import ProcessConfinement

/// The system calls of the process that talks to an OpenID provider. It makes connections by TCP, and asks name servers by UDP: which ones,
/// the provider and name servers decide. It cannot open files, listen, start programs or threads, or use sockets of other kinds.
package enum OpenIDFilter {
  package static func rules(process: Int32) -> [SystemCallFilter.Rule] {
    let noExecution = SystemCallFilter.Test(2, mask: UInt64(PROT_EXEC), equals: 0)
    let plainFlags = SystemCallFilter.Test(3, mask: 0xffff_ffff & ~UInt64(MSG_NOSIGNAL | MSG_DONTWAIT), equals: 0)
    let noAddress = SystemCallFilter.Test(4, mask: .max, equals: 0)
    let plain = [
      // The channel and the connections.
      "read", "write", "readv", "writev", "recvmsg", "recvfrom", "connect", "getsockopt", "getsockname", "getpeername", "shutdown",
      // Waiting.
      "epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl", "poll", "ppoll", "timerfd_settime", "clock_gettime", "clock_getres",
      "clock_nanosleep", "nanosleep", "gettimeofday", "futex", "sched_yield", "restart_syscall",
      // Existing descriptors.
      "close", "fstat", "lseek",
      // Memory.
      "brk", "munmap", "mremap", "madvise", "getrandom",
      // The existing thread, and the exit.
      "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid", "set_robust_list", "rseq", "exit", "exit_group",
      "sched_getaffinity", "uname", "getuid", "geteuid", "getgid", "getegid",
    ]
    let sockets = [AF_INET, AF_INET6].flatMap { family in
      [roamward_stream, roamward_datagram].map { kind in
        SystemCallFilter.Rule.allow(
          "socket", where: .init(0, equals: UInt64(family)), .init(1, mask: 0xf, equals: UInt64(kind)))
      }
    }
    let fileControls = [F_GETFD, F_SETFD, F_GETFL, F_SETFL]
    return plain.map { .allow($0) } + sockets + [
      // Memory is never made executable.
      .allow("mmap", where: noExecution), .allow("mprotect", where: noExecution),
      // Only to the connected address (no MSG_FASTOPEN either).
      .allow("sendto", where: plainFlags, noAddress),
      .allow("sendmsg", where: .init(2, mask: 0xffff_ffff & ~UInt64(MSG_NOSIGNAL | MSG_DONTWAIT), equals: 0)),
      .allow("setsockopt", where: .init(1, equals: UInt64(IPPROTO_TCP)), .init(2, equals: UInt64(TCP_NODELAY))),
      // abort(3), and no signal to another process.
      .allow("tgkill", where: .init(0, equals: UInt64(UInt32(bitPattern: process)))),
      // Not F_SETOWN or F_SETSIG, which send signals.
    ] + fileControls.map { .allow("fcntl", where: .init(1, equals: UInt64($0))) }
  }

  /// The filter for the calling process.
  package static func filter() throws(SystemError) -> SystemCallFilter { try SystemCallFilter(rules(process: getpid())) }
}
