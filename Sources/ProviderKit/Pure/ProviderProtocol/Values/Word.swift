/// A stable identifier for programs: a small letter, then small letters, digits, `-` and `.`, 64 bytes at most.
///
/// Reason codes, names of events, types of messages and names of credentials are words.
public struct Word: Hashable, Sendable, Comparable, LosslessStringConvertible {
  public let description: String

  /// `nil` if the text is not of this form.
  public init?(_ text: String) {
    let bytes = text.utf8
    guard (1...ProtocolLimits.word).contains(bytes.count), let first = bytes.first, (97...122).contains(first),
      bytes.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) || $0 == 45 || $0 == 46 })
    else { return nil }
    description = text
  }

  public static func < (a: Self, b: Self) -> Bool { a.description < b.description }
}

extension Word: ExpressibleByStringLiteral {
  /// For literals in source code. A literal that is no word is a mistake of the program, and stops it.
  public init(stringLiteral value: StaticString) {
    guard let word = Word("\(value)") else {
      preconditionFailure("\"\(value)\" is no word: a small letter, then small letters, digits, - and .")
    }
    self = word
  }
}
