/// The name of a user of this machine: 1 to 256 bytes without blanks, control characters, `:` and `/`, and neither a number nor an option.
/// Directories of a company have names such as `alice@corp.example`.
package struct UserName: Hashable, Sendable, Comparable {
  package let text: String

  package static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }
}

extension UserName: LosslessStringConvertible {
  package init?(_ text: String) {
    let bytes = text.utf8
    let isAllowed = bytes.allSatisfy { $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "/") }
    let isNumber = bytes.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard (1...256).contains(bytes.count), isAllowed, !isNumber, bytes.first != UInt8(ascii: "-"), isPrintable(text) else { return nil }
    self.text = text
  }

  package var description: String { text }
}
