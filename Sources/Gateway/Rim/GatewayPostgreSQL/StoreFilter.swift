internal import Glibc
package import LinuxIO
package import ProcessConfinement

/// The system calls of the store's process once it is connected. It cannot make, connect or bind sockets, open files, start programs or
/// threads: it has its channel and the connection.
package enum StoreFilter {
  package static func rules(process: Int32) -> [SystemCallFilter.Rule] {
    let noExecution = SystemCallFilter.Test(2, mask: UInt64(PROT_EXEC), equals: 0)
    let plainFlags = SystemCallFilter.Test(3, mask: 0xffff_ffff & ~UInt64(MSG_NOSIGNAL | MSG_DONTWAIT), equals: 0)
    let noAddress = SystemCallFilter.Test(4, mask: .max, equals: 0)
    let calls = [
      // The channel and the connection.
      "read", "write", "recvmsg", "recvfrom", "getsockopt", "shutdown", "poll", "ppoll", "clock_gettime", "gettimeofday", "futex",
      "sched_yield", "restart_syscall", "close", "fstat",
      // Memory, and random numbers.
      "brk", "munmap", "mremap", "madvise", "getrandom",
      // The existing thread, and the exit.
      "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid", "set_robust_list", "rseq", "exit", "exit_group",
      "sched_getaffinity",
    ]
    return calls.map { .allow($0) } + [
      .allow("mmap", where: noExecution), .allow("mprotect", where: noExecution), .allow("sendto", where: plainFlags, noAddress),
      // abort(3), and no signal to another process.
      .allow("tgkill", where: .init(0, equals: UInt64(UInt32(bitPattern: process)))),
    ]
  }

  package static func filter() throws(SystemError) -> SystemCallFilter { try SystemCallFilter(rules(process: getpid())) }
}
