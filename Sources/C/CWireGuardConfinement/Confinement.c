#define _GNU_SOURCE
#include "CWireGuardIO.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "CConfinement.h"

#define ALLOW(name)                                                                                                                        \
  { .call = SCMP_SYS(name) }
// Allows the call if one argument, masked with `bits`, equals `result`. The kernel uses only the lower half of these arguments.
#define ALLOW_WHERE(name, number, bits, result)                                                                                            \
  {                                                                                                                                        \
    .call = SCMP_SYS(name), .tests = 1, .test = { {.argument = (number), .mask = (bits), .value = (result)} }                              \
  }

static struct cconfinement_filter *filter;

int cwg_prepare_confinement(void) {
  if (filter) return 0;
  const uint32_t all = UINT32_MAX, no_fast_open = ~(uint32_t)(MSG_NOSIGNAL | MSG_DONTWAIT);
  const struct cconfinement_rule rules[] = {
      // Packets.
      ALLOW(read),
      ALLOW(write),
      ALLOW(readv),
      ALLOW(writev),
      ALLOW(recvmmsg),
      ALLOW(recvmsg),
      ALLOW(recvfrom),
      ALLOW(getsockopt),
      ALLOW(getsockname),
      ALLOW(accept4),
      ALLOW(shutdown),
      // Waiting.
      ALLOW(epoll_wait),
      ALLOW(epoll_pwait),
      ALLOW(epoll_pwait2),
      ALLOW(epoll_ctl),
      ALLOW(epoll_create1),
      ALLOW(poll),
      ALLOW(ppoll),
      ALLOW(eventfd2),
      ALLOW(timerfd_create),
      ALLOW(timerfd_settime),
      ALLOW(inotify_rm_watch),
      ALLOW(clock_gettime),
      ALLOW(clock_getres),
      ALLOW(clock_nanosleep),
      ALLOW(nanosleep),
      ALLOW(gettimeofday),
      ALLOW(futex),
      ALLOW(sched_yield),
      ALLOW(restart_syscall),
      // Existing descriptors.
      ALLOW(close),
      ALLOW(dup3),
      ALLOW(fstat),
      ALLOW(lseek),
      // Memory.
      ALLOW(brk),
      ALLOW(munmap),
      ALLOW(mremap),
      ALLOW(madvise),
      ALLOW(mlock),
      ALLOW(munlock),
      ALLOW(getrandom),
      // Existing threads, and the exit.
      ALLOW(rt_sigprocmask),
      ALLOW(rt_sigreturn),
      ALLOW(sigaltstack),
      ALLOW(gettid),
      ALLOW(getpid),
      ALLOW(set_robust_list),
      ALLOW(rseq),
      ALLOW(exit),
      ALLOW(exit_group),
      ALLOW(sched_getaffinity),
      ALLOW(uname),
      ALLOW(getuid),
      ALLOW(geteuid),
      ALLOW(getgid),
      ALLOW(getegid),
      // Memory never becomes executable.
      ALLOW_WHERE(mmap, 2, PROT_EXEC, 0),
      ALLOW_WHERE(mprotect, 2, PROT_EXEC, 0),
      // New sockets are not allowed, only existing and received ones. None of them connects by sending (MSG_FASTOPEN).
      ALLOW_WHERE(sendto, 3, no_fast_open, 0),
      ALLOW_WHERE(sendmsg, 2, no_fast_open, 0),
      ALLOW_WHERE(sendmmsg, 3, no_fast_open, 0),
      // UDP_GRO, and the subscription to changes of routes; no other option is set.
      ALLOW_WHERE(setsockopt, 1, all, IPPROTO_UDP),
      ALLOW_WHERE(setsockopt, 1, all, SOL_NETLINK),
      // The state of the TUN device, in any namespace.
      ALLOW_WHERE(ioctl, 1, all, TUNGETIFF),
      // Not F_SETOWN or F_SETSIG, which send signals.
      ALLOW_WHERE(fcntl, 1, all, F_GETFD),
      ALLOW_WHERE(fcntl, 1, all, F_SETFD),
      ALLOW_WHERE(fcntl, 1, all, F_GETFL),
      ALLOW_WHERE(fcntl, 1, all, F_SETFL),
      ALLOW_WHERE(fcntl, 1, all, F_DUPFD_CLOEXEC),
      // abort(3), but no signal to another process.
      ALLOW_WHERE(tgkill, 0, all, (uint32_t)getpid()),
  };
  return cconfinement_prepare(rules, sizeof rules / sizeof *rules, &filter);
}

int cwg_confine(void) {
  int result = cwg_prepare_confinement();
  return result == 0 ? cconfinement_apply(filter) : result;
}
