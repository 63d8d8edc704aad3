internal import CCrypto

/// A CMS message (RFC 5652) in memory of libcrypto. This is the only code that accesses such memory.
package struct SignedMessage: ~Copyable {
  /// The result of checking signature and chain.
  package enum Verification: Equatable, Sendable {
    /// Both are valid, by the certificates that this machine trusts and those of the files.
    case good
    /// One of the files has no certificate.
    case noCertificates(file: String)
    /// Invalid; the text is OpenSSL's and may quote the message.
    case refuted(String)
  }

  private let message: OpaquePointer

  /// Parses DER, BER or PEM; `nil` if it is not a complete message.
  ///
  /// - Parameter bytes: fewer than 2 GiB.
  package init?(_ bytes: [UInt8]) {
    guard let message = parseMessage(bytes) else { return nil }
    self.message = message
  }

  deinit { CMS_ContentInfo_free(message) }

  /// The signed contents; `nil` if the message is not signed or does not contain them.
  package var contents: [UInt8]? {
    defer { ERR_clear_error() }
    guard OBJ_obj2nid(CMS_get0_type(message)) == NID_pkcs7_signed, let place = CMS_get0_content(message), let octets = place.pointee,
      let start = ASN1_STRING_get0_data(octets)
    else { return nil }
    return Array(UnsafeBufferPointer(start: start, count: Int(ASN1_STRING_length(octets))))
  }

  /// Subjects (RFC 2253) of the signers' certificates in the message, trusted or not.
  package var signers: [String] {
    defer { ERR_clear_error() }
    let flags = UInt32(CMS_NO_SIGNER_CERT_VERIFY) | UInt32(CMS_NO_ATTR_VERIFY) | UInt32(CMS_NO_CONTENT_VERIFY)
    guard CMS_verify(message, nil, nil, nil, nil, flags) == 1, let list = CMS_get0_signers(message) else { return [] }
    defer { roamward_free_certificate_list(list) }
    return (0..<roamward_certificate_count(list)).compactMap { roamward_certificate(list, $0).map(subject) }
  }

  /// Checks signature and chain.
  ///
  /// - Parameter files: PEM certificates to trust, in addition to those of this machine.
  package func verify(trusting files: [String]) -> Verification {
    defer { ERR_clear_error() }
    guard let store = X509_STORE_new() else { return .refuted("out of memory") }
    defer { X509_STORE_free(store) }
    X509_STORE_set_default_paths(store)
    for file in files where X509_STORE_load_file(store, file) != 1 { return .noCertificates(file: file) }
    // Profiles are signed with certificates of any purpose, including those of web servers.
    X509_STORE_set_purpose(store, X509_PURPOSE_ANY)
    guard let output = BIO_new(BIO_s_null()) else { return .refuted("out of memory") }
    defer { BIO_free(output) }
    if CMS_verify(message, nil, store, nil, output, UInt32(CMS_BINARY)) == 1 { return .good }
    return .refuted(lastReason())
  }
}

private func parseMessage(_ bytes: [UInt8]) -> OpaquePointer? {
  bytes.withUnsafeBytes { buffer in
    guard let count = Int32(exactly: buffer.count), let input = BIO_new_mem_buf(buffer.baseAddress, count) else { return nil }
    defer { BIO_free(input) }
    let message = bytes.first == 0x30 ? d2i_CMS_bio(input, nil) : roamward_read_cms_pem(input)
    ERR_clear_error()
    return message
  }
}

private func subject(of certificate: OpaquePointer) -> String {
  guard let output = BIO_new(BIO_s_mem()) else { return "" }
  defer { BIO_free(output) }
  roamward_print_subject(output, certificate)
  var start: UnsafeMutablePointer<CChar>?
  let count = roamward_bio_contents(output, &start)
  guard let start, count > 0 else { return "" }
  return String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
}

/// The first useful message of OpenSSL's error queue, with its details: `certificate verify error: self-signed certificate`.
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
  return reason
}
