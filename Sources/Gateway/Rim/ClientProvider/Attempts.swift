/// The name of one attempt: of a search, a request or a connection. A late answer to an earlier attempt has another name.
struct Attempt: Hashable, Sendable {
  fileprivate let number: UInt64
}

/// The source of names for attempts: no two are equal.
struct Attempts: Sendable {
  private var last = Attempt(number: 0)

  mutating func next() -> Attempt {
    last = Attempt(number: last.number + 1)
    return last
  }
}
