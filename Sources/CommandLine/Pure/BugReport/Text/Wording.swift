/// Values whose names stand before them without a sign between: `login alice password x`, `: PSK "x"`, `Bearer x`,
/// `<password>x</password>`.
enum Wording {
  /// The value behind a word and white space.
  static func value(after word: ArraySlice<UInt8>, in line: [UInt8]) -> Range<Int>? {
    let name = KeyedValue.letters(word)
    var start = word.endIndex
    while start < line.count, line[start] == 0x20 || line[start] == 0x09 { start += 1 }
    guard start > word.endIndex, start < line.count else { return nil }
    switch name {
    case "bearer", "basic":
      let end = line[start...].firstIndex { $0 <= 0x20 || "\"',;)]}".utf8.contains($0) } ?? line.count
      return end - start >= 8 ? start..<end : nil
    case "psk", "eap", "xauth", "rsa", "ecdsa", "pkcs", "p", "ntlm", "pin":
      // strongSwan's and FreeS/WAN's secrets: `alice : EAP "x"`, `: RSA key.pem "x"`.
      guard line[..<word.startIndex].last(where: { $0 != 0x20 && $0 != 0x09 }) == UInt8(ascii: ":") else { return nil }
      return line[start...].firstIndex(of: UInt8(ascii: "\"")).map { $0..<line.count }
    case "password", "passwd", "passphrase", "secret":
      let isQuoted = line[start] == UInt8(ascii: "\"")
      let isFile = ["password", "passwd"].contains(name) && isAfterName(word.startIndex, in: line)
      return isQuoted || isFile ? start..<line.count : nil
    default: return nil
    }
  }

  /// Whether `login` or `user` stands before on the line, as in .netrc.
  private static func isAfterName(_ place: Int, in line: [UInt8]) -> Bool {
    let words = line[..<place].split { $0 <= 0x20 }
    return words.contains { ["login", "user", "username", "account", "name"].contains(KeyedValue.letters($0)) }
  }

  /// The text of an element of XML: `<password>x</password>`, and `<key>Password</key><string>x</string>`.
  static func element(_ word: ArraySlice<UInt8>, in line: [UInt8]) -> Range<Int>? {
    guard word.startIndex > 0, word.endIndex < line.count else { return nil }
    let (before, after) = (line[word.startIndex - 1], line[word.endIndex])
    var start = word.endIndex + 1
    if before == UInt8(ascii: ">"), after == UInt8(ascii: "<") {
      guard line[word.endIndex...].starts(with: "</key>".utf8), let open = line[(start + 5)...].firstIndex(of: UInt8(ascii: ">")) else {
        return nil
      }
      start = open + 1
    } else if before != UInt8(ascii: "<") || after != UInt8(ascii: ">") {
      return nil
    }
    let end = line[start...].firstIndex(of: UInt8(ascii: "<")) ?? line.count
    return end > start ? start..<end : nil
  }
}
