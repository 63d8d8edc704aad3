internal import Glibc
package import LinuxIO
package import ProcessConfinement

/// The system calls of the login's process. It accepts connections at the gateway's listening sockets, and cannot make, connect or bind
/// sockets, open files or start threads. Its UDP sockets are connected to the gateway's own WireGuard port: a datagram with another
/// address would need `sendmsg`, which only the channel's descriptor takes, or `sendto` with an address.
package enum AuthFilter {
  package static func rules(process: Int32) -> [SystemCallFilter.Rule] {
    let noExecution = SystemCallFilter.Test(2, mask: UInt64(PROT_EXEC), equals: 0)
    // Not MSG_FASTOPEN, which connects.
    let plain = 0xffff_ffff & ~UInt64(MSG_NOSIGNAL | MSG_DONTWAIT)
    let calls = [
      // The gateway's channel, and clients.
      "read", "write", "recvmsg", "accept4", "getpeername", "shutdown",
      // Waiting. The timer exists.
      "epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl", "timerfd_settime", "clock_gettime", "gettimeofday", "futex", "sched_yield",
      "restart_syscall",
      // Existing descriptors.
      "close", "fstat",
      // Memory, and random numbers.
      "brk", "munmap", "mremap", "madvise", "getrandom",
      // Existing threads, and the exit.
      "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid", "set_robust_list", "rseq", "exit", "exit_group",
      "sched_getaffinity",
    ]
    return calls.map { .allow($0) } + [
      .allow("mmap", where: noExecution), .allow("mprotect", where: noExecution),
      .allow("sendto", where: .init(3, mask: plain, equals: 0), .init(4, mask: .max, equals: 0)),
      // No other descriptor gets the channel's number: sockets of datagrams exist already, or would come through the channel.
      .allow(
        "sendmsg", where: .init(0, equals: UInt64(MessageChannel.inheritedNumber)), .init(2, mask: plain, equals: 0)),
      // abort(3), and no signal to another process.
      .allow("tgkill", where: .init(0, equals: UInt64(UInt32(bitPattern: process)))),
    ]
  }

  package static func filter() throws(SystemError) -> SystemCallFilter { try SystemCallFilter(rules(process: getpid())) }
}
