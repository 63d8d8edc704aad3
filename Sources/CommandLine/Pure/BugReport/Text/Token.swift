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

  /// Whether a text begins a PEM block that is not public.
  static func beginsSecretBlock(_ text: String) -> Bool {
    guard let start = text.firstRange(of: "-----BEGIN ") else { return false }
    let name = text[start.upperBound...]
    return !["CERTIFICATE", "TRUSTED CERTIFICATE", "X509 ", "PUBLIC KEY", "RSA PUBLIC KEY", "DH PARAMETERS", "EC PARAMETERS"]
      .contains { name.hasPrefix($0) && !name.hasPrefix("PUBLIC KEY AND") }
  }

  static func hasKnownForm(_ word: String) -> Bool { knownForm(in: Array(word.utf8), from: 0) != nil }

  /// The place of the next token of a known service, or of a hashed password: they begin in a way of their own.
  static func knownForm(in line: [UInt8], from start: Int) -> Range<Int>? {
    for place in line[start...].indices where place == 0 || !isAlphanumeric(line[place - 1]) {
      guard let form = knownForms[line[place]]?.first(where: { line[place...].starts(with: $0.start) }) else { continue }
      let end = line[place...].firstIndex { $0 <= 0x20 || "\"'`,;)]}<>&".utf8.contains($0) } ?? line.count
      if end - place >= form.shortest, isRandom(line[(place + form.start.count)..<end]) { return place..<end }
    }
    return nil
  }

  private static func isRandom(_ rest: ArraySlice<UInt8>) -> Bool {
    rest.contains { (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) }
  }

  private static let knownForms: [UInt8: [(start: [UInt8], shortest: Int)]] = {
    let forms: [(String, Int)] = [
      ("ghp_", 20), ("gho_", 20), ("ghu_", 20), ("ghs_", 20), ("ghr_", 20), ("github_pat_", 30), ("glpat-", 16), ("gldt-", 16),
      ("glrt-", 16), ("tskey-", 16), ("hskey-", 16), ("nbp_", 16), ("AKIA", 20), ("ASIA", 20), ("xoxb-", 16), ("xoxp-", 16), ("xoxa-", 16),
      ("xoxr-", 16), ("xoxs-", 16), ("xapp-", 16), ("sk-", 24), ("sk_live_", 16), ("sk_test_", 16), ("rk_live_", 16), ("AIza", 35),
      ("ya29.", 20), ("hf_", 24), ("npm_", 24), ("pypi-", 24), ("dckr_pat_", 20), ("AGE-SECRET-KEY-", 30), ("SG.", 30), ("hvs.", 20),
      ("shpat_", 20), ("dop_v1_", 20), ("$argon2", 20), ("$2a$", 20), ("$2b$", 20), ("$2y$", 20), ("$1$", 12), ("$5$", 20), ("$6$", 20),
      ("$y$", 20), ("$7$", 20), ("{SSHA", 16), ("{PBKDF2", 16), ("0x", 34),
      ("rw1-", 36),
    ]
    return Dictionary(grouping: forms.map { (start: Array($0.0.utf8), shortest: $0.1) }) { $0.start[0] }
  }()

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
