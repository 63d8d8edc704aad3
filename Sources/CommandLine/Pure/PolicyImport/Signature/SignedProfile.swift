internal import SignedMessages

/// True if the bytes look like a CMS message: DER or BER, or its PEM form.
func isSignedMessage(_ bytes: [UInt8]) -> Bool {
  // SEQUENCE, and in it the object identifier of a content type, 1.2.840.113549.1.7.
  if bytes.first == 0x30 {
    return bytes.prefix(32).indices.contains { bytes[$0...].starts(with: [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7]) }
  }
  return bytes.starts(with: Array("-----BEGIN PKCS7-----".utf8)) || bytes.starts(with: Array("-----BEGIN CMS-----".utf8))
}

/// Extracts a profile from its CMS message (RFC 5652), and checks the signature on request.
///
/// - Parameter trusted: files of PEM certificates to trust, in addition to those of this machine.
func unwrapSignedProfile(
  _ bytes: [UInt8], verify: Bool, trusted: [String]
) throws(ImportFailure) -> (contents: [UInt8], signature: ProfileSignature) {
  guard bytes.count <= ImportLimits.file else { throw ImportFailure("the file is larger than 16 MiB") }
  guard let message = SignedMessage(bytes) else { throw ImportFailure("this is not a complete CMS message", help: "fetch the file again") }
  // Even without a check the message is processed once: that finds the signers.
  guard let contents = message.contents else {
    throw ImportFailure("this CMS message holds no signed profile", help: "encrypted profiles have to be decrypted first")
  }
  var signature = ProfileSignature(signers: message.signers.map(shown), standing: .notVerified)
  if verify { signature.standing = standing(of: message.verify(trusting: trusted)) }
  return (contents, signature)
}

private func standing(of verification: SignedMessage.Verification) -> ProfileSignature.Standing {
  switch verification {
  case .good: .verified
  case .noCertificates(let file): .refuted(reason: "\(shown(file)) holds no certificates")
  case .refuted(let reason): .refuted(reason: shown(reason))
  }
}
