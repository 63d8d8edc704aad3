/// Base64 of RFC 4648, section 4, with its padding. Not for secrets: it leaves copies in memory.
package func base64(_ bytes: [UInt8]) -> String {
  let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  var text = ""
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let part = bytes[start..<min(start + 3, bytes.count)]
    let bits = part.enumerated().reduce(UInt32(0)) { $0 | UInt32($1.element) << UInt32(16 - 8 * $1.offset) }
    for i in 0..<4 { text.append(i <= part.count ? digits[Int(bits >> UInt32(18 - 6 * i)) & 63] : "=") }
  }
  return text
}

/// Decodes RFC 4648 base64, ignoring white space. `nil` for anything else.
package func bytes(fromBase64 text: some StringProtocol) -> [UInt8]? {
  var result: [UInt8] = []
  var bits: UInt32 = 0
  var digits = 0
  var padding = 0
  for byte in text.utf8 {
    let value: UInt8
    switch byte {
    case 9, 10, 13, 32: continue
    case UInt8(ascii: "="):
      padding += 1
      continue
    case 65...90: value = byte - 65
    case 97...122: value = byte - 97 + 26
    case 48...57: value = byte - 48 + 52
    case UInt8(ascii: "+"): value = 62
    case UInt8(ascii: "/"): value = 63
    default: return nil
    }
    guard padding == 0 else { return nil }
    bits = bits << 6 | UInt32(value)
    digits += 1
    if digits.isMultiple(of: 4) {
      result += [UInt8(truncatingIfNeeded: bits >> 16), UInt8(truncatingIfNeeded: bits >> 8), UInt8(truncatingIfNeeded: bits)]
      bits = 0
    }
  }
  switch digits % 4 {
  case 0: return padding == 0 ? result : nil
  case 2: return result + [UInt8(truncatingIfNeeded: bits >> 4)]
  case 3: return result + [UInt8(truncatingIfNeeded: bits >> 10), UInt8(truncatingIfNeeded: bits >> 2)]
  default: return nil
  }
}
