/// Two lower-case digits.
package func hexadecimal(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }

/// Parses exactly two hexadecimal digits, without a sign.
func byte(fromHex text: Substring) -> UInt8? {
  guard text.utf8.count == 2, text.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0 | 0x20) }) else { return nil }
  return UInt8(text, radix: 16)
}

/// Parses an even number of hexadecimal digits.
package func bytes(fromHex text: Substring) -> [UInt8]? {
  guard text.utf8.count.isMultiple(of: 2) else { return nil }
  var bytes: [UInt8] = []
  var i = text.startIndex
  while i < text.endIndex {
    guard let next = text.index(i, offsetBy: 2, limitedBy: text.endIndex), let value = byte(fromHex: text[i..<next]) else { return nil }
    bytes.append(value)
    i = next
  }
  return bytes
}
