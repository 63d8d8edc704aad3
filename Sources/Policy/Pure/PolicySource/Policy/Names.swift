extension ValueReader where Value == String {
  static let networkName = ValueReader("the name of a network, of 1 to 64 characters", schema: .text(pattern: SchemaPattern.networkName)) {
    isNetworkName($0) ? $0 : nil
  }
}

/// True for 1 to 64 characters on one line, without white space at either end.
func isNetworkName(_ name: String) -> Bool {
  (1...64).contains(name.unicodeScalars.count) && !name.contains("\n") && !name.contains("\t") && name.first != " " && name.last != " "
}

/// True for 1 to 64 of `A-Za-z0-9._-`, beginning with a letter, a digit or `_`. The name is used as a file name, a link name and an
/// argument.
func isTunnelName(_ name: String) -> Bool {
  func isWord(_ c: UInt8) -> Bool { (48...57).contains(c) || (97...122).contains(c | 0x20) || c == UInt8(ascii: "_") }
  guard let first = name.utf8.first, isWord(first), name.utf8.count <= 64 else { return false }
  return name.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
}
