/// A pattern for domains in a policy: a name, which includes all names below it, or `*` for every name.
package enum DomainPattern: Hashable, Sendable {
  case any
  case within(DomainName)

  package func matches(_ name: DomainName) -> Bool {
    switch self {
    case .any: true
    case .within(let parent): name.isWithin(parent)
    }
  }
}

extension DomainPattern: LosslessStringConvertible {
  /// Parses `*`, `example.com`, or `*.example.com`, which means the same as `example.com`.
  package init?(_ text: String) {
    if text == "*" {
      self = .any
    } else if let name = DomainName(text.hasPrefix("*.") ? String(text.dropFirst(2)) : text) {
      self = .within(name)
    } else {
      return nil
    }
  }

  package var description: String {
    switch self {
    case .any: "*"
    case .within(let name): name.text
    }
  }
}
