/// Follows blocks of lines that are secret as a whole: PEM blocks of keys, inline files of OpenVPN, and values that go on in further lines.
struct SecretBlocks {
  /// The line that ends the block, after which lines show again.
  private var end: [UInt8]?
  /// The indentation of a name whose value goes on below it.
  private var indentation: Int?
  /// Whether the line before ends with the name of a secret: an option in a list of arguments, a key in a property list.
  private var isNext = false

  private static let elements = [
    "key", "tls-auth", "tls-crypt", "tls-crypt-v2", "secret", "auth-user-pass", "pkcs12", "http-proxy-user-pass",
  ]

  /// Whether the line is inside a block. The lines that begin and end a block show.
  mutating func hides(_ line: [UInt8]) -> Bool {
    let text = String(decoding: line.drop { $0 <= 0x20 }, as: UTF8.self)
    if let end {
      guard text.utf8.starts(with: end) else { return true }
      self.end = nil
      return false
    }
    if let indentation {
      let own = line.prefix { $0 == 0x20 || $0 == 0x09 }.count
      if !text.isEmpty, own > indentation || own == indentation && text.hasPrefix("- ") { return true }
      if !text.isEmpty { self.indentation = nil }
    }
    if isNext, !text.isEmpty {
      isNext = false
      return true
    }
    isNext = isNext || Self.endsWithName(text)
    if Token.beginsSecretBlock(text) {
      end = text.contains("-----END ") ? nil : Array("-----END ".utf8)
    } else if let element = Self.elements.first(where: { text.hasPrefix("<\($0)>") && !text.contains("</\($0)>") }) {
      end = Array("</\(element)>".utf8)
    } else if let value = KeyedValue.all(in: line).last, value.mayContinue, ValueNature(ofName: value.name) == .secret {
      indentation = line.prefix { $0 == 0x20 || $0 == 0x09 }.count
    }
    return false
  }

  private static func endsWithName(_ text: String) -> Bool {
    let word = text.utf8.reversed().drop { $0 <= 0x20 || "\"',".utf8.contains($0) }.prefix { $0 > 0x20 && !"\"',[(".utf8.contains($0) }
    let last = String(decoding: word.reversed(), as: UTF8.self)
    if last.hasPrefix("-") { return last.count <= 34 && KeyNature.namesSecret(option: last) }
    guard last.hasPrefix("<key>"), last.hasSuffix("</key>") else { return false }
    return ValueNature(ofName: KeyedValue.letters(Array(last.dropFirst(5).dropLast(6).utf8)[...])) == .secret
  }
}
