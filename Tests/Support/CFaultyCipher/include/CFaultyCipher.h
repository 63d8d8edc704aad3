// A library that is wrong, for the test of the self-test: no real one can be made to fail on demand.

#pragma once
#include "CTransportCipher.h"

enum faulty_cipher_kind { FAULTY_BYTE, FAULTY_TAG, FAULTY_END };

/// A library that gives right results by libcrypto, but for one length. There it changes a byte, takes every tag, or fails after it has
/// encrypted. NULL: there is no libcrypto.
const ctc_library *faulty_cipher(size_t length, enum faulty_cipher_kind kind);
