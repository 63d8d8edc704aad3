#define _GNU_SOURCE
#include "CHashMemory.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// The sanitizers have an mmap of their own. On other architectures the offset has another unit or width.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_OTHER_MMAP 1
#endif
#endif

#if defined(__linux__) && defined(__LP64__) && defined(MADV_POPULATE_WRITE) && !defined(HAS_OTHER_MMAP)

// A hash has 64 MiB, of which Argon2 reads blocks of 1 KiB in an order that nothing can foresee. With pages of 4 KiB, a third of the time
// goes into 16,384 new pages, and a part of the rest into their translation (docs/decisions/0055). libsodium has no way to be given memory.
static const size_t smallest = (size_t)32 << 20;
static const size_t huge = (size_t)2 << 20;

static void *map(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  const int wanted = MAP_PRIVATE | MAP_ANONYMOUS;
  if (address != NULL || size < smallest || size > SIZE_MAX - huge || protection != (PROT_READ | PROT_WRITE) ||
      (flags & ~MAP_POPULATE) != wanted) {
    return map(address, size, protection, flags, file, offset);
  }
  // As much more as it takes to begin at a whole huge page; the rest is given back. Pages come after the advice.
  char *block = map(NULL, size + huge, protection, wanted, -1, 0);
  if (block == MAP_FAILED) return map(NULL, size, protection, flags, -1, 0);
  size_t before = (size_t)(-(uintptr_t)block & (huge - 1));
  size_t page = (size_t)sysconf(_SC_PAGESIZE), end = (before + size + page - 1) & ~(page - 1);
  if (before > 0) munmap(block, before);
  if (end < size + huge) munmap(block + end, size + huge - end);
  block += before;
  // A kernel that has no huge pages, or none free, gives small ones.
  madvise(block, size, MADV_HUGEPAGE);
  if (flags & MAP_POPULATE) madvise(block, size, MADV_POPULATE_WRITE);
  return block;
}

#endif
