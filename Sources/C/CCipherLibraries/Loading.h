#pragma once
#include "CCipherLibraries.h"

/// Loads a library by the name of its binary interface, with all its symbols bound: a confined process maps no file later.
void *ccl_load(const char *name);

/// Compares two tags in constant time.
static inline bool ccl_is_same_tag(const uint8_t *a, const uint8_t *b) {
  uint8_t difference = 0;
  for (int i = 0; i < 16; i++) difference |= a[i] ^ b[i];
  return difference == 0;
}
