internal import CCrypto
internal import CSodium

/// The identity of a gateway's logins: a key of Ed25519, and a certificate that it signed itself. Clients know it by its pin.
package enum LoginIdentity {
  /// A new one in PEM, the certificate first; `nil` if libcrypto refuses.
  package static func make() -> String? {
    guard let generator = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nil) else { return nil }
    defer { EVP_PKEY_CTX_free(generator) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(generator) == 1, EVP_PKEY_keygen(generator, &key) == 1, let key else { return nil }
    defer { EVP_PKEY_free(key) }
    guard let certificate = certificate(of: key) else { return nil }
    defer { X509_free(certificate) }
    guard let memory = BIO_new(BIO_s_mem()) else { return nil }
    defer { BIO_free(memory) }
    guard PEM_write_bio_X509(memory, certificate) == 1, PEM_write_bio_PrivateKey(memory, key, nil, nil, 0, nil, nil) == 1
    else { return nil }
    var start: UnsafeMutablePointer<CChar>?
    let count = roamward_bio_contents(memory, &start)
    return start.map { String(decoding: UnsafeRawBufferPointer(start: $0, count: count), as: UTF8.self) }
  }

  /// Clients look at the key alone: the certificate has no end that matters.
  private static func certificate(of key: OpaquePointer) -> OpaquePointer? {
    guard let certificate = X509_new() else { return nil }
    let name = X509_get_subject_name(certificate)
    X509_set_version(certificate, 2)
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1)
    X509_gmtime_adj(X509_getm_notBefore(certificate), -86_400)
    X509_time_adj_ex(X509_getm_notAfter(certificate), 36_500, 0, nil)
    X509_NAME_add_entry_by_txt(name, "CN", utf8, "roamward-gateway", -1, -1, 0)
    X509_set_issuer_name(certificate, name)
    X509_set_pubkey(certificate, key)
    guard X509_sign(certificate, key, nil) > 0 else {
      X509_free(certificate)
      return nil
    }
    return certificate
  }

  /// MBSTRING_UTF8, a macro over a cast.
  private static let utf8: Int32 = 0x1000

  /// The pin: SHA-256 of the public key (SubjectPublicKeyInfo, DER) in base64, as `curl --pinnedpubkey sha256//…` takes it.
  package static func pin(of identity: String) -> String? {
    guard let memory = BIO_new(BIO_s_mem()) else { return nil }
    defer { BIO_free(memory) }
    BIO_write(memory, identity, Int32(identity.utf8.count))
    guard let certificate = PEM_read_bio_X509(memory, nil, nil, nil) else { return nil }
    defer { X509_free(certificate) }
    var start: UnsafeMutablePointer<UInt8>?
    let count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &start)
    guard count > 0, let start else { return nil }
    defer { CRYPTO_free(start, "", 0) }
    var hash = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_bytes()))
    crypto_hash_sha256(&hash, start, UInt64(count))
    var text = [CChar](repeating: 0, count: 64)
    sodium_bin2base64(&text, text.count, hash, hash.count, sodium_base64_VARIANT_ORIGINAL)
    return "sha256//" + String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
