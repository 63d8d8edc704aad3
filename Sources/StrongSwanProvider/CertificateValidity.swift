internal import NetworkTypes

/// From when to when an X.509 certificate is valid (RFC 5280, 4.1.2.5): charon does not say that one of this machine's own is not.
package struct CertificateValidity: Equatable, Sendable {
  /// Moments in UTC, `20261124132416`: in the order of time, as text.
  package var start: String
  package var end: String

  /// Of the first certificate of a file in PEM, or of one in DER. `nil`: it cannot be read.
  package init?(of file: [UInt8]) {
    guard let der = Self.der(of: file), let certificate = DER(der[...]), certificate.tag == 0x30 else { return nil }
    guard let signed = DER(certificate.content), signed.tag == 0x30 else { return nil }
    var parts = signed.elements(limit: 5)
    // The version is left out in certificates of version 1.
    if parts.first?.tag == 0xa0 { parts.removeFirst() }
    guard parts.count >= 4, parts[3].tag == 0x30 else { return nil }
    let times = parts[3].elements(limit: 2)
    guard times.count == 2, let start = times[0].time, let end = times[1].time else { return nil }
    (self.start, self.end) = (start, end)
  }

  /// `20261124132416` → `2026-11-24`.
  package static func day(of moment: String) -> String {
    let digits = Array(moment)
    return digits.count == 14 ? "\(String(digits[..<4]))-\(String(digits[4..<6]))-\(String(digits[6..<8]))" : moment
  }

  private static func der(of file: [UInt8]) -> [UInt8]? {
    guard file.first != 0x30 else { return file }
    let lines = String(decoding: file, as: UTF8.self).split(whereSeparator: \.isNewline)
    guard let begin = lines.firstIndex(of: "-----BEGIN CERTIFICATE-----") else { return nil }
    let body = lines[(begin + 1)...].prefix { !$0.hasPrefix("-") }
    return bytes(fromBase64: body.joined())
  }
}

/// An element of DER (X.690): a tag of one byte, and its content.
private struct DER {
  let tag: UInt8
  let content: ArraySlice<UInt8>
  let rest: ArraySlice<UInt8>

  /// The first element of these bytes.
  init?(_ bytes: ArraySlice<UInt8>) {
    var bytes = bytes
    guard let tag = bytes.popFirst(), tag & 0x1f != 0x1f, let first = bytes.popFirst() else { return nil }
    var length = Int(first)
    if first >= 0x80 {
      // More than three bytes of length are no certificate of anyone.
      guard (0x81...0x83).contains(first), bytes.count >= Int(first & 0x7f) else { return nil }
      length = 0
      for _ in 0..<(first & 0x7f) { length = length << 8 | Int(bytes.removeFirst()) }
    }
    guard length <= bytes.count else { return nil }
    self.tag = tag
    content = bytes.prefix(length)
    rest = bytes.dropFirst(length)
  }

  /// The elements inside it, those after an unreadable one left out.
  func elements(limit: Int) -> [DER] {
    var found: [DER] = []
    var bytes = content
    while found.count < limit, let next = DER(bytes) {
      found.append(next)
      bytes = next.rest
    }
    return found
  }

  /// UTCTime, whose years are those of 1950 to 2049, or GeneralizedTime; both without fractions and in UTC.
  var time: String? {
    guard let text = String(validating: content, as: UTF8.self), text.last == "Z" else { return nil }
    let digits = text.dropLast()
    guard digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    switch (tag, digits.count) {
    case (0x17, 12): return (digits < "50" ? "20" : "19") + digits
    case (0x18, 14): return String(digits)
    default: return nil
    }
  }
}
