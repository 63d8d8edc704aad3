// Counts the allocations of the programs beside it, with CMallocCount of the engine's benchmark: a library to be loaded before the C
// library's own, by /etc/ld.so.preload in a mount namespace. Each process keeps its count in a file /run/bench/mallocs.PID, which others
// read while it works.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "CMallocCount.h"

__attribute__((constructor)) static void begin(void) {
  char path[64];
  snprintf(path, sizeof path, "/run/bench/mallocs.%d", (int)getpid());
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (ftruncate(fd, sizeof(unsigned long)) == 0) {
    void *place = mmap(NULL, sizeof(unsigned long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (place != MAP_FAILED) cmalloc_count_in(place);
  }
  close(fd);
}
