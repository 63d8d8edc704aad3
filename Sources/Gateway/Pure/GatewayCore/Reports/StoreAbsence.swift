/// The store's server does not answer, and the gateway serves what it has read before.
package struct StoreAbsence: Hashable, Sendable, CustomStringConvertible {
  package var reason: String
  /// Since the last reading, in seconds; `nil`: not known.
  package var age: Int64?
  /// After so many seconds all sessions end; `nil`: never.
  package var staleAfter: Int64?

  package init(reason: String, age: Int64?, staleAfter: Int64? = nil) {
    self.reason = reason
    self.age = age
    self.staleAfter = staleAfter
  }

  package var description: String {
    let effect =
      switch staleAfter {
      case let limit? where age ?? .max > limit: "all sessions have ended (stale-after \(limit) s)"
      case let limit?: "the gateway goes on with that, until it is \(limit) s old"
      case nil: "the gateway goes on with that"
      }
    let subject = reason.hasPrefix("store") ? reason : "store: \(reason)"
    return "\(subject); the gateway read it \(age.map { "\($0) s" } ?? "some time") ago; \(effect)"
  }
}
