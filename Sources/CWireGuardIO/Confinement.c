#define _GNU_SOURCE
#include "CWireGuardIO.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

int cwg_become(uid_t user, gid_t group) {
  if (setgroups(0, NULL) < 0 && errno != EPERM) return -1;
  if (setresgid(group, group, group) < 0 || setresuid(user, user, user) < 0) return -1;
  return 0;
}

int cwg_drop_capabilities(void) {
  for (int capability = 0; capability <= CAP_LAST_CAP; capability++) {
    // Without CAP_SETPCAP the bounding set stays, which matters for exec alone, and that gives nothing new either.
    prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  memset(data, 0, sizeof data);
  return (int)syscall(SYS_capset, &header, data);
}

int cwg_forbid_privileges(void) {
  struct rlimit none = {0, 0};
  if (setrlimit(RLIMIT_CORE, &none) < 0) return -1;
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return -1;
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

int cwg_confine(void) {
  static const int allowed[] = {
      // Packets.
      SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(recvmmsg), SCMP_SYS(sendmmsg), SCMP_SYS(recvmsg),
      SCMP_SYS(sendmsg), SCMP_SYS(recvfrom), SCMP_SYS(sendto), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt), SCMP_SYS(getsockname),
      SCMP_SYS(accept4), SCMP_SYS(shutdown),
      // Waiting.
      SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_create1), SCMP_SYS(poll),
      SCMP_SYS(ppoll), SCMP_SYS(eventfd2), SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime), SCMP_SYS(inotify_rm_watch),
      SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday),
      SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(restart_syscall),
      // Descriptors that are there.
      SCMP_SYS(close), SCMP_SYS(dup3), SCMP_SYS(fcntl), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(lseek),
      // Memory.
      SCMP_SYS(brk), SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(mlock), SCMP_SYS(munlock),
      SCMP_SYS(getrandom),
      // Threads and the end.
      SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(gettid), SCMP_SYS(getpid), SCMP_SYS(tgkill),
      SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(sched_getaffinity),
      SCMP_SYS(uname), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
  };
  // What is not allowed fails; a program that has been taken over is not told more than that.
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (!filter) return -ENOMEM;
  int result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
  for (size_t i = 0; result == 0 && i < sizeof allowed / sizeof *allowed; i++) {
    result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
  }
  // Memory is never made executable.
  if (result == 0) {
    result = seccomp_rule_add(
        filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, 4 /* PROT_EXEC */, 0));
  }
  // A socket for asking the kernel for an interface's flags; nothing that reaches a network.
  if (result == 0) {
    result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, 2 /* AF_INET */));
  }
  static const unsigned long questions[] = {0x8913 /* SIOCGIFFLAGS */, 0x8921 /* SIOCGIFMTU */, 0x8933 /* SIOCGIFINDEX */};
  for (size_t i = 0; result == 0 && i < sizeof questions / sizeof *questions; i++) {
    result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_EQ, questions[i]));
  }
  if (result == 0) result = seccomp_load(filter);
  seccomp_release(filter);
  return result;
}
