#define _GNU_SOURCE
#include "Loading.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#if __has_include(<intel-ipsec-mb.h>)
#include <intel-ipsec-mb.h>

static __typeof__(&alloc_mb_mgr) allocate;
static __typeof__(&free_mb_mgr) release;
static __typeof__(&init_mb_mgr_avx512) initialize;
static __typeof__(&imb_get_errno) status;
static __typeof__(&imb_get_mb_mgr_size) size;

static void *begin(void) {
  IMB_MGR *manager = allocate(0);
  if (!manager) return NULL;
  initialize(manager);
  if (status(manager) == 0) return manager;
  release(manager);
  return NULL;
}

static void end(void *state) {
  explicit_bzero(state, size());
  release(state);
}

// One job at a time is complete when it was submitted: this cipher has no lanes that wait for others.
static bool run(IMB_MGR *manager, IMB_CIPHER_DIRECTION direction, const uint8_t *source, uint8_t *target, size_t count,
                const uint8_t nonce[12], const uint8_t *key, uint8_t *tag) {
  IMB_JOB *job = IMB_GET_NEXT_JOB(manager);
  job->cipher_mode = IMB_CIPHER_CHACHA20_POLY1305;
  job->hash_alg = IMB_AUTH_CHACHA20_POLY1305;
  job->cipher_direction = direction;
  job->chain_order = direction == IMB_DIR_ENCRYPT ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
  job->enc_keys = job->dec_keys = key;
  job->key_len_in_bytes = 32;
  job->iv = nonce;
  job->iv_len_in_bytes = 12;
  // It has no bytes, but a pointer that is not null.
  job->u.CHACHA20_POLY1305.aad = nonce;
  job->u.CHACHA20_POLY1305.aad_len_in_bytes = 0;
  job->src = source;
  job->dst = target;
  job->cipher_start_src_offset_in_bytes = job->hash_start_src_offset_in_bytes = 0;
  job->msg_len_to_cipher_in_bytes = job->msg_len_to_hash_in_bytes = count;
  job->auth_tag_output = tag;
  job->auth_tag_output_len_in_bytes = 16;
  job = IMB_SUBMIT_JOB_NOCHECK(manager);
  return job && job->status == IMB_STATUS_COMPLETED;
}

static bool seal(void *state, uint8_t *payload, size_t count, const uint8_t nonce[12], const uint8_t *key) {
  return run(state, IMB_DIR_ENCRYPT, payload, payload, count, nonce, key, payload + count);
}

static ctc_result open_message(void *state, const uint8_t *ciphertext, size_t count, const uint8_t nonce[12], const uint8_t *key,
                               uint8_t *plaintext) {
  uint8_t tag[16] = {0}, expected[16];
  memcpy(expected, ciphertext + count, sizeof expected);
  if (!run(state, IMB_DIR_DECRYPT, ciphertext, plaintext, count, nonce, key, tag)) return CTC_UNAVAILABLE;
  if (ccl_is_same_tag(tag, expected)) return CTC_DONE;
  memset(plaintext, 0, count);
  return CTC_NOT_AUTHENTIC;
}

// The binary interface has the number of the major version; the manager's layout, which the macros above compile in, may differ with the
// minor one.
#if IMB_VERSION_NUM < 0x20000
#define SONAME "libIPSec_MB.so.1"
#else
#define SONAME "libIPSec_MB.so.2"
#endif
#define MINOR_VERSION(version) ((version) >> 8)

static struct ctc_library library = {.begin = begin, .end = end, .seal = seal, .open = open_message};
static char description[64];
static const char *failure;

static void load(void) {
  void *loaded = ccl_load(SONAME);
  if (!loaded) {
    failure = "libipsec-mb is not installed";
    return;
  }
  __typeof__(&imb_get_version) version = (__typeof__(version))dlsym(loaded, "imb_get_version");
  __typeof__(&imb_get_version_str) text = (__typeof__(text))dlsym(loaded, "imb_get_version_str");
  allocate = (__typeof__(allocate))dlsym(loaded, "alloc_mb_mgr");
  release = (__typeof__(release))dlsym(loaded, "free_mb_mgr");
  initialize = (__typeof__(initialize))dlsym(loaded, "init_mb_mgr_avx512");
  status = (__typeof__(status))dlsym(loaded, "imb_get_errno");
  size = (__typeof__(size))dlsym(loaded, "imb_get_mb_mgr_size");
  if (!version || !text || !allocate || !release || !initialize || !status || !size ||
      MINOR_VERSION(version()) != MINOR_VERSION(IMB_VERSION_NUM)) {
    failure = "libipsec-mb has another version than " IMB_VERSION_STR;
    return;
  }
  snprintf(description, sizeof description, "libipsec-mb %s", text());
  library.description = description;
}

const ctc_library *ccl_load_ipsec_mb(const char **reason) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  *reason = failure;
  return failure ? NULL : &library;
}
#else
const ctc_library *ccl_load_ipsec_mb(const char **reason) {
  *reason = "this program was compiled without it";
  return NULL;
}
#endif
