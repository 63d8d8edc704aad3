internal import Glibc
internal import LinuxIO
package import ProcessConfinement

/// The system calls of a program that reads a gateway's pin, of itself or of DNS, once it is connected: it talks by the connection that it
/// has, and prints a line.
package enum PinFilter {
  package static func rules(process: Int32) -> [SystemCallFilter.Rule] {
    let noExecution = SystemCallFilter.Test(2, mask: UInt64(PROT_EXEC), equals: 0)
    let calls = [
      "read", "write", "poll", "ppoll", "clock_gettime", "gettimeofday", "futex", "restart_syscall", "close", "fstat",
      // Memory, and random numbers.
      "brk", "munmap", "mremap", "madvise", "getrandom",
      // The only thread, and the exit.
      "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid", "exit", "exit_group",
    ]
    return calls.map { .allow($0) } + [
      .allow("mmap", where: noExecution), .allow("mprotect", where: noExecution),
      // Only to the connected address, and not MSG_FASTOPEN.
      .allow("sendto", where: .init(3, mask: 0xffff_ffff & ~UInt64(MSG_NOSIGNAL), equals: 0), .init(4, mask: .max, equals: 0)),
      // abort(3), and no signal to another process.
      .allow("tgkill", where: .init(0, equals: UInt64(UInt32(bitPattern: process)))),
    ]
  }
}
