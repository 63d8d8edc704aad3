/// A property of the machine that is known or, for a stated reason, unknown. Unknown is not false.
package enum Fact<Value: Hashable & Sendable>: Hashable, Sendable {
  case known(Value)
  case unknown(reason: String)

  package var value: Value? {
    if case .known(let value) = self { value } else { nil }
  }

  /// A fact that was not requested.
  package static var notNeeded: Self { .unknown(reason: notNeededReason) }

  package static var notNeededReason: String { "no policy asks for it" }

  /// Whether the fact was not requested.
  package var isNotNeeded: Bool { self == .notNeeded }
}

/// Kleene's three values: the verdict on a condition.
package enum Truth: String, Hashable, Sendable {
  /// It holds.
  case yes
  /// It does not hold.
  case no
  /// No source has said yet.
  case unknown

  package init(_ value: Bool) { self = value ? .yes : .no }

  package static prefix func ! (a: Truth) -> Truth {
    switch a {
    case .yes: .no
    case .no: .yes
    case .unknown: .unknown
    }
  }
}
