/// Identifies one attempt: each one that is made differs from all others. A late answer to another attempt is dropped.
final class Attempt: Equatable {
  static func == (a: Attempt, b: Attempt) -> Bool { a === b }
}
