internal import CCipherLibraries
internal import CTransportCipher

/// A library that computes ChaCha20-Poly1305 of transport messages. All give the same bytes; they differ in speed.
package enum CipherLibrary: String, CaseIterable, Hashable, Sendable {
  /// Intel's Multi-Buffer Crypto for IPsec Library. Loaded where it is installed and the processor has AVX-512 F, VL and IFMA.
  case ipsecMB = "libipsec-mb"
  /// BoringSSL as Debian has it. Loaded where it is installed: with AVX2, and on arm64.
  case boringSSL = "boringssl"
  /// OpenSSL 3. Loaded where it is installed and there is no better one: with AVX2, and on processors other than x86.
  case libcrypto = "libcrypto"
  /// Always there, and used until another one is chosen.
  case libsodium = "libsodium"

  /// Whether it is likely the fastest on some processor of this kind; it is not loaded otherwise.
  var isPromising: Bool {
    switch self {
    case .ipsecMB: ccl_has_avx512()
    #if arch(x86_64)
      case .boringSSL, .libcrypto: ccl_has_avx2()
    #else
      case .boringSSL, .libcrypto: true
    #endif
    case .libsodium: true
    }
  }
}

/// The libraries that a process has loaded. Load them before the process is confined: that opens files.
package struct LoadedCiphers: Sendable {
  /// A library that is not used, and why.
  package struct Rejection: Hashable, Sendable {
    package var library: CipherLibrary
    package var reason: String
    /// Whether it is worth a line in the journal: the library is wrong, or was asked for by name.
    package var isUnexpected = false
  }

  /// Loaded, the likely fastest first; without libsodium.
  private(set) var handles: [CipherHandle] = []
  package private(set) var rejections: [Rejection] = []
  /// A library was asked for by name: it is used also if another one is faster.
  let isAskedFor: Bool

  /// Whether there is none but libsodium.
  package var isEmpty: Bool { handles.isEmpty }

  /// Loads what is promising on this processor; with `only`, that library alone, where it works at all.
  package init(only wanted: CipherLibrary? = nil) {
    isAskedFor = wanted != nil
    for library in CipherLibrary.allCases where library != .libsodium && (wanted ?? library) == library {
      if !library.isPromising, wanted == nil || library == .ipsecMB {
        rejections.append(
          Rejection(
            library: library,
            reason: "this processor lacks the instructions that make it fast (\(library == .ipsecMB ? "AVX-512" : "AVX2"))",
            isUnexpected: wanted != nil))
      } else if let better = handles.first {
        // It would only take memory.
        rejections.append(Rejection(library: library, reason: "not loaded beside \(better.library.rawValue)"))
      } else {
        load(library, isWanted: wanted != nil)
      }
    }
  }

  private mutating func load(_ library: CipherLibrary, isWanted: Bool) {
    var reason: UnsafePointer<CChar>?
    let loaded =
      switch library {
      case .ipsecMB: ccl_load_ipsec_mb(&reason)
      case .boringSSL: ccl_load_boringssl(&reason)
      case .libcrypto: ccl_load_libcrypto(&reason)
      case .libsodium: UnsafePointer<ctc_library>?.none
      }
    if let loaded {
      handles.append(CipherHandle(library: library, pointer: loaded))
    } else {
      rejections.append(
        Rejection(library: library, reason: reason.map { String(cString: $0) } ?? "it cannot be loaded", isUnexpected: isWanted))
    }
  }
}

/// A loaded library.
// Sound: the pointer is to constant data that lives as long as the process.
struct CipherHandle: @unchecked Sendable {
  let library: CipherLibrary
  let pointer: UnsafePointer<ctc_library>

  /// Its name and version.
  var description: String { String(cString: pointer.pointee.description) }
}
