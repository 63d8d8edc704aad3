/// A tunnel name from a name in a file: lower-case letters, digits and hyphens, at most 40 characters.
func tunnelName(from text: String) -> String? {
  var name = ""
  for byte in text.utf8.prefix(200) {
    switch byte {
    case 65...90: name.unicodeScalars.append(Unicode.Scalar(byte | 0x20))
    case 97...122, 48...57: name.unicodeScalars.append(Unicode.Scalar(byte))
    default: if !name.isEmpty, !name.hasSuffix("-") { name += "-" }
    }
    if name.utf8.count == 40 { break }
  }
  while name.hasSuffix("-") { name.removeLast() }
  return name.isEmpty ? nil : name
}

/// The rule of the policy language: 1 to 64 of `A-Za-z0-9._-`, beginning with a letter, a digit or `_`.
package func isUsableTunnelName(_ name: String) -> Bool {
  func isWord(_ c: UInt8) -> Bool { (48...57).contains(c) || (97...122).contains(c | 0x20) || c == UInt8(ascii: "_") }
  guard let first = name.utf8.first, isWord(first), name.utf8.count <= 64 else { return false }
  return name.utf8.allSatisfy { isWord($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") }
}

/// `corp` of `/tmp/corp.conf`.
func baseName(of path: String) -> String {
  let name = path.split(separator: "/").last.map(String.init) ?? path
  guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return name }
  return String(name[..<dot])
}
