internal import NetworkTypes

/// Words that show by their form what they are.
enum Token {
  /// A byte of base64 in both alphabets, or of a JSON web token.
  static func isPart(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "+/=-_.".utf8.contains(byte) }

  /// A byte of an address.
  static func isPartOfAddress(_ byte: UInt8) -> Bool { isHexadecimal(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: ":") }

  static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: false
    }
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    switch byte | 0x20 {
    case UInt8(ascii: "a")...UInt8(ascii: "f"): true
    default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
  }

  /// The place of a key of 32 bytes, in base64 or hexadecimal digits. Public keys have the same form.
  static func key(in word: ArraySlice<UInt8>) -> Range<Int>? {
    for part in word.split(separator: UInt8(ascii: "=")) {
      if part.count >= 64, part.allSatisfy(isHexadecimal) { return part.startIndex..<part.endIndex }
      guard part.count == 43, part.endIndex < word.endIndex else { continue }
      if part.allSatisfy({ isAlphanumeric($0) || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") }) {
        return part.startIndex..<(part.endIndex + 1)
      }
    }
    return nil
  }

  /// A JSON web token (RFC 7519): three parts, of which the first is an object.
  static func isWebToken(_ word: ArraySlice<UInt8>) -> Bool {
    guard let start = word.firstRange(of: Array("eyJ".utf8)) else { return false }
    return word[start.lowerBound...].split(separator: UInt8(ascii: ".")).count >= 2 && word.count >= 20
  }

  /// The place of the user information of a URL: of `user:password` in `https://user:password@host/`.
  static func userInformation(in line: [UInt8], from start: Int) -> Range<Int>? {
    guard let mark = line[start...].firstRange(of: Array("://".utf8)) else { return nil }
    let end = line[mark.upperBound...].firstIndex { "/ \"'<>".utf8.contains($0) } ?? line.count
    guard let at = line[mark.upperBound..<end].lastIndex(of: UInt8(ascii: "@")) else {
      return userInformation(in: line, from: mark.upperBound)
    }
    return mark.upperBound..<at
  }

  /// The kind of a hardware address, or of an address that is reachable in the internet, and its text without a port or a full stop.
  static func place(_ text: String) -> (kind: String, text: String)? {
    if MACAddress(text) != nil { return ("mac", text) }
    for end in [text.endIndex, text.lastIndex(of: ":"), text.lastIndex(of: ".")] {
      guard let end, let address = IPAddress(String(text[..<end])) else { continue }
      return address.isPublic ? (address.family == .v4 ? "ipv4" : "ipv6", String(text[..<end])) : nil
    }
    return nil
  }
}

extension IPAddress {
  /// Whether the address shows a place: it is not for every network alike (RFC 1918, RFC 4193, RFC 6598, loopback, link-local, multicast).
  fileprivate var isPublic: Bool {
    if isLoopback || isLinkLocal || isMulticast { return false }
    let ranges = [
      "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "255.255.255.255/32", "::/128", "fc00::/7",
    ]
    return !ranges.contains { IPPrefix($0)?.contains(self) ?? false }
  }
}
