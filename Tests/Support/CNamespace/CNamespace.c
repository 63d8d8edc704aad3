#define _GNU_SOURCE
#include "CNamespace.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

static void close_all(struct cnamespace_home *home) {
  close(home->network);
  close(home->mounts);
  close(home->folder);
}

static int raise_loopback(void) {
  struct ifreq request;
  memset(&request, 0, sizeof request);
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  int result = ioctl(fd, SIOCSIFFLAGS, &request);
  close(fd);
  return result;
}

int cnamespace_enter(int mounts, struct cnamespace_home *home) {
  home->network = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
  home->mounts = open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC);
  home->folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (unshare(CLONE_NEWNET | (mounts ? CLONE_NEWNS : 0)) < 0) {
    int error = errno;
    close_all(home);
    errno = error;
    return -1;
  }
  if (!mounts) {
    close(home->mounts);
    home->mounts = -1;
  }
  if (raise_loopback() == 0 && (!mounts || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)) return 0;
  int error = errno;
  cnamespace_leave(home);
  errno = error;
  return -1;
}

void cnamespace_leave(struct cnamespace_home *home) {
  if (setns(home->network, CLONE_NEWNET) < 0) abort();
  if (home->mounts >= 0 && (setns(home->mounts, CLONE_NEWNS) < 0 || fchdir(home->folder) < 0)) abort();
  close_all(home);
}

int cnamespace_bind(const char *source, const char *target) { return mount(source, target, NULL, MS_BIND, NULL); }
