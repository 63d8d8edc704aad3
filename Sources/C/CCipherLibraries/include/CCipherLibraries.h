// Libraries with a fast ChaCha20-Poly1305, loaded at run time: each where it is installed, and none is needed.

#pragma once
#include "CTransportCipher.h"

/// Whether the processor has what libipsec-mb needs: AVX-512 F, VL and IFMA, in use by the system.
bool ccl_has_avx512(void);

/// Whether the processor has AVX2, in use by the system.
bool ccl_has_avx2(void);

/// Loads Intel's Multi-Buffer Crypto for IPsec Library. It stays loaded. NULL: it is not installed, or has another version than this was
/// compiled for; then `*reason` says so (static text).
const ctc_library *ccl_load_ipsec_mb(const char **reason);

/// Loads BoringSSL's libcrypto from where Debian has it (android-libboringssl). NULL as above.
const ctc_library *ccl_load_boringssl(const char **reason);

/// Loads libcrypto of OpenSSL 3. NULL as above.
const ctc_library *ccl_load_libcrypto(const char **reason);
