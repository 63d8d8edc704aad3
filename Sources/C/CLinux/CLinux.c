#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

int clinux_peer_credentials(int fd, uid_t *uid, gid_t *gid, pid_t *pid) {
  struct ucred peer;
  socklen_t length = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) return -1;
  *uid = peer.uid;
  *gid = peer.gid;
  *pid = peer.pid;
  return 0;
}

int clinux_peer_groups(int fd, gid_t *groups, int limit) {
  socklen_t length = (socklen_t)limit * sizeof *groups;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length) < 0) return -1;
  return (int)(length / sizeof *groups);
}

// Headers before Linux 6.5 do not have it.
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int clinux_peer_process(int fd) {
  int process;
  socklen_t length = sizeof process;
  return getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &process, &length) < 0 ? -1 : process;
}

static int unix_address(struct sockaddr_un *address, const char *path) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address->sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address->sun_path, path);
  return 0;
}

int clinux_unix_connect(int fd, const char *path) {
  struct sockaddr_un address;
  if (unix_address(&address, path) < 0) return -1;
  return connect(fd, (struct sockaddr *)&address, sizeof address);
}

int clinux_unix_bind(int fd, const char *path) {
  struct sockaddr_un address;
  if (unix_address(&address, path) < 0) return -1;
  return bind(fd, (struct sockaddr *)&address, sizeof address);
}

static socklen_t abstract_address(struct sockaddr_un *address, const char *name) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  size_t length = strnlen(name, sizeof address->sun_path - 1);
  memcpy(address->sun_path + 1, name, length);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

int clinux_unix_connect_abstract(int fd, const char *name) {
  struct sockaddr_un address;
  socklen_t length = abstract_address(&address, name);
  return connect(fd, (struct sockaddr *)&address, length);
}

int clinux_unix_bind_abstract(int fd, const char *name) {
  struct sockaddr_un address;
  socklen_t length = abstract_address(&address, name);
  return bind(fd, (struct sockaddr *)&address, length);
}

int clinux_has_capability(int capability) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
  memset(data, 0, sizeof data);
  if (syscall(SYS_capget, &header, data) < 0) return 0;
  return data[capability / 32].effective >> (capability % 32) & 1;
}

int clinux_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

int clinux_set_mark(int fd, uint32_t mark) { return setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark); }

int clinux_bind_to_device(int fd, const char *link) {
  return setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, link, (socklen_t)strlen(link) + 1);
}

int clinux_connect(int fd, const uint8_t *address, int length, uint16_t port) {
  struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
  struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
  if (length == 4) {
    memcpy(&v4.sin_addr, address, 4);
    return connect(fd, (struct sockaddr *)&v4, sizeof v4);
  }
  memcpy(&v6.sin6_addr, address, 16);
  return connect(fd, (struct sockaddr *)&v6, sizeof v6);
}

int clinux_local_address(int fd, uint8_t address[16]) {
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } own = {.any = {.sa_family = AF_UNSPEC}};
  socklen_t length = sizeof own;
  if (getsockname(fd, &own.any, &length) < 0) return -1;
  if (own.any.sa_family == AF_INET) {
    memcpy(address, &own.v4.sin_addr, 4);
    return 4;
  }
  memcpy(address, &own.v6.sin6_addr, 16);
  return 16;
}

int clinux_send_at_once(int fd) { return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)); }

int clinux_message_pair(int ends[2]) {
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return -1;
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0) return 0;
  int error = errno;
  close(ends[0]);
  close(ends[1]);
  errno = error;
  return -1;
}

int clinux_send_message(int fd, const void *bytes, size_t count, int passed) {
  ssize_t result;
  if (passed < 0) {
    do result = send(fd, bytes, count, MSG_NOSIGNAL);
    while (result < 0 && errno == EINTR);
    return result < 0 ? -1 : 0;
  }
  struct iovec piece = {(void *)bytes, count};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control = {.room = {0}};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &passed, sizeof(int));
  do result = sendmsg(fd, &message, MSG_NOSIGNAL);
  while (result < 0 && errno == EINTR);
  return result < 0 ? -1 : 0;
}

ssize_t clinux_receive_message(int fd, void *bytes, size_t size, int takes, int *passed) {
  struct iovec piece = {bytes, size};
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
  } control;
  // Without a control buffer, or with one that is too small, the kernel closes received descriptors.
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
  *passed = -1;
  if (takes) {
    message.msg_control = control.room;
    message.msg_controllen = sizeof control.room;
  }
  ssize_t length;
  do length = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (length < 0 && errno == EINTR);
  if (length < 0) return -1;
  struct cmsghdr *header = takes ? CMSG_FIRSTHDR(&message) : NULL;
  if (header != NULL && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
    memcpy(passed, CMSG_DATA(header), sizeof(int));
  if ((message.msg_flags & MSG_TRUNC) == 0) return length;
  if (*passed >= 0) {
    close(*passed);
    *passed = -1;
  }
  errno = EMSGSIZE;
  return -1;
}

int clinux_exit_code(int code, int status) { return code == CLD_EXITED ? status : 128 + status; }

const uint32_t clinux_readable = EPOLLIN, clinux_writable = EPOLLOUT;

int clinux_poller(void) { return epoll_create1(EPOLL_CLOEXEC); }

int clinux_poller_add(int poller, int fd, uint32_t events, uint64_t identity) {
  struct epoll_event event = {.events = events, .data.u64 = identity};
  return epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

int clinux_poller_remove(int poller, int fd) { return epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL); }

int clinux_poller_wait(int poller, struct clinux_ready *ready, int limit) {
  struct epoll_event events[16];
  const int most = sizeof events / sizeof *events;
  int count = epoll_wait(poller, events, limit < most ? limit : most, -1);
  for (int i = 0; i < count; i++) ready[i] = (struct clinux_ready){.identity = events[i].data.u64, .events = events[i].events};
  return count;
}

int clinux_timer(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK); }

int clinux_timer_set(int fd, uint64_t nanoseconds) {
  struct itimerspec when = {.it_value = {.tv_sec = (time_t)(nanoseconds / 1000000000), .tv_nsec = (long)(nanoseconds % 1000000000)}};
  return timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL);
}

int clinux_signal_reader(int signal) {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  int error = pthread_sigmask(SIG_BLOCK, &mask, NULL);
  if (error != 0) {
    errno = error;
    return -1;
  }
  return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

const int clinux_signal_size = sizeof(struct signalfd_siginfo);

int clinux_process(pid_t process) { return (int)syscall(SYS_pidfd_open, process, 0); }

int clinux_reap(pid_t child) {
  siginfo_t info;
  memset(&info, 0, sizeof info);
  if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0) return -1;
  return clinux_exit_code(info.si_code, info.si_status);
}

int clinux_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC | O_NONBLOCK); }

/// struct clone_args of clone3(2), version 2.
struct clone_arguments {
  uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

static const uint64_t clone_into_cgroup = 0x200000000;
enum { close_range_on_exec = 4, highest_signal = 64 };

/// In the child: has its descriptors and signals as the program is to get them. 0, or -1 with errno.
static int prepare_child(const int *descriptors, int count, int report) {
  struct sigaction usual = {.sa_handler = SIG_DFL};
  for (int number = 1; number <= highest_signal; number++) sigaction(number, &usual, NULL);
  // The copies must not collide with the numbers in the program.
  int high = count > 16 ? count : 16, copies[16];
  if (count > 16) {
    errno = EINVAL;
    return -1;
  }
  for (int number = 0; number < count; number++) {
    copies[number] = -2;
    if (descriptors[number] == -2) continue;
    int source = descriptors[number] == -1 ? open("/dev/null", O_RDWR | O_CLOEXEC) : descriptors[number];
    copies[number] = source < 0 ? -1 : fcntl(source, F_DUPFD_CLOEXEC, high);
    if (copies[number] < 0) return -1;
  }
  for (int number = 0; number < count; number++)
    if (copies[number] >= 0 && dup2(copies[number], number) < 0) return -1;
  if (syscall(SYS_close_range, count, ~0u, close_range_on_exec) < 0) {
    // Before Linux 5.11; more are never open.
    for (int number = count; number < 65536; number++)
      if (number != report) fcntl(number, F_SETFD, FD_CLOEXEC);
  }
  sigset_t none;
  sigemptyset(&none);
  return sigprocmask(SIG_SETMASK, &none, NULL);
}

static int enter_group(int group) {
  int processes = openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC);
  if (processes < 0) return -1;
  ssize_t count = write(processes, "0", 1);
  int error = errno;
  close(processes);
  errno = error;
  return count == 1 ? 0 : -1;
}

/// struct landlock_ruleset_attr and struct landlock_path_beneath_attr of linux/landlock.h: Debian 12's headers are older.
struct landlock_ruleset {
  uint64_t handled_access_fs, handled_access_net, scoped;
};
struct landlock_path {
  uint64_t allowed_access;
  int32_t parent_fd;
} __attribute__((packed));
enum {
  landlock_create_ruleset = 444,
  landlock_add_rule = 445,
  landlock_restrict_self = 446,
  landlock_make_block = 1 << 11,
  landlock_refer = 1 << 13,
  landlock_scope_signal = 1 << 1,
};

/// In the child: a Landlock domain of its own. Programs of different domains cannot trace each other, or read each other's memory and
/// environment, although their user is the same; since Linux 6.12 they cannot send each other signals either. The domain limits nothing
/// else that a program without privileges could do: it makes no block devices. Does nothing without Landlock (before Linux 5.13, or off).
static void enter_domain(void) {
  long version = syscall(landlock_create_ruleset, NULL, 0, 1);
  if (version < 1) return;
  struct landlock_ruleset rules = {.handled_access_fs = landlock_make_block};
  // Without it no file can be moved to another folder.
  if (version >= 2) rules.handled_access_fs |= landlock_refer;
  if (version >= 6) rules.scoped = landlock_scope_signal;
  size_t size = version >= 6 ? sizeof rules : version >= 4 ? 16 : 8;
  int set = (int)syscall(landlock_create_ruleset, &rules, size, 0);
  if (set < 0) return;
  struct landlock_path root = {.allowed_access = landlock_refer, .parent_fd = open("/", O_PATH | O_CLOEXEC)};
  bool is_ready = version < 2 || (root.parent_fd >= 0 && syscall(landlock_add_rule, set, 1, &root, 0) == 0);
  if (is_ready && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) syscall(landlock_restrict_self, set, 0);
  if (root.parent_fd >= 0) close(root.parent_fd);
  close(set);
}

pid_t clinux_spawn_in_group(int group, const char *program, char *const arguments[], char *const environment[], const int *descriptors,
                            int count, int new_session, int mask, int own_domain) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -1;
  // The write end stands above the numbers of the program.
  int report = fcntl(ends[1], F_DUPFD_CLOEXEC, 64);
  close(ends[1]);
  if (report < 0) {
    close(ends[0]);
    return -1;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  struct clone_arguments clone = {.flags = clone_into_cgroup, .exit_signal = SIGCHLD, .cgroup = (uint64_t)group};
  int is_inside = 1;
  pid_t child = (pid_t)syscall(SYS_clone3, &clone, sizeof clone);
  if (child < 0) {
    // ENOSYS: an old kernel, or a filter of system calls (RestrictNamespaces= of systemd).
    is_inside = 0;
    child = fork();
  }
  if (child == 0) {
    if (mask >= 0) umask((mode_t)mask);
    int failed = (!is_inside && enter_group(group) < 0) || (new_session ? setsid() : setpgid(0, 0)) < 0;
    if (own_domain) enter_domain();
    if (!failed && prepare_child(descriptors, count, report) == 0) execvpe(program, arguments, environment);
    int error = errno;
    if (write(report, &error, sizeof error) < 0) _exit(126);
    _exit(127);
  }
  int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  close(report);
  if (child > 0) {
    ssize_t length;
    int cause = 0;
    do length = read(ends[0], &cause, sizeof cause);
    while (length < 0 && errno == EINTR);
    if (length == (ssize_t)sizeof cause) {
      while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
      error = cause;
      child = -1;
    }
  }
  close(ends[0]);
  errno = error;
  return child;
}

int clinux_accept(int fd) { return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

const short clinux_spawn_new_session = POSIX_SPAWN_SETSID;

int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int from) {
  return posix_spawn_file_actions_addclosefrom_np(actions, from);
}

int clinux_clock_change_timer(void) {
  int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
  if (fd < 0) return -1;
  // The latest time that the kernel can represent.
  struct itimerspec never = {.it_value = {.tv_sec = INT64_MAX / 1000000000 - 1}};
  if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) < 0) {
    close(fd);
    return -1;
  }
  return fd;
}

int clinux_is_immutable(const char *path) {
  struct statx status;
  if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, 0, &status) != 0) return 0;
  return (status.stx_attributes & STATX_ATTR_IMMUTABLE) != 0;
}

int clinux_exchange(const char *one, const char *other) { return renameat2(AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE); }

int clinux_rename_to_new(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE); }

int clinux_new_network(void) { return unshare(CLONE_NEWNET); }

int clinux_write_file(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return -1;
  ssize_t written = write(file, text, strlen(text));
  int error = errno;
  close(file);
  errno = error;
  return written == (ssize_t)strlen(text) ? 0 : -1;
}

static int own_mounts(void) {
  if (unshare(CLONE_NEWNS) == 0) return 0;
  if (errno != EPERM) return -1;
  char users[64], groups[64];
  snprintf(users, sizeof users, "%u %u 1", geteuid(), geteuid());
  snprintf(groups, sizeof groups, "%u %u 1", getegid(), getegid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return -1;
  if (clinux_write_file("/proc/self/setgroups", "deny") != 0 || clinux_write_file("/proc/self/uid_map", users) != 0) return -1;
  return clinux_write_file("/proc/self/gid_map", groups);
}

int clinux_hide_files(const char *const *paths, unsigned count) {
  if (own_mounts() != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0) return -1;
  for (unsigned i = 0; i < count; i++)
    if (mount("/dev/null", paths[i], NULL, MS_BIND, NULL) != 0) return -1;
  return 0;
}

int clinux_open_tun(const char *name) {
  struct ifreq request;
  memset(&request, 0, sizeof request);
  if (strlen(name) >= sizeof request.ifr_name) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(request.ifr_name, name);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (tun < 0) return -1;
  if (ioctl(tun, TUNSETIFF, &request) == 0) return tun;
  int code = errno;
  close(tun);
  errno = code;
  return -1;
}

int clinux_keep_tun(int tun, uid_t owner) {
  return ioctl(tun, TUNSETOWNER, (unsigned long)owner) == 0 && ioctl(tun, TUNSETPERSIST, 1UL) == 0 ? 0 : -1;
}
