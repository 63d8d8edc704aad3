import NetworkTypes

/// Base64 in lines of 64 characters, each with its line feed.
func base64Lines(_ bytes: [UInt8]) -> String {
  let digits = Array(base64(bytes))
  return stride(from: 0, to: digits.count, by: 64).map { String(digits[$0..<min($0 + 64, digits.count)]) + "\n" }.joined()
}

/// Certificates in PEM or DER as one file in PEM (RFC 7468).
func pemFile(ofCertificates certificates: [[UInt8]]) -> [UInt8] {
  certificates.flatMap { bytes in
    // DER begins with a sequence.
    if bytes.first != 0x30 { return bytes + (bytes.last == 10 ? [] : [10]) }
    return Array("-----BEGIN CERTIFICATE-----\n\(base64Lines(bytes))-----END CERTIFICATE-----\n".utf8)
  }
}
