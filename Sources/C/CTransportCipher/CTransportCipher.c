#include "CTransportCipher.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static _Atomic(const ctc_library *) chosen;

void ctc_choose(const ctc_library *library) { atomic_store(&chosen, library); }

// A thread's state with each library: made at the first use, ended with the thread.
struct own {
  const ctc_library *library;
  void *state;
  // The number of small messages that it has left to the caller.
  unsigned int left;
};

// A library's state may take longer to make than a hundred small messages without it: libipsec-mb wipes 192 KiB. So the first packets after
// a handshake do not wait for it, and a thread that sends only handshakes and keepalives never makes one.
enum { SMALL = 512, MOST_LEFT = 64 };

static _Thread_local struct own own;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_exit;

static void end(void *unused) {
  (void)unused;
  if (own.state) own.library->end(own.state);
  own = (struct own){NULL, NULL, 0};
}

static void prepare(void) { pthread_key_create(&at_exit, end); }

static void *state_of(const ctc_library *library) {
  // Also where there was no memory for it: that is not tried again for each packet.
  if (__builtin_expect(own.library == library, 1)) return own.state;
  pthread_once(&once, prepare);
  end(NULL);
  own.library = library;
  own.state = library->begin();
  pthread_setspecific(at_exit, &own);
  return own.state;
}

// The library for this message; NULL: none, as yet.
static const ctc_library *library_for(size_t count) {
  const ctc_library *library = atomic_load_explicit(&chosen, memory_order_acquire);
  if (__builtin_expect(own.library == library, 1) || count > SMALL || own.left >= MOST_LEFT) return library;
  own.left++;
  return NULL;
}

static void make_nonce(uint8_t nonce[12], uint64_t counter) {
  memset(nonce, 0, 4);
  for (int i = 0; i < 8; i++) nonce[4 + i] = (uint8_t)(counter >> (8 * i));
}

ctc_result ctc_seal_with(const ctc_library *library, uint8_t *payload, size_t count, uint64_t counter, const uint8_t *key) {
  void *state = state_of(library);
  if (!state) return CTC_UNAVAILABLE;
  uint8_t nonce[12];
  make_nonce(nonce, counter);
  return library->seal(state, payload, count, nonce, key) ? CTC_DONE : CTC_FAILED;
}

ctc_result ctc_open_with(const ctc_library *library, const uint8_t *ciphertext, size_t count, uint64_t counter, const uint8_t *key,
                         uint8_t *plaintext) {
  void *state = state_of(library);
  if (!state) return CTC_UNAVAILABLE;
  uint8_t nonce[12];
  make_nonce(nonce, counter);
  return library->open(state, ciphertext, count, nonce, key, plaintext);
}

ctc_result ctc_seal(uint8_t *payload, size_t count, uint64_t counter, const uint8_t *key) {
  const ctc_library *library = library_for(count);
  return library ? ctc_seal_with(library, payload, count, counter, key) : CTC_UNAVAILABLE;
}

ctc_result ctc_open(const uint8_t *ciphertext, size_t count, uint64_t counter, const uint8_t *key, uint8_t *plaintext) {
  const ctc_library *library = library_for(count);
  return library ? ctc_open_with(library, ciphertext, count, counter, key, plaintext) : CTC_UNAVAILABLE;
}
