/// Made for one attempt, process, request or connection, and different from every other one. An answer that comes with another token is
/// late.
package struct LifeToken: Hashable, Sendable {
  private final class Mark: Sendable {}

  private let mark = Mark()

  package init() {}

  package static func == (a: Self, b: Self) -> Bool { a.mark === b.mark }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(mark)) }
}
