#define _GNU_SOURCE
#include "Loading.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<openssl/evp.h>)
#include <openssl/crypto.h>
#include <openssl/evp.h>

// The functions that are used, each by its name in the library.
#define FUNCTIONS(each)                                                                                                                    \
  each(OPENSSL_init_crypto) each(OpenSSL_version) each(EVP_CIPHER_fetch) each(EVP_CIPHER_CTX_new) each(EVP_CIPHER_CTX_free)                \
      each(EVP_EncryptInit_ex2) each(EVP_EncryptUpdate) each(EVP_MAC_fetch) each(EVP_MAC_CTX_new) each(EVP_MAC_CTX_free)                   \
          each(EVP_MAC_init) each(EVP_MAC_update) each(EVP_MAC_final)
#define DECLARE(name) __typeof__(&name) name;
static struct { FUNCTIONS(DECLARE) } crypto;

static EVP_CIPHER *chacha20;
static EVP_MAC *poly1305;

struct state {
  EVP_CIPHER_CTX *cipher;
  EVP_MAC_CTX *mac;
};

static void end(void *untyped) {
  struct state *state = untyped;
  crypto.EVP_CIPHER_CTX_free(state->cipher);
  crypto.EVP_MAC_CTX_free(state->mac);
  free(state);
}

static void *begin(void) {
  struct state *state = calloc(1, sizeof *state);
  if (!state) return NULL;
  state->cipher = crypto.EVP_CIPHER_CTX_new();
  state->mac = crypto.EVP_MAC_CTX_new(poly1305);
  const uint8_t zeros[32] = {0};
  if (state->cipher && state->mac && crypto.EVP_EncryptInit_ex2(state->cipher, chacha20, zeros, NULL, NULL)) return state;
  end(state);
  return NULL;
}

// Its nonce has 16 bytes: the block's number, here 0, and ours.
static bool start(struct state *state, const uint8_t nonce[12], const uint8_t *key) {
  uint8_t iv[16] = {0};
  memcpy(iv + 4, nonce, 12);
  return crypto.EVP_EncryptInit_ex2(state->cipher, NULL, key, iv, NULL);
}

static bool apply_keystream(struct state *state, uint8_t *target, const uint8_t *source, size_t count) {
  int written;
  return crypto.EVP_EncryptUpdate(state->cipher, target, &written, source, (int)count);
}

// Poly1305 over the ciphertext, zeros up to 16, and the lengths (RFC 8439, 2.8).
static bool authenticate(struct state *state, const uint8_t *ciphertext, size_t count, const uint8_t *key, uint8_t *tag) {
  uint8_t end[32] = {0};
  const size_t padding = -count & 15;
  for (int i = 0; i < 8; i++) end[padding + 8 + i] = (uint8_t)((uint64_t)count >> (8 * i));
  size_t written;
  return crypto.EVP_MAC_init(state->mac, key, 32, NULL) && crypto.EVP_MAC_update(state->mac, ciphertext, count) &&
         crypto.EVP_MAC_update(state->mac, end, padding + 16) && crypto.EVP_MAC_final(state->mac, tag, &written, 16);
}

static bool seal(void *untyped, uint8_t *payload, size_t count, const uint8_t nonce[12], const uint8_t *key) {
  struct state *state = untyped;
  // The first block becomes the key of Poly1305: in one call with the payload.
  uint8_t *block = payload - 64, kept[64];
  memcpy(kept, block, sizeof kept);
  memset(block, 0, sizeof kept);
  uint8_t tag[16];
  const bool done =
      start(state, nonce, key) && apply_keystream(state, block, block, count + 64) && authenticate(state, payload, count, block, tag);
  memcpy(block, kept, sizeof kept);
  if (done) memcpy(payload + count, tag, sizeof tag);
  return done;
}

static ctc_result open_message(void *untyped, const uint8_t *ciphertext, size_t count, const uint8_t nonce[12], const uint8_t *key,
                               uint8_t *plaintext) {
  struct state *state = untyped;
  uint8_t block[64] = {0}, tag[16];
  const bool done =
      start(state, nonce, key) && apply_keystream(state, block, block, sizeof block) && authenticate(state, ciphertext, count, block, tag);
  explicit_bzero(block, sizeof block);
  if (!done) return CTC_UNAVAILABLE;
  if (ccl_is_same_tag(tag, ciphertext + count) && apply_keystream(state, plaintext, ciphertext, count)) return CTC_DONE;
  memset(plaintext, 0, count);
  return CTC_NOT_AUTHENTIC;
}

static struct ctc_library library = {.begin = begin, .end = end, .seal = seal, .open = open_message};
static char description[64];
static const char *failure;

static void load(void) {
  void *loaded = ccl_load("libcrypto.so.3");
  if (!loaded) {
    failure = "libcrypto.so.3 (OpenSSL 3) is not installed";
    return;
  }
  bool isWhole = true;
#define FIND(name) isWhole &= (crypto.name = (__typeof__(&name))dlsym(loaded, #name)) != NULL;
  FUNCTIONS(FIND)
  // Its clean-up at exit would free what other threads still encrypt with.
  isWhole = isWhole && crypto.OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
  chacha20 = isWhole ? crypto.EVP_CIPHER_fetch(NULL, "ChaCha20", NULL) : NULL;
  poly1305 = isWhole ? crypto.EVP_MAC_fetch(NULL, "Poly1305", NULL) : NULL;
  if (!chacha20 || !poly1305) {
    failure = "libcrypto has no ChaCha20 and Poly1305";
    return;
  }
  snprintf(description, sizeof description, "libcrypto (%s)", crypto.OpenSSL_version(OPENSSL_VERSION));
  library.description = description;
}

const ctc_library *ccl_load_libcrypto(const char **reason) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  *reason = failure;
  return failure ? NULL : &library;
}
#else
const ctc_library *ccl_load_libcrypto(const char **reason) {
  *reason = "this program was compiled without it";
  return NULL;
}
#endif
