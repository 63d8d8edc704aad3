internal import NetworkTypes

/// Whether the servers of a group give addresses for names that do not exist, as those of some networks do to lead people to a page of
/// their own. Such an address does not resolve a name of `connect-if-needed`.
///
/// The servers are asked for one random name when the first name of that kind is looked up on a network. Answers that come sooner wait.
struct RedirectCheck: Sendable {
  private enum State: Sendable {
    case unknown
    case asked
    case known([IPAddress])
  }

  static let mostAddresses = 20

  private var state = State.unknown
  private var waiting: [ForwardMachine.Finished] = []

  /// Returns whether the servers are to be asked now.
  mutating func begin() -> Bool {
    guard case .unknown = state else { return false }
    state = .asked
    return true
  }

  /// Keeps an answer until the check has ended, if it is under way.
  mutating func keeps(_ answer: ForwardMachine.Finished) -> Bool {
    guard case .asked = state else { return false }
    waiting.append(answer)
    return true
  }

  /// Takes the addresses of the random name, none without an answer. Returns the answers that waited for them.
  mutating func end(_ addresses: [IPAddress]) -> [ForwardMachine.Finished] {
    state = .known(Array(addresses.prefix(Self.mostAddresses)))
    defer { waiting = [] }
    return waiting
  }

  /// Gives up a check that is under way. Returns the questions whose answers waited for it.
  mutating func giveUp() -> [Question] {
    if case .asked = state { state = .unknown }
    defer { waiting = [] }
    return waiting.flatMap { [$0.query.asker] + $0.query.others }
  }

  func contains(_ address: IPAddress) -> Bool {
    if case .known(let addresses) = state { addresses.contains(address) } else { false }
  }

  /// The question for the addresses (A) of a name of two random labels of 8 to 27 letters below com, as Apple's systems ask.
  static func question(random: () -> UInt64) -> [UInt8] {
    var wire: [UInt8] = []
    for _ in 0..<2 {
      let count = 8 + Int(random() % 20)
      wire.append(UInt8(count))
      for _ in 0..<count { wire.append(UInt8(ascii: "a") + UInt8(random() % 26)) }
    }
    return wire + [3] + Array("com".utf8) + [0, 0, 1, 0, 1]
  }
}
