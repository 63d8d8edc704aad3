// Parts of the C library that Swift cannot import: structures behind _GNU_SOURCE, function-like macros and variadics.
#ifndef CLINUX_H
#define CLINUX_H

#include <spawn.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/types.h>

/// SO_PEERCRED: the credentials of the connecting process. 0, or -1 with errno.
int clinux_peer_credentials(int fd, uid_t *uid, gid_t *gid, pid_t *pid);

/// SO_PEERGROUPS (Linux 4.13): the supplementary groups of the connecting process. Returns their count, or -1 with errno (ERANGE: more than
/// `limit`).
int clinux_peer_groups(int fd, gid_t *groups, int limit);

/// SO_PEERPIDFD (Linux 6.5): a pidfd of the connecting process, close-on-exec. A descriptor, or -1 with errno.
int clinux_peer_process(int fd);

/// Connects or binds a unix stream socket. Paths longer than sun_path fail with ENAMETOOLONG. 0, or -1 with errno.
int clinux_unix_connect(int fd, const char *path);
int clinux_unix_bind(int fd, const char *path);

/// The same for an abstract name of unix(7), without the leading zero.
int clinux_unix_connect_abstract(int fd, const char *name);
int clinux_unix_bind_abstract(int fd, const char *name);

/// capget(2): 1 if the capability is effective, otherwise 0.
int clinux_has_capability(int capability);

/// PR_SET_DUMPABLE of prctl(2): no core dump of this process, and no access to its memory by other processes of its user. 0, or -1 with
/// errno.
int clinux_forbid_dumps(void);

/// SO_MARK and SO_BINDTODEVICE of socket(7). 0, or -1 with errno.
int clinux_set_mark(int fd, uint32_t mark);
int clinux_bind_to_device(int fd, const char *link);

/// Connects to an internet address of 4 or 16 bytes in network order. 0, or -1 with errno (EINPROGRESS: in progress).
int clinux_connect(int fd, const uint8_t *address, int length, uint16_t port);

/// The local address of a socket in network order, 4 or 16 bytes into `address`. Returns their count, or -1 with errno.
int clinux_local_address(int fd, uint8_t address[16]);

/// TCP_NODELAY. 0, or -1 with errno.
int clinux_send_at_once(int fd);

/// socketpair(2) of SOCK_SEQPACKET: close-on-exec; the first end is non-blocking. 0, or -1 with errno.
int clinux_message_pair(int ends[2]);

/// Sends one message, with the descriptor `passed` (SCM_RIGHTS) if it is not -1. 0, or -1 with errno.
int clinux_send_message(int fd, const void *bytes, size_t count, int passed);

/// Receives one message without waiting. `passed` gets a received descriptor, close-on-exec, if `takes` is not 0; otherwise -1. All other
/// received descriptors are closed. Returns the length, 0 at the end, or -1 with errno (EMSGSIZE: it was longer than `size`).
ssize_t clinux_receive_message(int fd, void *bytes, size_t size, int takes, int *passed);

/// pipe2(2), both ends close-on-exec and non-blocking. 0, or -1 with errno.
int clinux_pipe(int ends[2]);

/// posix_spawn_file_actions_addclosefrom_np(3): the child closes every descriptor from this one on. 0, or an error number.
int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int from);

/// POSIX_SPAWN_SETSID of posix_spawn(3).
extern const short clinux_spawn_new_session;

/// Starts a program in the version 2 control group of this open folder (CLONE_INTO_CGROUP of clone3(2), Linux 5.7; otherwise it enters the
/// group before execve(2)): no instruction of it runs elsewhere. It is searched on PATH unless it contains a slash. Every signal has its
/// default action and is unblocked. `descriptors` has the caller's descriptor for each number from 0 on (-1: /dev/null, -2: the caller's
/// own of that number); no other is open. `new_session`: it leads a session, otherwise a process group. `mask`: its umask, or -1 for the
/// caller's. `own_domain`: in a Landlock domain of its own, where the kernel has Landlock, so that it and programs of other domains cannot
/// trace each other; without new privileges. A process ID, or -1 with errno, also if the program cannot be executed.
pid_t clinux_spawn_in_group(int group, const char *program, char *const arguments[], char *const environment[], const int *descriptors,
                            int count, int new_session, int mask, int own_domain);

/// accept4(2): close-on-exec and non-blocking. A descriptor, or -1 with errno.
int clinux_accept(int fd);

/// EPOLLIN and EPOLLOUT of epoll_ctl(2).
extern const uint32_t clinux_readable, clinux_writable;

/// An event of `clinux_poller_wait`: the identity with which the descriptor was added, and the `EPOLL*` bits that are set.
struct clinux_ready {
  uint64_t identity;
  uint32_t events;
};

/// Creates an epoll descriptor, close-on-exec; changes what it watches, level-triggered unless `events` contains EPOLLET; waits for events
/// without a time limit. Returns a descriptor, 0, or the number of events; or -1 with errno.
int clinux_poller(void);
int clinux_poller_add(int poller, int fd, uint32_t events, uint64_t identity);
int clinux_poller_remove(int poller, int fd);
int clinux_poller_wait(int poller, struct clinux_ready *ready, int limit);

/// A timerfd on CLOCK_BOOTTIME, close-on-exec and non-blocking; armed at an absolute time in nanoseconds, 0 disarms it.
int clinux_timer(void);
int clinux_timer_set(int fd, uint64_t nanoseconds);

/// A signalfd of one signal, which is blocked for the calling thread from now on; close-on-exec and non-blocking. Read it in units of
/// `clinux_signal_size` bytes. A descriptor, or -1 with errno.
int clinux_signal_reader(int signal);
extern const int clinux_signal_size;

/// pidfd_open(2): a descriptor that becomes readable when the process has ended, close-on-exec; or -1 with errno.
int clinux_process(pid_t process);

/// Reaps a child that has ended. Returns its exit code, or 128 and the signal's number; -1 if it has not ended, or is not a child.
int clinux_reap(pid_t child);

/// The exit code of a child, from the status of waitid(2), or 128 and the signal's number.
int clinux_exit_code(int code, int status);

/// A timerfd of CLOCK_REALTIME that never expires. It becomes readable, with ECANCELED, whenever that clock is set. Close-on-exec and
/// non-blocking. A descriptor, or -1 with errno.
int clinux_clock_change_timer(void);

/// 1 if the file is immutable, even for root: STATX_ATTR_IMMUTABLE of statx(2). 0 also if that is unknown.
int clinux_is_immutable(const char *path);

/// renameat2(2): exchanges two files atomically; or renames `from` to `to`, unless that exists (EEXIST). 0, or -1 with errno; EINVAL if the
/// file system does not support it.
int clinux_exchange(const char *one, const char *other);
int clinux_rename_to_new(const char *from, const char *to);

/// unshare(2): moves the calling thread to a new, empty network namespace. 0, or -1 with errno.
int clinux_new_network(void);

/// Gives the calling process, which has one thread, mounts of its own, in which an empty file lies over each of these files. Without
/// CAP_SYS_ADMIN it makes a user namespace for that, in which the user is the same, and programs get no other user's rights (setuid). 0, or
/// -1 with errno.
int clinux_hide_files(const char *const *paths, unsigned count);

/// Writes a text to a file that exists, by one write(2). 0, or -1 with errno.
int clinux_write_file(const char *path, const char *text);

/// Runs the program of a network namespace, and passes signals on to the first process in it: that program's only child. Returns its exit
/// status, or 128 and the number of the signal that ended it; -1 with errno.
int clinux_run_in_network(const char *path, char *const arguments[]);

/// As the first process of a namespace of processes, whose user 0 is the caller's: runs a program as this user and group, passes signals on
/// to it, and waits for all that end. Returns as above when the program has ended. The parent's death ends all of them.
int clinux_run_as_first(const char *path, char *const arguments[], unsigned user, unsigned group);

/// Gives the calling process, which has one thread, mounts of its own: /proc of its namespace of processes, and `covers` over `covered`.
/// 0, or -1 with errno.
int clinux_own_view(const char *const *covered, const char *const *covers, unsigned count);

/// Attaches to the TUN device of this name, which is made if it is missing (IFF_NO_PI). A descriptor, non-blocking and close-on-exec, or
/// -1 with errno.
int clinux_open_tun(const char *name);

/// Keeps an attached TUN device when the last program leaves it, for root and this user alone. 0, or -1 with errno.
int clinux_keep_tun(int tun, uid_t owner);

#endif
