/// The connections that have called, with their users: to those, objects that only some users see are shown. A connection that is gone
/// stays until newer ones take its place; its name comes never again.
struct BusReaders {
  /// The most connections that are remembered, and the most calls that wait for their caller's user.
  private static let most = 256
  private static let mostWaiting = 256

  private var users: [String: UInt32] = [:]
  /// In the order in which they came.
  private var order: [String] = []
  private var waiting: [String: [BusCall]] = [:]

  func user(of connection: String) -> UInt32? { users[connection] }

  /// The connections of a user, in the order in which they came.
  func connections(of user: UInt32) -> [String] { order.filter { users[$0] == user } }

  enum Turn {
    /// The first call of the connection: its user is to be asked for.
    case first
    case later
    case full
  }

  /// Lets a call wait until its caller's user is known.
  mutating func wait(_ call: BusCall) -> Turn {
    guard waiting.values.reduce(0, { $0 + $1.count }) < Self.mostWaiting else { return .full }
    waiting[call.sender, default: []].append(call)
    return waiting[call.sender]?.count == 1 ? .first : .later
  }

  /// The calls of a connection that waited. `nil`: the bus knows no user of it, and it is shown what all see.
  mutating func take(_ connection: String, _ user: UInt32?) -> [BusCall] {
    if let user, users.updateValue(user, forKey: connection) == nil {
      order.append(connection)
      if order.count > Self.most { users[order.removeFirst()] = nil }
    }
    return waiting.removeValue(forKey: connection) ?? []
  }

  mutating func removeAll() { self = BusReaders() }
}
