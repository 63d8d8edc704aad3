internal import CCrypto

/// Who signed a profile, and what is known about that.
package struct ProfileSignature: Hashable, Sendable {
  package enum Standing: Hashable, Sendable {
    /// Nobody asked whether the signature is good.
    case notVerified
    /// Signature and chain are good, by the certificates that this machine trusts.
    case verified
    /// In OpenSSL's words.
    case refuted(because: String)
  }

  /// Subjects of the certificates, RFC 2253; empty where the message does not carry them.
  package var signers: [String]
  package var standing: Standing

  package var isRefuted: Bool { if case .refuted = standing { true } else { false } }
}

/// Whether the bytes look like a CMS message: DER or BER, or its PEM form.
func isSignedMessage(_ bytes: [UInt8]) -> Bool {
  // SEQUENCE, and in it the object identifier of a content type, 1.2.840.113549.1.7.
  if bytes.first == 0x30 {
    return bytes.prefix(32).indices.contains { bytes[$0...].starts(with: [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7]) }
  }
  return bytes.starts(with: Array("-----BEGIN PKCS7-----".utf8)) || bytes.starts(with: Array("-----BEGIN CMS-----".utf8))
}

/// Takes a profile out of the CMS message around it (RFC 5652), and checks the signature where that is asked for.
///
/// - Parameter trusted: files of PEM certificates to trust, besides those of this machine.
func unwrapSignedProfile(
  _ bytes: [UInt8], verify: Bool, trusted: [String]
) throws(ImportFailure) -> (contents: [UInt8], signature: ProfileSignature) {
  guard bytes.count <= ImportLimits.file else { throw ImportFailure("the file is larger than 16 MiB") }
  guard let message = parseMessage(bytes) else { throw ImportFailure("this is not a complete CMS message", help: "fetch the file again") }
  defer { CMS_ContentInfo_free(message) }
  // Without any check there still is a pass over the message: it finds the signers.
  guard let contents = signedContents(of: message) else {
    ERR_clear_error()
    throw ImportFailure("this CMS message holds no signed profile", help: "encrypted profiles have to be decrypted first")
  }
  var signature = ProfileSignature(signers: signers(of: message), standing: .notVerified)
  if verify { signature.standing = standing(of: message, trusted: trusted) }
  return (contents, signature)
}

private func parseMessage(_ bytes: [UInt8]) -> OpaquePointer? {
  bytes.withUnsafeBytes { buffer in
    guard let input = BIO_new_mem_buf(buffer.baseAddress, Int32(buffer.count)) else { return nil }
    defer { BIO_free(input) }
    let message = bytes.first == 0x30 ? d2i_CMS_bio(input, nil) : roamward_read_cms_pem(input)
    ERR_clear_error()
    return message
  }
}

private func signedContents(of message: OpaquePointer) -> [UInt8]? {
  guard OBJ_obj2nid(CMS_get0_type(message)) == NID_pkcs7_signed, let place = CMS_get0_content(message), let octets = place.pointee,
    let start = ASN1_STRING_get0_data(octets)
  else { return nil }
  return Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(octets))))
}

/// The certificates that the message itself carries for its signers, whether or not they are to be trusted.
private func signers(of message: OpaquePointer) -> [String] {
  defer { ERR_clear_error() }
  let flags = UInt32(CMS_NO_SIGNER_CERT_VERIFY) | UInt32(CMS_NO_ATTR_VERIFY) | UInt32(CMS_NO_CONTENT_VERIFY)
  guard CMS_verify(message, nil, nil, nil, nil, flags) == 1, let list = CMS_get0_signers(message) else { return [] }
  defer { roamward_free_certificate_list(list) }
  return (0..<roamward_certificate_count(list)).compactMap { roamward_certificate(list, $0).map(subject) }
}

private func subject(of certificate: OpaquePointer) -> String {
  guard let output = BIO_new(BIO_s_mem()) else { return "" }
  defer { BIO_free(output) }
  roamward_print_subject(output, certificate)
  var start: UnsafeMutablePointer<CChar>?
  let count = roamward_bio_contents(output, &start)
  guard let start, count > 0 else { return "" }
  return shown(String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self))
}

private func standing(of message: OpaquePointer, trusted: [String]) -> ProfileSignature.Standing {
  defer { ERR_clear_error() }
  guard let store = X509_STORE_new() else { return .refuted(because: "out of memory") }
  defer { X509_STORE_free(store) }
  X509_STORE_set_default_paths(store)
  for file in trusted where X509_STORE_load_file(store, file) != 1 { return .refuted(because: "\(shown(file)) holds no certificates") }
  // Profiles are signed with certificates of every purpose, those of web servers among them.
  X509_STORE_set_purpose(store, X509_PURPOSE_ANY)
  guard let output = BIO_new(BIO_s_null()) else { return .refuted(because: "out of memory") }
  defer { BIO_free(output) }
  if CMS_verify(message, nil, store, nil, output, UInt32(CMS_BINARY)) == 1 { return .verified }
  return .refuted(because: lastReason())
}

/// The first words of OpenSSL's error queue that tell something, with what they add: `certificate verify error: self-signed certificate`.
private func lastReason() -> String {
  var data: UnsafePointer<CChar>?
  var flags: Int32 = 0
  var reason = "the signature is not good"
  var code = ERR_get_error_all(nil, nil, nil, &data, &flags)
  while code != 0 {
    if let text = ERR_reason_error_string(code) { reason = String(cString: text) }
    if flags & ERR_TXT_STRING != 0, let data, data.pointee != 0 { reason += ": " + String(cString: data) }
    code = ERR_get_error_all(nil, nil, nil, &data, &flags)
  }
  return shown(reason)
}
