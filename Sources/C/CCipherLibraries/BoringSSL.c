#define _GNU_SOURCE
#include "Loading.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

// Debian has BoringSSL for Android's tools, outside of the loader's path. Its ChaCha20 and Poly1305 are one pass with AVX2 and on arm64.
// The declarations are those of its <openssl/aead.h>, whose names are also OpenSSL's: both headers cannot be included.
//
// RTLD_DEEPBIND is not for programs under the address sanitizer, so these do without it.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED
#endif
#endif
#if defined(IS_SANITIZED)
#elif defined(__x86_64__)
#define FOLDER "/usr/lib/x86_64-linux-gnu/android/"
#elif defined(__aarch64__)
#define FOLDER "/usr/lib/aarch64-linux-gnu/android/"
#endif

#if defined(FOLDER)
typedef struct evp_aead_ctx_st EVP_AEAD_CTX;
typedef struct evp_aead_st EVP_AEAD;
typedef struct engine_st ENGINE;
typedef int seal_function(const EVP_AEAD_CTX *, uint8_t *out, size_t *length, size_t room, const uint8_t *nonce, size_t, const uint8_t *in,
                          size_t, const uint8_t *additional, size_t);

static struct {
  const EVP_AEAD *(*algorithm)(void);
  int (*init)(EVP_AEAD_CTX *, const EVP_AEAD *, const uint8_t *, size_t, size_t, ENGINE *);
  void (*cleanup)(EVP_AEAD_CTX *);
  seal_function *seal, *open;
  // Of the thread: errors pile up otherwise.
  void (*clear_errors)(void);
} boring;

// Larger than its EVP_AEAD_CTX, which has 584 bytes, will be soon.
enum { CONTEXT = 2048, KEY = 32, NONCE = 12, TAG = 16 };

static void *begin(void) {
  void *context = NULL;
  return posix_memalign(&context, 64, CONTEXT) == 0 ? memset(context, 0, CONTEXT) : NULL;
}

static void end(void *context) {
  explicit_bzero(context, CONTEXT);
  free(context);
}

// Every message has its key: beginning with it is a copy.
static bool start(void *context, const uint8_t *key) { return boring.init(context, boring.algorithm(), key, KEY, TAG, NULL); }

static bool seal(void *context, uint8_t *payload, size_t count, const uint8_t nonce[12], const uint8_t *key) {
  if (!start(context, key)) return false;
  size_t length;
  const bool done = boring.seal(context, payload, &length, count + TAG, nonce, NONCE, payload, count, NULL, 0) && length == count + TAG;
  boring.cleanup(context);
  return done;
}

static ctc_result open_message(void *context, const uint8_t *ciphertext, size_t count, const uint8_t nonce[12], const uint8_t *key,
                               uint8_t *plaintext) {
  if (!start(context, key)) return CTC_UNAVAILABLE;
  size_t length;
  // A failure wipes all of the room that it is given.
  const bool done = boring.open(context, plaintext, &length, count, nonce, NONCE, ciphertext, count + TAG, NULL, 0);
  boring.cleanup(context);
  if (done && length == count) return CTC_DONE;
  boring.clear_errors();
  memset(plaintext, 0, count);
  return CTC_NOT_AUTHENTIC;
}

static const struct ctc_library library = {.description = "boringssl", .begin = begin, .end = end, .seal = seal, .open = open_message};
static const char *failure;

static void load(void) {
  // Its own functions and not those of the same names of an OpenSSL that is loaded too.
  void *loaded = dlopen(FOLDER "libcrypto.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!loaded) {
    failure = FOLDER "libcrypto.so.0 (BoringSSL) is not installed";
    return;
  }
  // What OpenSSL does not have, and what is used.
  bool is_whole = dlsym(loaded, "BORINGSSL_self_test") != NULL;
#define FIND(member, name) is_whole &= (boring.member = (__typeof__(boring.member))dlsym(loaded, name)) != NULL
  FIND(algorithm, "EVP_aead_chacha20_poly1305");
  FIND(init, "EVP_AEAD_CTX_init");
  FIND(cleanup, "EVP_AEAD_CTX_cleanup");
  FIND(seal, "EVP_AEAD_CTX_seal");
  FIND(open, "EVP_AEAD_CTX_open");
  FIND(clear_errors, "ERR_clear_error");
  if (!is_whole || !boring.algorithm()) failure = "libcrypto.so.0 is no BoringSSL with ChaCha20-Poly1305";
}

const ctc_library *ccl_load_boringssl(const char **reason) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  *reason = failure;
  return failure ? NULL : &library;
}
#else
const ctc_library *ccl_load_boringssl(const char **reason) {
  *reason = "this program was compiled without it";
  return NULL;
}
#endif
