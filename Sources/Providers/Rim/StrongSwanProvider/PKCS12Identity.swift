internal import CCrypto
package import ProviderProtocol

/// A certificate with its key out of a file of PKCS#12 (RFC 7292), by libcrypto.
package struct PKCS12Identity: Equatable, Sendable {
  /// In DER, as all others.
  package var certificate: [UInt8]
  /// Without a password.
  package var key: [UInt8]
  /// The file's other certificates.
  package var chain: [[UInt8]] = []

  /// Throws why the file cannot be used, and the cure.
  ///
  /// - Parameter password: `nil`: none, which some programs write as an empty one.
  package init(_ file: [UInt8], password: [UInt8]?) throws(TunnelFailure) {
    func unreadable(_ text: String) -> TunnelFailure { TunnelFailure(code: "identity-unreadable", text: text, help: .person) }
    defer { ERR_clear_error() }
    guard
      let parcel = file.withUnsafeBytes({ bytes -> OpaquePointer? in
        guard let count = Int32(exactly: bytes.count), let input = BIO_new_mem_buf(bytes.baseAddress, count) else { return nil }
        defer { BIO_free(input) }
        return d2i_PKCS12_bio(input, nil)
      })
    else { throw unreadable("the credential `identity` is no file of PKCS#12 (.p12)") }
    defer { PKCS12_free(parcel) }
    let text = (password ?? []).map { CChar(bitPattern: $0) } + [0]
    guard PKCS12_verify_mac(parcel, text, -1) == 1 || (password == nil && PKCS12_verify_mac(parcel, nil, 0) == 1) else {
      throw unreadable(
        password == nil
          ? "the credential `identity` has a password: name a file with it, `credentials: { identity-password: FILE }`"
          : "the credential `identity-password` does not open `identity`")
    }
    // Keychain and older Windows write RC2 and 3DES, which libcrypto has in a part of its own.
    _ = Self.algorithms
    var (key, certificate, others): (OpaquePointer?, OpaquePointer?, OpaquePointer?)
    guard PKCS12_parse(parcel, text, &key, &certificate, &others) == 1 else {
      throw unreadable(
        "the credential `identity` is written with algorithms that this machine's libcrypto does not have; write it anew with openssl-pkcs12(1ssl)"
      )
    }
    defer {
      EVP_PKEY_free(key)
      X509_free(certificate)
      roamward_free_certificates(others)
    }
    guard let key, let certificate else { throw unreadable("the credential `identity` holds no certificate with its key") }
    self.certificate = written { i2d_X509(certificate, $0) }
    self.key = written { i2d_PrivateKey(key, $0) }
    guard let others else { return }
    for index in 0..<roamward_certificate_count(others) {
      let other = roamward_certificate(others, index)
      chain.append(written { i2d_X509(other, $0) })
    }
  }

  /// libcrypto's algorithms, once for the process: to name one part is to name all.
  private static let algorithms: Void = {
    OSSL_PROVIDER_load(nil, "default")
    OSSL_PROVIDER_load(nil, "legacy")
  }()
}

/// The bytes that an `i2d` function of libcrypto writes. It is called twice: for the length, then for the bytes. Empty if it fails.
private func written(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
  let count = Int(write(nil))
  guard count > 0 else { return [] }
  return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
    var next = buffer.baseAddress
    filled = Int(write(&next))
  }
}
