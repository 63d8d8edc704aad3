#include "Loading.h"

#include <dlfcn.h>

#if defined(__x86_64__)
#include <cpuid.h>

// Whether the system uses these parts of the registers, and the processor has these instructions.
static bool has(unsigned parts, unsigned needed) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return false;
  unsigned low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & parts) == parts && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & needed) == needed;
}

// XMM, YMM, and the three parts of AVX-512.
bool ccl_has_avx512(void) { return has(0xe6, bit_AVX512F | bit_AVX512VL | bit_AVX512IFMA); }
bool ccl_has_avx2(void) { return has(6, bit_AVX2); }
#else
bool ccl_has_avx2(void) { return false; }
bool ccl_has_avx512(void) { return false; }
#endif

void *ccl_load(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
