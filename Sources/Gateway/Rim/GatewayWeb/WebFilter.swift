internal import Glibc
package import LinuxIO
package import ProcessConfinement

/// The system calls of the page's process. It gets connected sockets from the gateway, and cannot make, connect, bind or accept any, open
/// files or start threads.
package enum WebFilter {
  package static func rules(process: Int32) -> [SystemCallFilter.Rule] {
    let noExecution = SystemCallFilter.Test(2, mask: UInt64(PROT_EXEC), equals: 0)
    // Not MSG_FASTOPEN, which connects.
    let plain = 0xffff_ffff & ~UInt64(MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE)
    let calls = [
      // The gateway's channel, and clients.
      "read", "write", "recvmsg", "shutdown", "poll",
      // Waiting. The timer exists.
      "epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl", "timerfd_settime", "clock_gettime", "gettimeofday", "time", "futex",
      "sched_yield", "restart_syscall",
      // Existing descriptors.
      "close", "fstat",
      // Memory, and random numbers.
      "brk", "munmap", "mremap", "madvise", "getrandom",
      // The exit.
      "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid", "exit", "exit_group",
    ]
    func option(_ name: Int32) -> SystemCallFilter.Rule {
      .allow("setsockopt", where: .init(1, equals: UInt64(IPPROTO_TCP)), .init(2, equals: UInt64(name)))
    }
    // A copy of a descriptor for the library, which makes it non-blocking; no signals by it.
    let flags = [F_GETFL, F_SETFL, F_DUPFD_CLOEXEC].map { command -> SystemCallFilter.Rule in
      .allow("fcntl", where: .init(1, equals: UInt64(command)))
    }
    return calls.map { .allow($0) } + flags + [
      .allow("mmap", where: noExecution), .allow("mprotect", where: noExecution),
      .allow("recvfrom", where: .init(4, mask: .max, equals: 0)),
      .allow("sendto", where: .init(3, mask: plain, equals: 0), .init(4, mask: .max, equals: 0)),
      .allow("sendmsg", where: .init(2, mask: plain, equals: 0)),
      // An answer leaves in as few packets as possible.
      option(TCP_NODELAY), option(TCP_CORK),
      // abort(3), and no signal to another process.
      .allow("tgkill", where: .init(0, equals: UInt64(UInt32(bitPattern: process)))),
    ]
  }

  package static func filter() throws(SystemError) -> SystemCallFilter { try SystemCallFilter(rules(process: getpid())) }
}
