package import LoginProtocol
package import NetworkTypes

/// All logins at once: their conversations by number, with one set of limits, and a bounded number of each.
package struct LoginDesk: Sendable {
  /// The most conversations, and those of one place (an IPv4 address, or an IPv6 /64).
  package static let capacity = 1000
  package static let capacityOfPlace = 8

  private struct Client {
    var stream = LoginFrameStream()
    var conversation: LoginConversation
    let place: IPPrefix
  }

  private var clients: [UInt32: Client] = [:]
  private var places: [IPPrefix: Int] = [:]
  package private(set) var limits = LoginLimits()
  /// The methods that new conversations begin with.
  package var offers: [LoginMethod] = [.password, .token]
  /// Whether a service of the network checks passwords, for new conversations: refused ones take longer then.
  package var isSlow = false

  package init() {}

  package var count: Int { clients.count }
  package func isOpen(_ number: UInt32) -> Bool { clients[number] != nil }

  /// Takes a connection; `false` if there are too many, and it is to be closed.
  package mutating func open(_ number: UInt32, from address: IPAddress, at now: Moment) -> Bool {
    let place = LoginLimits.place(of: address)
    guard clients.count < Self.capacity, places[place, default: 0] < Self.capacityOfPlace else { return false }
    let grain = isSlow ? LoginConversation.slowGrain : LoginConversation.grain
    clients[number] = Client(
      conversation: LoginConversation(from: address, at: now, offers: offers, passwordGrain: grain), place: place)
    places[place, default: 0] += 1
    return true
  }

  /// The client's bytes.
  package mutating func receive(_ bytes: some Collection<UInt8>, from number: UInt32, at now: Moment) -> [LoginEffect] {
    guard var client = clients[number] else { return [] }
    var effects: [LoginEffect] = []
    do throws(LoginFrameError) {
      for frame in try client.stream.receive(bytes) {
        let message = try ClientMessage(frame)
        if client.conversation.isClosed { break }
        effects += client.conversation.receive(message, &limits, at: now)
      }
    } catch {
      effects += client.conversation.receiveNonsense()
    }
    return keep(client, number, effects)
  }

  package mutating func receive(_ answer: LoginAnswer, for number: UInt32, at now: Moment) -> [LoginEffect] {
    guard var client = clients[number] else { return [] }
    let effects = client.conversation.receive(answer, &limits, at: now)
    return keep(client, number, effects)
  }

  /// The password of this conversation is checked by a service of the network.
  package mutating func passOn(_ number: UInt32) { clients[number]?.conversation.passOn() }

  /// The connection is closed.
  package mutating func close(_ number: UInt32) {
    guard let client = clients.removeValue(forKey: number) else { return }
    places[client.place, default: 1] -= 1
    if places[client.place] == 0 { places[client.place] = nil }
  }

  /// When `expire` has something to do.
  package var deadline: Moment? { clients.values.compactMap(\.conversation.deadline).min() }

  /// Ends what has taken too long, and releases answers whose time has come.
  package mutating func expire(at now: Moment) -> [(number: UInt32, effects: [LoginEffect])] {
    var all: [(number: UInt32, effects: [LoginEffect])] = []
    for number in clients.keys.sorted() {
      guard var client = clients[number], let deadline = client.conversation.deadline, deadline <= now else { continue }
      let effects = client.conversation.expire(at: now)
      all.append((number, keep(client, number, effects)))
    }
    return all
  }

  private mutating func keep(_ client: Client, _ number: UInt32, _ effects: [LoginEffect]) -> [LoginEffect] {
    clients[number] = client
    if client.conversation.isClosed { close(number) }
    return effects
  }
}
