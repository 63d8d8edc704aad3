#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// The process that gets the signals for the program; 0: none yet.
static volatile sig_atomic_t receiver;

static void pass_on(int number) {
  int error = errno;
  if (receiver > 0) kill(receiver, number);
  errno = error;
}

static const int passed[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGINT, SIGQUIT};
enum { passed_count = sizeof passed / sizeof passed[0] };

// Of a terminal the program gets SIGINT and SIGQUIT itself.
static void set_handlers(void (*first)(int), void (*of_terminal)(int)) {
  for (unsigned i = 0; i < passed_count; i++) signal(passed[i], passed[i] == SIGINT || passed[i] == SIGQUIT ? of_terminal : first);
}

// The first child of a process; 0: it has none.
static pid_t child_of(pid_t process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", process, process);
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  int child = 0;
  if (fscanf(file, "%d", &child) != 1) child = 0;
  fclose(file);
  return child;
}

static pid_t network;

static void pass_below(int number) {
  int error = errno;
  pid_t child = child_of(network);
  if (child > 0) kill(child, number);
  errno = error;
}

int clinux_run_in_network(const char *path, char *const arguments[]) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  network = fork();
  if (network < 0) return -1;
  if (network == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_handlers(SIG_DFL, SIG_IGN);
    sigprocmask(SIG_SETMASK, &before, NULL);
    execv(path, arguments);
    _exit(127);
  }
  set_handlers(pass_below, SIG_IGN);
  sigprocmask(SIG_SETMASK, &before, NULL);
  int status;
  while (waitpid(network, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int map_user(unsigned user, unsigned group) {
  char users[64], groups[64];
  snprintf(users, sizeof users, "%u 0 1", user);
  snprintf(groups, sizeof groups, "%u 0 1", group);
  if (unshare(CLONE_NEWUSER) != 0) return -1;
  return clinux_write_file("/proc/self/setgroups", "deny") || clinux_write_file("/proc/self/uid_map", users) ||
                 clinux_write_file("/proc/self/gid_map", groups)
             ? -1
             : 0;
}

int clinux_run_as_first(const char *path, char *const arguments[], unsigned user, unsigned group) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  pid_t program = fork();
  if (program < 0) return -1;
  if (program == 0) {
    if (map_user(user, group) != 0) _exit(126);
    set_handlers(SIG_DFL, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    execv(path, arguments);
    _exit(errno == ENOENT ? 127 : 126);
  }
  receiver = program;
  set_handlers(pass_on, SIG_IGN);
  sigprocmask(SIG_SETMASK, &before, NULL);
  for (;;) {
    int status;
    pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0 && errno != EINTR) return -1;
    if (ended == program) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
}

int clinux_own_view(const char *const *covered, const char *const *covers, unsigned count) {
  if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0) return -1;
  // Of its own processes alone.
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) return -1;
  // Its links alone; where parts of /sys are hidden, the kernel permits no other one, and none are shown.
  if (mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, NULL) != 0 &&
      mount("tmpfs", "/sys/class/net", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "size=4k") != 0)
    return -1;
  for (unsigned i = 0; i < count; i++)
    if (mount(covers[i], covered[i], NULL, MS_BIND, NULL) != 0) return -1;
  return 0;
}
