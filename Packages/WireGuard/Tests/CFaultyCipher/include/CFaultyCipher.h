// A library that is wrong, for the test of the self-test: no real one can be made to fail on demand.

#pragma once
#include "CTransportCipher.h"

/// A library that gives right results by libcrypto, but for one length. `accepts_forgeries`: there it takes every tag; otherwise it changes
/// a byte. NULL: there is no libcrypto.
const ctc_library *faulty_cipher(size_t length, int accepts_forgeries);
