internal import GatewayCore
package import LoginProtocol
package import NetworkTypes

/// All logins at once: their conversations by number, with one set of limits, and a bounded number of each. Who connects gets in: another
/// one goes for it if there are too many.
package struct LoginTable: Sendable {
  /// The most conversations: of clients that have proven nothing, and of persons who have proven the first factor.
  package static let strangers = 750
  package static let persons = 250
  package static let capacity = strangers + persons
  /// Of them, those of one place (an IPv4 address, or an IPv6 /64).
  package static let capacityOfPlace = 64
  /// The most that wait for the client's answer to a question of a service, and for its person at the OpenID provider. What they hold
  /// there is bounded, and each may take minutes.
  package static let prompting = PAMLimits.checks * 3 / 4
  package static let visiting = SignInLimits.flows - 4
  /// The seconds after which a client that gave its place to another one is told to come again, if it can be told.
  package static let turnedAway = GatewayMessage.failed(.later, retryAfter: 5)

  private struct Client {
    var stream = LoginFrameStream()
    var conversation: LoginConversation
  }

  private var clients: [UInt32: Client] = [:]
  /// Each client is in one of the first two, and in another one meanwhile.
  private var strangers = ConnectionTable(limit: Self.strangers, limitOfPlace: Self.capacityOfPlace)
  private var persons = ConnectionTable(limit: Self.persons, limitOfPlace: Self.capacityOfPlace)
  private var prompting = ConnectionTable(limit: Self.prompting, limitOfPlace: Self.prompting)
  private var visiting = ConnectionTable(limit: Self.visiting, limitOfPlace: Self.visiting)
  private var gone: [UInt32] = []
  package private(set) var limits = LoginLimits()
  /// The methods that new conversations begin with.
  package var offers: [LoginMethod] = [.password, .token]
  /// Whether a service of the network checks passwords, for new conversations: refused ones take longer then.
  package var isSlow = false

  package init() {}

  package var count: Int { clients.count }
  package func isOpen(_ number: UInt32) -> Bool { clients[number] != nil }

  /// Whether the client has sent a whole message.
  package func hasGreeted(_ number: UInt32) -> Bool { clients[number].map { $0.conversation.stage != .silent } ?? false }

  /// Takes a connection.
  package mutating func open(_ number: UInt32, from address: IPAddress, at now: Moment) {
    let interval = isSlow ? LoginConversation.slowAnswerInterval : LoginConversation.answerInterval
    clients[number] = Client(conversation: LoginConversation(from: address, at: now, offers: offers, passwordInterval: interval))
    let victim = strangers.add(number, from: address)
    turnAway(victim)
  }

  /// The connections that went for others since the last call. Their conversations are over; they are to be closed.
  package mutating func takeGone() -> [UInt32] {
    defer { gone = [] }
    return gone
  }

  private mutating func turnAway(_ victim: UInt32?) {
    guard let victim, clients[victim] != nil else { return }
    close(victim)
    gone.append(victim)
  }

  /// The client's bytes.
  package mutating func receive(_ bytes: some Collection<UInt8>, from number: UInt32, at now: Moment) -> [LoginEffect] {
    guard var client = clients[number] else { return [] }
    var effects: [LoginEffect] = []
    client.conversation.hear()
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
    clients[number] = nil
    strangers.remove(number)
    persons.remove(number)
    prompting.remove(number)
    visiting.remove(number)
  }

  /// When `expire` has something to do for this client.
  package func deadline(of number: UInt32) -> Moment? { clients[number]?.conversation.deadline }

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
    let (stage, address) = (client.conversation.stage, client.conversation.address)
    switch stage {
    case .closed: close(number)
    case .proven:
      strangers.remove(number)
      if !persons.contains(number) { turnAway(persons.add(number, from: address)) }
    case .silent, .greeted, .checking, .prompting, .visiting:
      persons.remove(number)
      if strangers.contains(number) {
        strangers.raise(number, to: stage.rawValue)
      } else {
        turnAway(strangers.add(number, from: address, rank: stage.rawValue))
      }
    }
    if stage != .prompting {
      prompting.remove(number)
    } else if !prompting.contains(number) {
      turnAway(prompting.add(number, from: address))
    }
    if stage != .visiting {
      visiting.remove(number)
    } else if !visiting.contains(number) {
      turnAway(visiting.add(number, from: address))
    }
    return effects
  }
}
