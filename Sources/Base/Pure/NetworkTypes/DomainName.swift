/// A DNS name as a policy writes it or a network announces it: lower case, without the trailing dot.
///
/// Letter case is ignored (RFC 4343). Names outside ASCII have to be in their `xn--` form.
public struct DomainName: Hashable, Sendable, Comparable {
  /// Never empty, never with a trailing dot.
  public let text: String

  /// Whether this name is `parent` or lies below it, by whole labels: `a.example` is within `example`, `myexample` is not.
  public func isWithin(_ parent: DomainName) -> Bool {
    let own = text.utf8
    let other = parent.text.utf8
    guard own.count > other.count else { return own.count == other.count && text == parent.text }
    guard own.suffix(other.count).elementsEqual(other) else { return false }
    return own[own.index(own.endIndex, offsetBy: -other.count - 1)] == UInt8(ascii: ".")
  }

  public static func < (a: Self, b: Self) -> Bool { a.text < b.text }
}

extension DomainName: LosslessStringConvertible {
  /// Parses labels of 1 to 63 letters, digits, hyphens and underscores, 253 bytes in all (RFC 1035 section 2.3.4); one trailing dot is
  /// dropped.
  public init?(_ text: String) {
    var bytes = Array(text.utf8)
    if bytes.last == UInt8(ascii: ".") { bytes.removeLast() }
    guard (1...253).contains(bytes.count) else { return nil }
    let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    func isAllowed(_ c: UInt8) -> Bool { (48...57).contains(c) || (97...122).contains(c | 0x20) || c == 45 || c == 95 }
    guard labels.allSatisfy({ (1...63).contains($0.count) && $0.allSatisfy(isAllowed) }) else { return nil }
    self.text = String(decoding: bytes.map { (65...90).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }

  public var description: String { text }
}
