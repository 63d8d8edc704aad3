/// The domains of a policy, in its order. A long list is searched by hash, a short one entry by entry: the results are the same.
package struct DomainList: Sendable {
  private let patterns: [DomainPattern]
  /// The index of names that include all names below them, if there are many.
  private let index: DomainSet?
  private let holdsAll: Bool

  /// Below this many entries, comparing each is faster than hashing the name.
  private static let few = 8

  package init(_ patterns: [DomainPattern]) {
    self.patterns = patterns
    holdsAll = patterns.contains(.any)
    index = patterns.count < Self.few || holdsAll ? nil : DomainSet(patterns.compactMap(\.name))
  }

  /// Whether the name is one of the domains or lies below one.
  package func holds(_ name: DomainName) -> Bool {
    if holdsAll { return true }
    return index?.contains(name) ?? patterns.contains { $0.matches(name) }
  }
}

extension DomainList: Hashable {
  package static func == (a: Self, b: Self) -> Bool { a.patterns == b.patterns }

  package func hash(into hasher: inout Hasher) { hasher.combine(patterns) }
}

extension DomainList: RandomAccessCollection, ExpressibleByArrayLiteral {
  package init(arrayLiteral patterns: DomainPattern...) { self.init(patterns) }

  package var startIndex: Int { 0 }
  package var endIndex: Int { patterns.count }
  package subscript(position: Int) -> DomainPattern { patterns[position] }
}

extension DomainPattern {
  fileprivate var name: DomainName? { if case .within(let name) = self { name } else { nil } }
}
