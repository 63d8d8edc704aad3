#define _GNU_SOURCE
#include "CWipingHeap.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

// The sanitizers have their own allocator. A C library other than glibc may not export these names.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_OTHER_HEAP 1
#endif
#endif

#if defined(__GLIBC__) && !defined(HAS_OTHER_HEAP)

// Exported by glibc since 2.0 (GLIBC_2.2.5 on x86-64), but in no header.
extern void __libc_free(void *block);
extern void *__libc_realloc(void *block, size_t size);

void free(void *block) {
  if (block != NULL) explicit_bzero(block, malloc_usable_size(block));
  __libc_free(block);
}

void *realloc(void *block, size_t size) {
  if (block == NULL) return malloc(size);
  size_t usable = malloc_usable_size(block);
  // To grow a block, glibc moves it and frees the old one internally. A block that shrinks stays where it is.
  if (size > usable) {
    void *grown = malloc(size);
    if (grown == NULL) return NULL;
    memcpy(grown, block, usable);
    free(block);
    return grown;
  }
  explicit_bzero((char *)block + size, usable - size);
  return __libc_realloc(block, size);
}

void *reallocarray(void *block, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(block, bytes);
}

#endif
