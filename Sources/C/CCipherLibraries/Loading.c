#include "Loading.h"

#include <dlfcn.h>

#if defined(__x86_64__)
#include <cpuid.h>

bool ccl_has_avx512(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  // XMM, YMM, and the three parts of AVX-512.
  if ((low & 0xe6) != 0xe6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const unsigned needed = bit_AVX512F | bit_AVX512VL | bit_AVX512IFMA;
  return (b & needed) == needed;
}
#else
bool ccl_has_avx512(void) { return false; }
#endif

void *ccl_load(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
