internal import CCrypto
internal import Glibc
internal import NetworkTypes
package import ProviderProtocol

/// From when to when an X.509 certificate is valid (RFC 5280, 4.1.2.5), by libcrypto: charon does not say that one of this machine's own is
/// not.
package struct CertificateValidity: Equatable, Sendable {
  /// Moments in UTC, `20261124132416`: in the order of time, as text.
  package var start: String
  package var end: String

  /// Of the first certificate of a file in PEM, or of one in DER. `nil`: it cannot be read.
  package init?(of file: [UInt8]) {
    defer { ERR_clear_error() }
    guard let certificate = parse(file) else { return nil }
    defer { X509_free(certificate) }
    guard let start = moment(X509_get0_notBefore(certificate)), let end = moment(X509_get0_notAfter(certificate)) else { return nil }
    (self.start, self.end) = (start, end)
  }

  /// The moment of this clock.
  package static var now: String {
    var (now, parts) = (time(nil), tm())
    gmtime_r(&now, &parts)
    return text(parts)
  }

  /// `20261124132416` → `2026-11-24`.
  package static func day(of moment: String) -> String {
    let digits = Array(moment)
    return digits.count == 14 ? "\(String(digits[..<4]))-\(String(digits[4..<6]))-\(String(digits[6..<8]))" : moment
  }

  /// For the agent, under this name.
  package func told(as name: String) -> Validity? {
    guard let end = Self.seconds(end) else { return nil }
    return Validity(name, from: Self.seconds(start), until: end)
  }

  private static func seconds(_ moment: String) -> Int64? {
    let digits = Array(moment)
    guard digits.count == 14 else { return nil }
    func part(_ place: Int, _ length: Int = 2) -> String { String(digits[place..<(place + length)]) }
    let text = "\(part(0, 4))-\(part(4))-\(part(6))T\(part(8)):\(part(10)):\(part(12)).000Z"
    return Timestamp(text).map(\.seconds).flatMap { (0...Validity.latest).contains($0) ? $0 : nil }
  }

  fileprivate static func text(_ parts: tm) -> String {
    let numbers = [parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec].map { ($0, 2) }
    return ([(parts.tm_year + 1900, 4)] + numbers).map { number, length in
      String(repeating: "0", count: max(0, length - String(number).count)) + String(number)
    }.joined()
  }
}

private func parse(_ file: [UInt8]) -> OpaquePointer? {
  file.withUnsafeBytes { bytes in
    guard let count = Int32(exactly: bytes.count), let input = BIO_new_mem_buf(bytes.baseAddress, count) else { return nil }
    defer { BIO_free(input) }
    if file.first == 0x30 { return d2i_X509_bio(input, nil) }
    // An empty password: otherwise libcrypto asks for one at the terminal.
    var password: CChar = 0
    return PEM_read_bio_X509(input, nil, nil, &password)
  }
}

private func moment(_ time: UnsafePointer<ASN1_TIME>?) -> String? {
  var parts = tm()
  return ASN1_TIME_to_tm(time, &parts) == 1 ? CertificateValidity.text(parts) : nil
}
