internal import Glibc
package import LinuxIO
package import ProcessConfinement

/// The system calls of the proxy's process. It makes connections by TCP and sends datagrams, wherever its clients ask it to; its control
/// group decides by which way. It opens files to be read alone, cannot listen at another place, and starts no program or thread.
package enum SocksFilter {
  package static func rules(process: Int32) -> [SystemCallFilter.Rule] {
    let noExecution = SystemCallFilter.Test(2, mask: UInt64(PROT_EXEC), equals: 0)
    // Not MSG_FASTOPEN, which connects.
    let plain = 0xffff_ffff & ~UInt64(MSG_NOSIGNAL | MSG_DONTWAIT)
    let writing = UInt64(O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)
    let calls = [
      // Clients, destinations and name servers. `bind` is for datagrams: no connection is accepted without `listen`.
      "read", "write", "readv", "writev", "recvfrom", "recvmsg", "accept4", "connect", "bind", "getsockopt", "getsockname", "getpeername",
      "shutdown",
      // Waiting. The timer exists.
      "epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl", "poll", "ppoll", "timerfd_settime", "clock_gettime", "clock_getres",
      "futex", "sched_yield", "restart_syscall", "gettimeofday",
      // Existing descriptors.
      "close", "fstat", "lseek",
      // Memory, and random numbers.
      "brk", "munmap", "mremap", "madvise", "getrandom",
      // The existing thread, and the exit: the Swift runtime restores the default action of the signal by which it ends.
      "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid", "set_robust_list", "rseq", "exit", "exit_group",
      "sched_getaffinity",
    ]
    let sockets = [AF_INET, AF_INET6].flatMap { family in
      [Int32(SOCK_STREAM.rawValue), Int32(SOCK_DGRAM.rawValue)].map { kind in
        SystemCallFilter.Rule.allow("socket", where: .init(0, equals: UInt64(family)), .init(1, mask: 0xf, equals: UInt64(kind)))
      }
    }
    // Neither marks nor links.
    let options = [
      (SOL_SOCKET, [SO_KEEPALIVE]), (Int32(IPPROTO_TCP), [TCP_NODELAY, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT]),
      (Int32(IPPROTO_IPV6), [IPV6_V6ONLY]),
    ].flatMap { level, names in
      names.map { name -> SystemCallFilter.Rule in
        .allow("setsockopt", where: .init(1, equals: UInt64(level)), .init(2, equals: UInt64(name)))
      }
    }
    let fileControls = [F_GETFD, F_SETFD, F_GETFL, F_SETFL]
    return calls.map { .allow($0) } + sockets + options + [
      // resolv.conf and hosts, which another network changes. Landlock leaves no others.
      .allow("openat", where: .init(2, mask: writing, equals: 0)), .allow("open", where: .init(1, mask: writing, equals: 0)),
      // Memory is never made executable.
      .allow("mmap", where: noExecution), .allow("mprotect", where: noExecution),
      .allow("sendto", where: .init(3, mask: plain, equals: 0)), .allow("sendmsg", where: .init(2, mask: plain, equals: 0)),
      // abort(3), and no signal to another process.
      .allow("tgkill", where: .init(0, equals: UInt64(UInt32(bitPattern: process)))),
      // Not F_SETOWN or F_SETSIG, which send signals.
    ] + fileControls.map { .allow("fcntl", where: .init(1, equals: UInt64($0))) }
  }

  /// The filter for the calling process.
  package static func filter() throws(SystemError) -> SystemCallFilter { try SystemCallFilter(rules(process: getpid())) }
}
