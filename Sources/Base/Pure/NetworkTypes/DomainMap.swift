/// Many domains with a number for each: a name has that of the longest domain that it is, or lies below, by whole labels. See
/// `DomainIndex`.
package struct DomainMap: Sendable {
  private var index: DomainIndex

  /// - Parameter capacity: the number of domains that are expected; more are possible.
  package init(capacity: Int = 0) { index = DomainIndex(count: capacity, extra: 2) }

  package var count: Int { index.count }

  /// Heap bytes.
  package var memory: Int { index.memory }

  /// Adds a domain; one that is there keeps its number. `false` if it was there.
  @discardableResult
  package mutating func add(_ domain: DomainName, _ number: UInt16) -> Bool {
    index.insert(domain.text.utf8.span, with: [UInt8(number >> 8), UInt8(number & 0xff)])
  }

  /// The number of the longest domain that contains the name. `name`: lower case, without a dot at its end, as in `DomainName`. Bytes that
  /// no domain name has are permitted, and equal none.
  package func number(for name: Span<UInt8>) -> UInt16? {
    guard let place = index.placeBehindLongestSuffix(of: name) else { return nil }
    return UInt16(index.names[place]) << 8 | UInt16(index.names[place + 1])
  }

  package func number(for name: DomainName) -> UInt16? { number(for: name.text.utf8.span) }
}
