package import NetworkTypes

/// Work for strangers that waits, each by the number of its connection. Networks take turns, as do the smaller ones in each of them and
/// their addresses: one with much work waits for its own alone.
package struct WorkQueue: Sendable {
  /// The place of a network, or of a connection of an address, that had no work before.
  package enum Newcomer: Sendable {
    /// Behind all others.
    case last
    /// Before all others; a network goes behind them when its turn is over. Where more work comes than can be done, the oldest is for a
    /// client that is about to give up.
    case first
  }

  /// A network with what waits for its addresses.
  fileprivate struct Node {
    var count = 0
    /// Of an address.
    var numbers: [UInt32] = []
    /// The networks in it that have work, the next one first.
    var order: [IPPrefix] = []
    var parts: [IPPrefix: Node] = [:]
  }

  private let mostAtWork: Int
  private let mostWaiting: Int
  private let newcomer: Newcomer
  private var root = Node()
  private var places: [UInt32: ArraySlice<IPPrefix>] = [:]
  private var atWork: Set<UInt32> = []

  /// `atWork`: so many are begun at once.
  package init(atWork: Int, waiting: Int = .max, newcomer: Newcomer = .last) {
    self.newcomer = newcomer
    mostAtWork = atWork
    mostWaiting = waiting
  }

  package var waiting: Int { root.count }
  package func contains(_ number: UInt32) -> Bool { places[number] != nil || atWork.contains(number) }

  /// Adds work; nothing if the connection has some. Returns the connection whose work is not done, because too much waits: the last one of
  /// the fullest network.
  package mutating func add(_ number: UInt32, from address: IPAddress) -> UInt32? {
    guard !contains(number) else { return nil }
    let path = address.networks[...]
    places[number] = path
    root.add(number, path, newcomer)
    guard root.count > mostWaiting, let last = root.removeLast() else { return nil }
    places[last] = nil
    return last
  }

  /// Begins the next work; `nil`: there is none, or enough has begun.
  package mutating func begin() -> UInt32? {
    guard atWork.count < mostAtWork, let number = root.removeFirst() else { return nil }
    places[number] = nil
    atWork.insert(number)
    return number
  }

  /// The work is done, or not wanted any more.
  package mutating func end(_ number: UInt32) {
    atWork.remove(number)
    if let path = places.removeValue(forKey: number) { root.remove(number, path) }
  }
}

extension WorkQueue.Node {
  fileprivate mutating func add(_ number: UInt32, _ path: ArraySlice<IPPrefix>, _ newcomer: WorkQueue.Newcomer) {
    count += 1
    guard let part = path.first else { return numbers.insert(number, at: newcomer == .first ? 0 : numbers.count) }
    if parts[part] == nil { order.insert(part, at: newcomer == .first ? 0 : order.count) }
    parts[part, default: Self()].add(number, path.dropFirst(), newcomer)
  }

  fileprivate mutating func removeFirst() -> UInt32? {
    guard count > 0 else { return nil }
    count -= 1
    guard let part = order.first else { return numbers.removeFirst() }
    order.removeFirst()
    let number = parts[part]?.removeFirst()
    if parts[part]?.count == 0 { parts[part] = nil } else { order.append(part) }
    return number
  }

  /// Of the fullest part; of equal ones, of that whose turn is last.
  fileprivate mutating func removeLast() -> UInt32? {
    guard count > 0 else { return nil }
    count -= 1
    guard let part = order.reversed().max(by: { parts[$0]?.count ?? 0 < parts[$1]?.count ?? 0 }) else { return numbers.removeLast() }
    let number = parts[part]?.removeLast()
    forget(part)
    return number
  }

  fileprivate mutating func remove(_ number: UInt32, _ path: ArraySlice<IPPrefix>) {
    count -= 1
    guard let part = path.first else { return numbers.removeAll { $0 == number } }
    parts[part]?.remove(number, path.dropFirst())
    forget(part)
  }

  private mutating func forget(_ part: IPPrefix) {
    guard parts[part]?.count == 0 else { return }
    parts[part] = nil
    order.removeAll { $0 == part }
  }
}
