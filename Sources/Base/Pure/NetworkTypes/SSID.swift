/// The name of a Wi-Fi network: 1 to 32 bytes of any value (IEEE 802.11-2020, 9.4.2.2), compared exactly.
///
/// Its text form is the name itself if that is printable UTF-8; otherwise `hex:` and its bytes.
package struct SSID: Hashable, Sendable, Comparable {
  package let bytes: [UInt8]

  package init?(bytes: [UInt8]) {
    guard (1...32).contains(bytes.count) else { return nil }
    self.bytes = bytes
  }

  package static func < (a: Self, b: Self) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }
}

extension SSID: LosslessStringConvertible {
  /// Parses the text form: the UTF-8 bytes of the text, or `hex:4361666501` for bytes that are not text, or for a name that begins with
  /// `hex:`.
  package init?(_ text: String) {
    if text.hasPrefix("hex:") {
      guard let raw = NetworkTypes.bytes(fromHex: text.dropFirst(4)) else { return nil }
      self.init(bytes: raw)
    } else {
      self.init(bytes: Array(text.utf8))
    }
  }

  package var description: String {
    if let text = String(validating: bytes, as: UTF8.self), !text.hasPrefix("hex:"), isPrintable(text) {
      return text
    }
    return "hex:" + bytes.map(hexadecimal).joined()
  }
}
