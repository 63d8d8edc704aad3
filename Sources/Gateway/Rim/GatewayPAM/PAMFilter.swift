internal import Glibc
package import LinuxIO
package import ProcessConfinement

/// The system calls of the process that runs PAM modules. They are files that it loads after its confinement; they read their settings,
/// and ask services by sockets of unix(7), TCP and UDP. It cannot write to files, listen, start programs or threads, or make memory
/// executable that it can write.
package enum PAMFilter {
  package static func rules(process: Int32) -> [SystemCallFilter.Rule] {
    let noExecution = SystemCallFilter.Test(2, mask: UInt64(PROT_EXEC), equals: 0)
    // Of files: a module's code.
    let noWriting = SystemCallFilter.Test(2, mask: UInt64(PROT_WRITE), equals: 0)
    let ofFile = SystemCallFilter.Test(3, mask: UInt64(MAP_ANONYMOUS | MAP_SHARED), equals: 0)
    let writing = UInt64(O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND)
    let plain = 0xffff_ffff & ~UInt64(MSG_NOSIGNAL | MSG_DONTWAIT)
    let calls = [
      // The channel, and connections.
      "read", "write", "readv", "writev", "recvmsg", "recvfrom", "connect", "bind", "getsockopt", "getsockname", "getpeername",
      "shutdown",
      // Waiting.
      "poll", "ppoll", "select", "pselect6", "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
      "futex", "sched_yield", "restart_syscall", "alarm", "setitimer",
      // Files that every user can read.
      "access", "faccessat", "faccessat2", "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs", "readlink", "readlinkat",
      "getdents64", "lseek", "pread64", "getcwd", "close", "dup",
      // Memory, and random numbers.
      "brk", "munmap", "mremap", "madvise", "getrandom",
      // The identity of the process, its signals, and the exit.
      "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "gettid", "getpid", "getppid", "getuid", "geteuid", "getgid",
      "getegid", "getresuid", "getresgid", "getgroups", "set_robust_list", "rseq", "exit", "exit_group", "sched_getaffinity", "uname",
      "umask", "getrusage",
    ]
    let families = [AF_UNIX, AF_INET, AF_INET6].flatMap { family in
      [Int32(SOCK_STREAM.rawValue), Int32(SOCK_DGRAM.rawValue)].map { kind in
        SystemCallFilter.Rule.allow("socket", where: .init(0, equals: UInt64(family)), .init(1, mask: 0xf, equals: UInt64(kind)))
      }
    }
    // Times and sizes, and that errors are told; neither marks nor links.
    let options = [
      (SOL_SOCKET, [SO_REUSEADDR, SO_KEEPALIVE, SO_RCVBUF, SO_SNDBUF, SO_RCVTIMEO, SO_SNDTIMEO]), (Int32(IPPROTO_TCP), [TCP_NODELAY]),
      (Int32(IPPROTO_IP), [IP_RECVERR]), (Int32(IPPROTO_IPV6), [IPV6_RECVERR, IPV6_V6ONLY]),
    ].flatMap { level, names in
      names.map { name -> SystemCallFilter.Rule in
        .allow("setsockopt", where: .init(1, equals: UInt64(level)), .init(2, equals: UInt64(name)))
      }
    }
    let fileControls = [F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW, F_DUPFD_CLOEXEC]
    return calls.map { .allow($0) } + families + options + [
      .allow("openat", where: .init(2, mask: writing, equals: 0)), .allow("open", where: .init(1, mask: writing, equals: 0)),
      .allow("mmap", where: noExecution), .allow("mmap", where: noWriting, ofFile), .allow("mprotect", where: noExecution),
      // Only to the connected address, or to the one that a datagram names.
      .allow("sendto", where: .init(3, mask: plain, equals: 0)), .allow("sendmsg", where: .init(2, mask: plain, equals: 0)),
      .allow("sendmmsg", where: .init(3, mask: plain, equals: 0)),
      // libpam looks whether the kernel audits, and goes on where it says that it cannot.
      .answer("socket", EAFNOSUPPORT, where: .init(0, equals: UInt64(AF_NETLINK))),
      // abort(3), and no signal to another process.
      .allow("tgkill", where: .init(0, equals: UInt64(UInt32(bitPattern: process)))),
      // Not F_SETOWN or F_SETSIG, which send signals.
    ] + fileControls.map { .allow("fcntl", where: .init(1, equals: UInt64($0))) }
  }

  /// The filter for the calling process.
  package static func filter() throws(SystemError) -> SystemCallFilter { try SystemCallFilter(rules(process: getpid())) }
}
