/// The nature of a value, by the name of its key.
package enum KeyNature: Sendable {
  /// The value shows.
  case harmless
  /// The value is a list of a program's arguments.
  case arguments
  /// The value has keys that a person chose: names of tunnels, networks and links.
  case names
  /// The value is left out, and searched for in all other texts.
  case secret
  /// The value is left out: nothing is known about it.
  case unknown

  package init(of key: String) {
    if ValueNature(ofName: Self.letters(key)) == .secret {
      self = .secret
    } else if HarmlessKeys.commands.contains(key) {
      self = .arguments
    } else if HarmlessKeys.named.contains(key) {
      self = .names
    } else {
      self = HarmlessKeys.ofDocuments.contains(key) || HarmlessKeys.ofFacts.contains(key) ? .harmless : .unknown
    }
  }

  /// Of a file of settings, whose keys have other forms: `AllowedIPs`, `interface-name`, `dns-search`.
  init(ofSetting key: String) {
    let name = Self.letters(key)
    if ValueNature(ofName: name) == .secret {
      self = .secret
    } else {
      self = HarmlessKeys.ofSettings.contains(name) ? .harmless : .unknown
    }
  }

  /// Whether the name alone may stand in a report.
  static func isShownKey(_ key: String) -> Bool {
    key.utf8.count <= 64 && !key.isEmpty
      && key.utf8.allSatisfy { Token.isAlphanumeric($0) || "-_.:/@ *".utf8.contains($0) } && !Token.hasKnownForm(key)
  }

  static func isShownOption(_ option: String) -> Bool {
    option.utf8.count <= 40 && !option.isEmpty
      && option.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || "-_/".utf8.contains($0) }
  }

  static func isKnown(_ key: String) -> Bool { KeyNature(of: key) != .unknown || HarmlessKeys.containers.contains(key) }

  /// Whether the tables say anything about a key.
  package static func isJudged(_ key: String) -> Bool { isKnown(key) || HarmlessKeys.leftOut.contains(key) }

  static func isPublicKey(_ key: String) -> Bool { letters(key) == "publickey" }

  /// A pin is the hash of a public key, and also the word for a secret number.
  static func isPublicPin(_ value: String, of key: String) -> Bool { key == "pin" && value.hasPrefix("sha256//") && value.utf8.count == 52 }

  /// A number, an address, or a word of the language.
  static func isPlainWord(_ value: String) -> Bool {
    let isNumber = value.utf8.allSatisfy { (0x30...0x39).contains($0) || ".:/".utf8.contains($0) }
    return isNumber || HarmlessKeys.words.contains(value)
  }

  /// The name of an option, with its dashes, at the beginning of an argument.
  static func option(of argument: String) -> String? {
    guard argument.hasPrefix("-") else { return nil }
    if argument.hasPrefix("--") {
      let name = argument.prefix { $0 != "=" }
      let isName = name.utf8.dropFirst(2).allSatisfy { (0x61...0x7a).contains($0) || $0 == 0x2d }
      return isName && (3...34).contains(name.utf8.count) ? String(name) : nil
    }
    // An option of one letter may have its value behind it.
    return argument.utf8.count >= 2 ? String(argument.prefix(2)) : nil
  }

  static func namesSecret(option: String) -> Bool {
    option.hasPrefix("-") && (ValueNature(ofName: letters(option)) == .secret || letters(option) == "code")
  }

  private static func letters(_ key: String) -> String {
    String(decoding: key.utf8.map { $0 | 0x20 }.filter { (0x61...0x7a).contains($0) }, as: UTF8.self)
  }
}
