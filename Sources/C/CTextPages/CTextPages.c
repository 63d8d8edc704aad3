#define _GNU_SOURCE
#include "CTextPages.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

// Code that the loader has changed is in memory alone.
static bool is_relocated(const struct dl_phdr_info *object) {
  for (int i = 0; i < object->dlpi_phnum; i++) {
    if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    for (const ElfW(Dyn) *entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr); entry->d_tag != DT_NULL; entry++) {
      if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL)) return true;
    }
  }
  return false;
}

static int release(struct dl_phdr_info *object, size_t size, void *sum) {
  (void)size;
  if (is_relocated(object)) return 0;
  uintptr_t mask = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || segment->p_flags & PF_W) continue;
    uintptr_t begin = (object->dlpi_addr + segment->p_vaddr) & ~mask;
    uintptr_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_memsz + mask) & ~mask;
    if (madvise((void *)begin, end - begin, MADV_DONTNEED) == 0) *(size_t *)sum += end - begin;
  }
  return 0;
}

size_t ctextpages_release(void) {
  size_t sum = 0;
  dl_iterate_phdr(release, &sum);
  return sum;
}
