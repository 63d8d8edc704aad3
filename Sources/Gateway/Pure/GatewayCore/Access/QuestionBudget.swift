package import NetworkTypes

/// The limit of answered questions about packets: ten of a device at once, then one a second.
package struct QuestionBudget: Sendable {
  private var spent: [Int64: (count: Int, since: Moment)] = [:]

  package static let burst = 10
  private static let period = Duration.seconds(1)
  /// Beyond so many devices, those that have all of their budget again are forgotten.
  private static let memory = 1024

  package init() {}

  /// Whether a question of this device is answered now.
  package mutating func take(_ device: Int64, at now: Moment) -> Bool {
    if spent.count > Self.memory { spent = spent.filter { Self.left($0.value, at: now).count > 0 } }
    var own = Self.left(spent[device] ?? (0, now), at: now)
    guard own.count < Self.burst else { return false }
    if own.count == 0 { own.since = now }
    own.count += 1
    spent[device] = own
    return true
  }

  private static func left(_ spent: (count: Int, since: Moment), at now: Moment) -> (count: Int, since: Moment) {
    let returned = min(spent.count, Int(max(.zero, now - spent.since) / period))
    return (spent.count - returned, spent.since + period * returned)
  }
}
