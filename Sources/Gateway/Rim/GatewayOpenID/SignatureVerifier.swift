internal import CCrypto

/// Signatures with SHA-256, verified by libcrypto.
package enum SignatureVerifier {
  /// Whether the signature of the message is that of a public key (SubjectPublicKeyInfo, DER): RSASSA-PKCS1-v1_5, or ECDSA in DER. `false`
  /// also for a key that is none, such as a point that is not on its curve.
  package static func isRight(_ key: [UInt8], _ message: [UInt8], _ signature: [UInt8]) -> Bool {
    defer { ERR_clear_error() }
    let publicKey = key.withUnsafeBufferPointer { buffer in
      var place = buffer.baseAddress
      return d2i_PUBKEY(nil, &place, buffer.count)
    }
    guard let publicKey else { return false }
    defer { EVP_PKEY_free(publicKey) }
    guard let context = EVP_MD_CTX_new() else { return false }
    defer { EVP_MD_CTX_free(context) }
    return EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, publicKey) == 1
      && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
  }
}
