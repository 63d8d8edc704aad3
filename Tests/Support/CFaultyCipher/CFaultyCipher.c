#include "CFaultyCipher.h"

#include <string.h>

#include "CCipherLibraries.h"

static const ctc_library *right;
static struct ctc_library faulty;
static size_t length;
static enum faulty_cipher_kind kind;

static bool seal(void *state, uint8_t *payload, size_t count, const uint8_t nonce[12], const uint8_t *key) {
  const bool done = right->seal(state, payload, count, nonce, key);
  if (count == length && kind == FAULTY_BYTE) payload[count / 2] ^= 1;
  return done && (count != length || kind != FAULTY_END);
}

static ctc_result open_message(void *state, const uint8_t *ciphertext, size_t count, const uint8_t nonce[12], const uint8_t *key,
                               uint8_t *plaintext) {
  const ctc_result result = right->open(state, ciphertext, count, nonce, key, plaintext);
  return count == length && kind == FAULTY_TAG ? CTC_DONE : result;
}

const ctc_library *faulty_cipher(size_t at, enum faulty_cipher_kind how) {
  const char *reason;
  right = ccl_load_libcrypto(&reason);
  if (!right) return NULL;
  faulty = (struct ctc_library){.description = "faulty", .begin = right->begin, .end = right->end, .seal = seal, .open = open_message};
  length = at;
  kind = how;
  return &faulty;
}
