/// A link's identity in its network namespace (`ifi_index` of rtnetlink(7)); names are only labels. Never 0.
package struct InterfaceIndex: Hashable, Sendable, Comparable, CustomStringConvertible {
  package let value: UInt32

  package init?(_ value: UInt32) {
    guard value != 0 else { return nil }
    self.value = value
  }

  package static func < (a: Self, b: Self) -> Bool { a.value < b.value }

  package var description: String { String(value) }
}
