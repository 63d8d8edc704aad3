#define _GNU_SOURCE
#include "CConfined.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { room = 4096 };

// The descriptors and pages from before the confinement.
static struct {
  int tcp, udp, listener, file, program, memory_file, maps, shared_memory;
  void *page;
  struct sockaddr_in nowhere;
} at_hand;

// Of a system call that failed, errno.
static int outcome(long result) { return result < 0 ? errno : CCONFINED_DONE; }

// --- memory that becomes executable --------------------------------------------------------------------------------

static int map(int protection) {
  return mmap(NULL, room, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? errno : CCONFINED_DONE;
}
static int map_all(void) { return map(PROT_READ | PROT_WRITE | PROT_EXEC); }
static int map_executable(void) { return map(PROT_READ | PROT_EXEC); }
static int map_file(void) {
  return mmap(NULL, room, PROT_READ | PROT_EXEC, MAP_PRIVATE, at_hand.memory_file, 0) == MAP_FAILED ? errno : CCONFINED_DONE;
}
static int protect(void) { return outcome(mprotect(at_hand.page, room, PROT_READ | PROT_EXEC)); }
static int protect_all(void) { return outcome(mprotect(at_hand.page, room, PROT_READ | PROT_WRITE | PROT_EXEC)); }
static int protect_with_key(void) { return outcome(syscall(SYS_pkey_mprotect, at_hand.page, room, PROT_READ | PROT_EXEC, -1)); }
static int attach_shared(void) { return shmat(at_hand.shared_memory, NULL, SHM_EXEC) == (void *)-1 ? errno : CCONFINED_DONE; }
static int make_memory_file(void) { return outcome(memfd_create("x", 0)); }

// After READ_IMPLIES_EXEC: is a page executable that was asked for with READ alone?
static int map_after_personality(void) {
  char *page = mmap(NULL, room, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return errno;
  char text[65536];
  ssize_t length = 0, more;
  while ((more = read(at_hand.maps, text + length, sizeof text - 1 - (size_t)length)) > 0) length += more;
  text[length > 0 ? length : 0] = 0;
  for (char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
    unsigned long first, end;
    char rights[5];
    if (sscanf(line, "%lx-%lx %4s", &first, &end, rights) != 3) continue;
    if ((unsigned long)page >= first && (unsigned long)page < end) return rights[2] == 'x' ? CCONFINED_DONE : EPERM;
  }
  return CCONFINED_UNTRIED;
}

// --- programs, processes, threads ----------------------------------------------------------------------------------

static int execute(void) {
  execl("/bin/true", "true", (char *)NULL);
  return errno;
}
static int execute_open(void) {
  char *arguments[] = {"true", NULL}, *none[] = {NULL};
  syscall(SYS_execveat, at_hand.program, "", arguments, none, AT_EMPTY_PATH);
  return errno;
}
static int fork_child(void) {
  long child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) _exit(0);
  return outcome(child);
}
static int clone_third(void) {
  uint64_t arguments[8] = {0, 0, 0, 0, SIGCHLD};
  long child = syscall(SYS_clone3, arguments, sizeof arguments);
  if (child == 0) _exit(0);
  return outcome(child);
}
static void *nothing(void *context) { return context; }
static int make_thread(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, nothing, NULL);
}
static int signal_parent(void) { return outcome(kill(getppid(), 0)); }
static int signal_parent_thread(void) { return outcome(syscall(SYS_tgkill, getppid(), getppid(), 0)); }
static int open_process(void) { return outcome(syscall(SYS_pidfd_open, getpid(), 0)); }
static int trace_me(void) { return outcome(ptrace(PTRACE_TRACEME, 0, NULL, NULL)); }
static int read_process(void) {
  char from = 1, to = 0;
  struct iovec here = {&to, 1}, there = {&from, 1};
  return outcome(syscall(SYS_process_vm_readv, getpid(), &here, 1ul, &there, 1ul, 0ul));
}
static int write_process(void) {
  char from = 1, to = 0;
  struct iovec here = {&from, 1}, there = {&to, 1};
  return outcome(syscall(SYS_process_vm_writev, getpid(), &here, 1ul, &there, 1ul, 0ul));
}
static int own_signals(void) { return outcome(fcntl(at_hand.udp, F_SETOWN, getppid())); }
static int choose_signal(void) { return outcome(fcntl(at_hand.udp, F_SETSIG, SIGKILL)); }

// --- sockets -------------------------------------------------------------------------------------------------------

static int udp4(void) { return outcome(socket(AF_INET, SOCK_DGRAM, 0)); }
static int udp6(void) { return outcome(socket(AF_INET6, SOCK_DGRAM, 0)); }
static int tcp4(void) { return outcome(socket(AF_INET, SOCK_STREAM, 0)); }
static int netlink(void) { return outcome(socket(AF_NETLINK, SOCK_RAW, 0)); }
static int packets(void) { return outcome(socket(AF_PACKET, SOCK_RAW, 0)); }
static int local(void) { return outcome(socket(AF_UNIX, SOCK_STREAM, 0)); }
static int pair(void) {
  int ends[2];
  return outcome(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
}
static const struct sockaddr *nowhere(void) { return (const struct sockaddr *)&at_hand.nowhere; }
static int connects(void) { return outcome(connect(at_hand.udp, nowhere(), sizeof at_hand.nowhere)); }
static int binds(void) {
  struct sockaddr_in any = {.sin_family = AF_INET};
  return outcome(bind(at_hand.udp, (struct sockaddr *)&any, sizeof any));
}
static int listens(void) { return outcome(listen(at_hand.tcp, 1)); }
static int fast_open(void) { return outcome(sendto(at_hand.tcp, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, nowhere(), sizeof at_hand.nowhere)); }
static struct msghdr message(struct iovec *piece) {
  *piece = (struct iovec){"x", 1};
  return (struct msghdr){.msg_name = &at_hand.nowhere, .msg_namelen = sizeof at_hand.nowhere, .msg_iov = piece, .msg_iovlen = 1};
}
static int fast_open_message(void) {
  struct iovec piece;
  struct msghdr header = message(&piece);
  return outcome(sendmsg(at_hand.tcp, &header, MSG_FASTOPEN | MSG_NOSIGNAL));
}
static int fast_open_messages(void) {
  struct iovec piece;
  struct mmsghdr header = {.msg_hdr = message(&piece)};
  return outcome(sendmmsg(at_hand.tcp, &header, 1, MSG_FASTOPEN | MSG_NOSIGNAL));
}
static int send_elsewhere(void) { return outcome(sendto(at_hand.udp, "x", 1, MSG_NOSIGNAL, nowhere(), sizeof at_hand.nowhere)); }
static int send_message_elsewhere(void) {
  struct iovec piece;
  struct msghdr header = message(&piece);
  return outcome(sendmsg(at_hand.udp, &header, MSG_NOSIGNAL));
}
static int send_messages_elsewhere(void) {
  struct iovec piece;
  struct mmsghdr header = {.msg_hdr = message(&piece)};
  return outcome(sendmmsg(at_hand.udp, &header, 1, MSG_NOSIGNAL));
}
static int accepts(void) {
  // Nobody connects, so there is nobody to accept; the test is that the call may be tried.
  int result = outcome(accept4(at_hand.listener, NULL, NULL, SOCK_NONBLOCK));
  return result == EAGAIN ? CCONFINED_DONE : result;
}
static int set_option(int level, int option, const void *value, socklen_t size) {
  return outcome(setsockopt(at_hand.udp, level, option, value, size));
}
static int mark(void) {
  int value = 1;
  return set_option(SOL_SOCKET, SO_MARK, &value, sizeof value);
}
static int bind_to_device(void) { return set_option(SOL_SOCKET, SO_BINDTODEVICE, "lo", 3); }
static int join_group(void) {
  struct ip_mreq group = {.imr_multiaddr.s_addr = htonl(0xe9fc0001), .imr_interface.s_addr = htonl(INADDR_LOOPBACK)};
  return set_option(IPPROTO_IP, IP_ADD_MEMBERSHIP, &group, sizeof group);
}

// --- files, namespaces, the kernel ---------------------------------------------------------------------------------

static int open_file(void) { return outcome(syscall(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY)); }
static int open_to_write(void) { return outcome(syscall(SYS_openat, AT_FDCWD, "/tmp", O_WRONLY | O_TMPFILE, 0600)); }
static int remove_file(void) {
  // That it may be tried is what counts.
  int result = outcome(unlinkat(AT_FDCWD, "/nonexistent", 0));
  return result == ENOENT ? CCONFINED_DONE : result;
}
static int raise_limit(void) {
  struct rlimit limit = {64, 64};
  return outcome(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, NULL));
}
static int open_second(void) {
  uint64_t how[3] = {O_RDONLY};
  return outcome(syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", how, sizeof how));
}
static int stat_file(void) {
  char data[256];
  return outcome(syscall(SYS_statx, AT_FDCWD, "/etc/passwd", 0, 0x7ff, data));
}
static int stat_file_by_place(void) {
  struct stat data;
  return outcome(fstatat(AT_FDCWD, "/etc/passwd", &data, 0));
}
static int read_link(void) {
  char path[64];
  return outcome(readlink("/proc/self/exe", path, sizeof path));
}
static int change_root(void) { return outcome(chroot("/")); }
static int mounts(void) { return outcome(mount("none", "/nonexistent", "tmpfs", 0, NULL)); }
static int leave_namespace(void) { return outcome(unshare(CLONE_NEWNET)); }
static int change_user(void) { return outcome(setuid(getuid())); }
static int change_personality(void) { return outcome(personality(READ_IMPLIES_EXEC)); }
static int make_dumpable(void) { return outcome(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)); }
static int ask_links(void) {
  struct ifreq request = {.ifr_name = "lo"};
  return outcome(ioctl(at_hand.udp, SIOCGIFFLAGS, &request));
}
static int type_into_terminal(void) { return outcome(ioctl(at_hand.udp, TIOCSTI, "x")); }
static int attach_tun(void) {
  struct ifreq request = {.ifr_name = "x"};
  return outcome(ioctl(at_hand.file, TUNSETIFF, &request));
}
static int ring(void) {
  uint64_t parameters[15] = {0};
  return outcome(syscall(SYS_io_uring_setup, 1, parameters));
}
static int program_kernel(void) { return outcome(syscall(SYS_bpf, 0, NULL, 0)); }
static int fault_handler(void) { return outcome(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */)); }
static int keyring(void) { return outcome(syscall(SYS_keyctl, 0, -3 /* the process's */, 1)); }
static int add_key(void) { return outcome(syscall(SYS_add_key, "user", "x", "y", 1ul, -2)); }
static int count_events(void) {
  struct {
    uint32_t type, size;
    uint64_t rest[14];
  } attributes = {.type = 1, .size = sizeof attributes};
  return outcome(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0ul));
}
static int another_filter(void) { return outcome(syscall(SYS_seccomp, 2 /* SECCOMP_GET_ACTION_AVAIL */, 0, &(uint32_t){0})); }

#ifdef __x86_64__
static int third_numbers(void) { return outcome(syscall(0x40000000 | SYS_getpid)); }
static int old_numbers(void) {
  // getpid of i386.
  long result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory", "r8", "r9", "r10", "r11");
  return result < 0 ? (int)-result : CCONFINED_DONE;
}
#endif

static const struct {
  const char *name;
  int (*go)(void);
} attempts[] = {
    {"mmap, to be written and executed", map_all},
    {"mmap, to be executed", map_executable},
    {"mmap of a file in memory, to be executed", map_file},
    {"mprotect, to be executed", protect},
    {"mprotect, to be written and executed", protect_all},
    {"pkey_mprotect, to be executed", protect_with_key},
    {"shmat, to be executed", attach_shared},
    {"memfd_create", make_memory_file},
    {"mmap under READ_IMPLIES_EXEC", map_after_personality},
    {"execve", execute},
    {"execveat of an open file", execute_open},
    {"clone", fork_child},
    {"clone3", clone_third},
    {"a thread", make_thread},
    {"kill", signal_parent},
    {"tgkill of another process", signal_parent_thread},
    {"pidfd_open", open_process},
    {"ptrace", trace_me},
    {"process_vm_readv", read_process},
    {"process_vm_writev", write_process},
    {"F_SETOWN", own_signals},
    {"F_SETSIG", choose_signal},
    {"a UDP socket", udp4},
    {"a UDP socket of IPv6", udp6},
    {"a TCP socket", tcp4},
    {"a netlink socket", netlink},
    {"a packet socket", packets},
    {"a unix socket", local},
    {"socketpair", pair},
    {"connect", connects},
    {"bind", binds},
    {"listen", listens},
    {"TCP Fast Open by sendto", fast_open},
    {"TCP Fast Open by sendmsg", fast_open_message},
    {"TCP Fast Open by sendmmsg", fast_open_messages},
    {"SO_MARK", mark},
    {"SO_BINDTODEVICE", bind_to_device},
    {"IP_ADD_MEMBERSHIP", join_group},
    {"openat", open_file},
    {"openat2", open_second},
    {"statx", stat_file},
    {"fstatat", stat_file_by_place},
    {"readlink", read_link},
    {"chroot", change_root},
    {"mount", mounts},
    {"unshare", leave_namespace},
    {"setuid", change_user},
    {"personality", change_personality},
    {"PR_SET_DUMPABLE", make_dumpable},
    {"ioctl: SIOCGIFFLAGS", ask_links},
    {"ioctl: TIOCSTI", type_into_terminal},
    {"ioctl: TUNSETIFF", attach_tun},
    {"io_uring_setup", ring},
    {"bpf", program_kernel},
    {"userfaultfd", fault_handler},
    {"keyctl", keyring},
    {"add_key", add_key},
    {"perf_event_open", count_events},
    {"seccomp", another_filter},
    {"openat, to be written", open_to_write},
    {"unlink", remove_file},
    {"a raised limit", raise_limit},
    // The calls that the engine needs for its sockets, and probes do not.
    {"sendto another address", send_elsewhere},
    {"sendmsg to another address", send_message_elsewhere},
    {"sendmmsg to another address", send_messages_elsewhere},
    {"accept", accepts},
#ifdef __x86_64__
    {"the numbers of x32", third_numbers},
    {"the numbers of i386", old_numbers},
#endif
};

int cconfined_count(void) { return sizeof attempts / sizeof *attempts; }

const char *cconfined_name(int attempt) { return attempts[attempt].name; }

static int prepare(int attempt) {
  at_hand.tcp = socket(AF_INET, SOCK_STREAM, 0);
  at_hand.udp = socket(AF_INET, SOCK_DGRAM, 0);
  at_hand.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (at_hand.listener < 0 || listen(at_hand.listener, 1) < 0) return -1;
  at_hand.file = open("/dev/net/tun", O_RDWR);
  at_hand.program = open("/bin/true", O_RDONLY);
  at_hand.memory_file = memfd_create("x", 0);
  at_hand.maps = open("/proc/self/maps", O_RDONLY);
  at_hand.shared_memory = shmget(IPC_PRIVATE, room, IPC_CREAT | 0700);
  void *shared = shmat(at_hand.shared_memory, NULL, 0);
  // Goes when the last process that has it does.
  shmctl(at_hand.shared_memory, IPC_RMID, NULL);
  at_hand.page = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  at_hand.nowhere = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (ftruncate(at_hand.memory_file, room) < 0) return -1;
  if (attempts[attempt].go == map_after_personality && personality(READ_IMPLIES_EXEC) < 0) return -1;
  int is_ready = at_hand.tcp >= 0 && at_hand.udp >= 0 && at_hand.program >= 0 && at_hand.maps >= 0 && shared != (void *)-1 &&
                 at_hand.page != MAP_FAILED;
  return is_ready ? 0 : -1;
}

int cconfined_try(int attempt, int (*confine)(void)) {
  int ends[2];
  if (pipe(ends) < 0) return CCONFINED_UNTRIED;
  pid_t child = fork();
  if (child < 0) return CCONFINED_UNTRIED;
  if (child == 0) {
    int result = CCONFINED_UNTRIED;
    int ready = prepare(attempt);
    if (ready == 0 && (!confine || confine() == 0)) {
      // Said before it is tried: a program that is executed has nothing to say.
      result = CCONFINED_DONE;
      if (write(ends[1], &result, sizeof result) < 0) _exit(1);
      result = attempts[attempt].go();
    }
    if (write(ends[1], &result, sizeof result) < 0) _exit(1);
    _exit(0);
  }
  close(ends[1]);
  int result = CCONFINED_UNTRIED, last = result;
  while (read(ends[0], &last, sizeof last) == sizeof last) result = last;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? CCONFINED_KILLED : result;
}
