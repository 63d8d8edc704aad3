import AgentCore
package import NetworkTypes

/// Limits the turns of clients: a token bucket for each user, and one for all users together, as one person can have many UIDs (subuid(5)).
package struct RequestBudget {
  /// The burst, and the turns a second after that.
  package struct Limit {
    package var burst: Double
    package var perSecond: Double

    package init(burst: Double, perSecond: Double) {
      self.burst = burst
      self.perSecond = perSecond
    }
  }

  private struct Bucket {
    var tokens: Double
    var filledAt: Moment

    mutating func fill(_ limit: Limit, at now: Moment) {
      let elapsed = now - filledAt
      tokens = min(
        limit.burst, tokens + max(0, Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18) * limit.perSecond)
      filledAt = now
    }

    /// The moment at which a whole token is available.
    func next(_ limit: Limit) -> Moment { filledAt + .nanoseconds(Int64(max(0, 1 - tokens) / limit.perSecond * 1e9) + 1) }
  }

  private let each: Limit
  private let together: Limit
  private var users: [UInt32: Bucket] = [:]
  private var all: Bucket?
  private static let mostUsers = 256

  package init(each: Limit = Limit(burst: 100, perSecond: 50), together: Limit = Limit(burst: 400, perSecond: 200)) {
    self.each = each
    self.together = together
  }

  /// Takes one turn for the user. Returns `nil`, or, if none is left, the moment of the next.
  package mutating func take(for user: UInt32, at now: Moment) -> Moment? {
    var own = users[user] ?? Bucket(tokens: each.burst, filledAt: now)
    own.fill(each, at: now)
    var shared = all ?? Bucket(tokens: together.burst, filledAt: now)
    shared.fill(together, at: now)
    defer {
      users[user] = own
      all = shared
      if users.count > Self.mostUsers { forgetFull(at: now) }
    }
    if own.tokens < 1 { return own.next(each) }
    if shared.tokens < 1 { return shared.next(together) }
    own.tokens -= 1
    shared.tokens -= 1
    return nil
  }

  /// Removes full buckets, which have no effect.
  private mutating func forgetFull(at now: Moment) {
    for (user, var bucket) in users {
      bucket.fill(each, at: now)
      if bucket.tokens >= each.burst { users[user] = nil }
    }
  }
}
