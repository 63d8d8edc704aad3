#define _GNU_SOURCE
#include "CWireGuardIO.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/if_tun.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int cwg_become(uid_t user, gid_t group) {
  if (setgroups(0, NULL) < 0 && errno != EPERM) return -1;
  if (setresgid(group, group, group) < 0 || setresuid(user, user, user) < 0) return -1;
  return 0;
}

void cwg_drop_bounds(void) {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++) prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
}

int cwg_drop_capabilities(void) {
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

// A system call that is allowed where one argument, without the bits of `mask`, equals `value`. The kernel looks at the lower half of these alone.
struct condition {
  int call;
  unsigned int argument;
  uint32_t mask, value;
};

static int allow_where(scmp_filter_ctx filter, const struct condition *condition) {
  return seccomp_rule_add(
      filter, SCMP_ACT_ALLOW, condition->call, 1, SCMP_CMP(condition->argument, SCMP_CMP_MASKED_EQ, condition->mask, condition->value));
}

int cwg_confine(void) {
  static const int allowed[] = {
      // Packets.
      SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(recvmmsg), SCMP_SYS(recvmsg), SCMP_SYS(recvfrom),
      SCMP_SYS(getsockopt), SCMP_SYS(getsockname), SCMP_SYS(accept4), SCMP_SYS(shutdown),
      // Waiting.
      SCMP_SYS(epoll_wait), SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_create1), SCMP_SYS(poll),
      SCMP_SYS(ppoll), SCMP_SYS(eventfd2), SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime), SCMP_SYS(inotify_rm_watch),
      SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday),
      SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(restart_syscall),
      // Descriptors that are there.
      SCMP_SYS(close), SCMP_SYS(dup3), SCMP_SYS(fstat), SCMP_SYS(lseek),
      // Memory.
      SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(mlock), SCMP_SYS(munlock), SCMP_SYS(getrandom),
      // Threads that are there, and the end.
      SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(gettid), SCMP_SYS(getpid),
      SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(exit), SCMP_SYS(exit_group), SCMP_SYS(sched_getaffinity),
      SCMP_SYS(uname), SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
  };
  const uint32_t all = UINT32_MAX, no_fast_open = ~(uint32_t)(MSG_NOSIGNAL | MSG_DONTWAIT);
  const struct condition conditions[] = {
      // Memory is never made executable.
      {SCMP_SYS(mmap), 2, PROT_EXEC, 0},
      {SCMP_SYS(mprotect), 2, PROT_EXEC, 0},
      // There is no socket but those that are there or are passed in. None of them connects by sending (MSG_FASTOPEN).
      {SCMP_SYS(sendto), 3, no_fast_open, 0},
      {SCMP_SYS(sendmsg), 2, no_fast_open, 0},
      {SCMP_SYS(sendmmsg), 3, no_fast_open, 0},
      // Joining of datagrams (UDP_GRO), and whether changes of routes are heard: nothing else is set.
      {SCMP_SYS(setsockopt), 1, all, IPPROTO_UDP},
      {SCMP_SYS(setsockopt), 1, all, SOL_NETLINK},
      // Whether the TUN device still exists, in whatever namespace.
      {SCMP_SYS(ioctl), 1, all, TUNGETIFF},
      // Not F_SETOWN or F_SETSIG, which send signals.
      {SCMP_SYS(fcntl), 1, all, F_GETFD},
      {SCMP_SYS(fcntl), 1, all, F_SETFD},
      {SCMP_SYS(fcntl), 1, all, F_GETFL},
      {SCMP_SYS(fcntl), 1, all, F_SETFL},
      {SCMP_SYS(fcntl), 1, all, F_DUPFD_CLOEXEC},
      // abort(3), and no signal to another process.
      {SCMP_SYS(tgkill), 0, all, (uint32_t)getpid()},
  };
  // Else what is mapped to be read would be executable too, where that was inherited.
  if (personality(PER_LINUX) < 0) return -errno;
  // What is not allowed fails; a program that has been taken over is not told more than that.
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (!filter) return -ENOMEM;
  int result = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
  // A call by the numbers of another architecture (i386, x32) ends the process.
  if (result == 0) result = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  for (size_t i = 0; result == 0 && i < sizeof allowed / sizeof *allowed; i++) {
    result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
  }
  for (size_t i = 0; result == 0 && i < sizeof conditions / sizeof *conditions; i++) result = allow_where(filter, &conditions[i]);
  if (result == 0) result = seccomp_load(filter);
  seccomp_release(filter);
  return result;
}
