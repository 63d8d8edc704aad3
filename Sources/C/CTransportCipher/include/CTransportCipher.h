// ChaCha20-Poly1305 by a library that somebody else has loaded (CCipherLibraries). Nothing here touches the machine.

#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { CTC_NOT_AUTHENTIC = 0, CTC_DONE = 1, CTC_UNAVAILABLE = -1, CTC_FAILED = -2 } ctc_result;

/// A library and how to use it, constant data. Each thread has a state of its own with it.
typedef struct ctc_library {
  /// Its name and version, for people.
  const char *description;
  /// Makes the state of a thread. NULL: no memory, or this processor cannot.
  void *(*begin)(void);
  /// Wipes and frees it.
  void (*end)(void *state);
  /// As `ctc_seal`; false: the library failed, perhaps after it had encrypted.
  bool (*seal)(void *state, uint8_t *payload, size_t count, const uint8_t nonce[12], const uint8_t *key);
  /// As `ctc_open`.
  ctc_result (*open)(void *state, const uint8_t *ciphertext, size_t count, const uint8_t nonce[12], const uint8_t *key, uint8_t *plaintext);
} ctc_library;

/// All threads seal and open with this library from now on; NULL: with none. It must live as long as the process.
void ctc_choose(const ctc_library *library);

/// Encrypts `count` bytes at `payload` in place, and writes the tag (16 bytes) behind them. The key has 32 bytes; the nonce is 4 zero bytes
/// and the counter, little-endian; there is no additional data. The 64 bytes before `payload` are used and restored.
/// CTC_UNAVAILABLE: no library is chosen, there is no memory for it, or it is one of a thread's first messages and small; nothing has
/// changed. CTC_FAILED: the library failed, and the
/// payload may be encrypted already. It must neither be sent nor be sealed again: the same keystream twice gives the plaintext.
ctc_result ctc_seal(uint8_t *payload, size_t count, uint64_t counter, const uint8_t *key);

/// Decrypts `count` bytes at `ciphertext` to `plaintext`, which may be the same place or does not overlap, if the tag behind them is right.
/// CTC_NOT_AUTHENTIC: it is not, and the plaintext's place is zero. CTC_UNAVAILABLE as above, or the library
/// failed; the ciphertext has not changed unless it is decrypted in place.
ctc_result ctc_open(const uint8_t *ciphertext, size_t count, uint64_t counter, const uint8_t *key, uint8_t *plaintext);

/// The same by a library that need not be chosen.
ctc_result ctc_seal_with(const ctc_library *library, uint8_t *payload, size_t count, uint64_t counter, const uint8_t *key);
ctc_result ctc_open_with(const ctc_library *library, const uint8_t *ciphertext, size_t count, uint64_t counter, const uint8_t *key,
                         uint8_t *plaintext);
