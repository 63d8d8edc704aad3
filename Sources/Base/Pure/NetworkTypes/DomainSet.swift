/// A set of many domains, to find out whether a name is one of them or lies below one, by whole labels. See `DomainIndex`.
package struct DomainSet: Sendable {
  private var index: DomainIndex

  /// Makes a set; names that occur twice count once.
  package init(_ domains: some Collection<DomainName>) {
    var bytes = 0
    for domain in domains { bytes += domain.text.utf8.count + 1 }
    index = DomainIndex(count: domains.count, bytes: bytes)
    for domain in domains { _ = index.insert(domain.text.utf8.span) }
  }

  package var count: Int { index.count }

  /// Whether the name is one of the domains or lies below one.
  package func contains(_ name: DomainName) -> Bool { index.containsSuffix(of: name.text.utf8.span) }

  /// Heap bytes.
  package var memory: Int { index.memory }
}
