import JSON
import Lives
import LoginProtocol
import NetworkTypes
import ProviderProtocol
import SeededRandom
import Testing

@testable import ClientProvider

@Suite("A login by messages, answers and times alone") struct SignInMachineTests {
  /// A gateway's connection, an agent and a person around a login. Each effect is checked.
  private struct World {
    var machine: SignInMachine
    var connecting: LifeToken?
    var isConnected = false
    var limit: LifeToken?
    var question: LifeToken?
    var results: [Result<LoginGrant, TunnelFailure>] = []
    var sent: [ClientMessage] = []
    var servers: [String] = []
    var past: [SignInMachine.Event] = []

    init(username: String? = "alice", token: [UInt8]? = nil, password: [UInt8]? = nil) throws {
      var members: [JSON.Member] = [
        .init(key: "server", value: "gate.example:51820"), .init(key: "pin", value: "sha256//a"), .init(key: "device", value: "laptop"),
      ]
      if let username { members.append(.init(key: "username", value: .string(username))) }
      let options = try #require(ClientOptions(.object(members)))
      machine = SignInMachine("corp", options, publicKey: [UInt8](repeating: 1, count: 32), token: token, password: password)
    }

    mutating func take(_ event: SignInMachine.Event) {
      past.append(event)
      let wasOver = machine.phase == .over
      let effects = machine.take(event)
      #expect(!wasOver || effects.isEmpty, "\(event) after the end")
      for effect in effects { perform(effect, event) }
      if machine.phase == .over {
        #expect(results.count == 1 && !isConnected && question == nil && connecting == nil, "\(event)")
      } else if !past.isEmpty {
        // The gateway and the network have a limit. A person has none.
        #expect(results.isEmpty && (limit != nil || question != nil), "\(event): nothing is awaited")
      }
    }

    private mutating func perform(_ effect: SignInMachine.Effect, _ event: SignInMachine.Event) {
      switch effect {
      case .connect(let attempt, let server):
        #expect(!isConnected && connecting == nil && question == nil)
        connecting = attempt
        servers.append(server.description)
      case .send(let message):
        #expect(isConnected && question == nil)
        sent.append(message)
      case .limit(let attempt, _): limit = attempt
      case .unlimited: limit = nil
      case .ask(let attempt, _):
        #expect(question == nil, "\(event): two questions")
        question = attempt
      case .withdraw:
        #expect(question != nil)
        question = nil
      case .close: (isConnected, connecting, limit) = (false, nil, nil)
      case .log: break
      case .done(let result): results.append(result)
      }
    }

    mutating func connect(succeeds: Bool) {
      guard let attempt = connecting else { return }
      (connecting, isConnected) = (nil, succeeds)
      take(succeeds ? .connected(attempt) : .unreachable(attempt, code: "unreachable", text: "refused"))
    }

    mutating func timeOut() {
      guard let attempt = limit else { return }
      limit = nil
      // The socket of a connection that took too long is of no use.
      connecting = nil
      take(.timeout(attempt))
    }

    mutating func answer(_ answer: SignInMachine.Answer) {
      guard let attempt = question else { return }
      question = nil
      take(.answered(attempt, answer))
    }

    var failure: String? { if case .failure(let failure)? = results.first { failure.code.description } else { nil } }
  }

  private static func message(_ random: inout SplitMix64) -> GatewayMessage {
    switch Int(random.next() % 12) {
    case 0...2: return .welcome(version: 1, methods: random.chance(0.8) ? [.password, .token, .openID] : [])
    case 3: return .more(random.pick([.code, .newPassword, .banner]), text: "")
    case 4: return .more(random.pick(LoginMethod.allCases), text: "text")
    case 5, 6: return .prompt(text: "", echo: random.chance(0.5))
    case 7...8:
      let page = SignInPage(url: "https://login.example", completeURL: nil, code: "A", seconds: 60)
      return page.map { .visit($0) } ?? .relaying(version: 1)
    case 9: return .done(grant)
    case 10: return .failed(random.pick(LoginFailure.allCases), retryAfter: random.chance(0.5) ? 0 : 30)
    default: return random.chance(0.2) ? .relaying(version: 1) : .prompt(text: "more", echo: false)
    }
  }

  @Test("over random events, a login ends once, and asks one question at a time", arguments: 0..<300) func random(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var world = try World(
      username: random.chance(0.6) ? "alice" : nil, token: random.chance(0.2) ? [1] : nil, password: random.chance(0.5) ? [2] : nil)
    world.take(.begin)
    for _ in 0..<200 {
      switch Int(random.next() % 16) {
      case 0...3: world.connect(succeeds: random.chance(0.8))
      case 4...5: if world.isConnected { world.take(.proven) }
      case 6...9: if world.isConnected { world.take(.received(Self.message(&random))) }
      case 10...11:
        let answers: [SignInMachine.Answer] = [.secret([1, 2]), .agreed, .secret([]), .agreed, .declined, .unanswered]
        world.answer(random.chance(0.1) ? .secret([UInt8](repeating: 1, count: 70_000)) : random.pick(answers))
      case 12: if random.chance(0.2) { world.timeOut() }
      case 13: if random.chance(0.2), world.isConnected { world.take(random.pick([.closed("reset"), .broken(otherKey: nil), .noTLS])) }
      default:
        // An answer that comes twice.
        let event = random.pick(world.past)
        if !Self.isDue(event, world) { world.take(event) }
      }
    }
    // All that is open ends by its limit, or by the person.
    for _ in 0..<10 where world.results.isEmpty { if world.question != nil { world.answer(.declined) } else { world.timeOut() } }
    #expect(world.results.count == 1)
  }

  /// Whether the answer to an attempt is still awaited, or an event belongs to none.
  private static func isDue(_ event: SignInMachine.Event, _ world: World) -> Bool {
    switch event {
    case .connected(let attempt), .unreachable(let attempt, _, _): world.connecting == attempt
    case .timeout(let attempt): world.limit == attempt
    case .answered(let attempt, _): world.question == attempt
    case .begin: false
    case .proven, .received, .closed, .broken, .noTLS: true
    }
  }

  @Test("the second port is tried once; the failure at the first is told unless a gateway shows its key there") func ports() throws {
    var world = try World(password: [2])
    world.take(.begin)
    world.connect(succeeds: false)
    #expect(world.servers == ["gate.example:51820", "gate.example:443"])
    var other = world
    other.connect(succeeds: true)
    other.take(.broken(otherKey: "sha256//b"))
    #expect(other.failure == "unreachable")
    world.connect(succeeds: true)
    world.take(.proven)
    world.take(.closed("reset"))
    #expect(world.failure == "connection-ended")
  }

  @Test("a password that is asked for goes by a connection of its own, at the port that has answered") func asked() throws {
    var world = try World()
    world.take(.begin)
    world.timeOut()
    world.connect(succeeds: true)
    world.take(.proven)
    world.take(.received(.welcome(version: 1, methods: [.password])))
    #expect(!world.isConnected && world.limit == nil && world.machine.hasQuestion)
    world.answer(.secret([7]))
    world.connect(succeeds: true)
    world.take(.proven)
    world.take(.received(.welcome(version: 1, methods: [.password])))
    #expect(world.sent.last == .password(user: "alice", password: [7]))
    #expect(world.servers == ["gate.example:51820", "gate.example:443", "gate.example:443"])
    world.take(.received(.done(grant)))
    #expect(world.results == [.success(grant)])
  }

  @Test("a token in place of the password goes as a token, once; its refusal is told as one of a token") func invited() throws {
    let token = LoginToken(random: [UInt8](repeating: 7, count: 20)).bytes
    func asked(by methods: [LoginMethod] = [.password, .token]) throws -> World {
      var world = try World()
      world.take(.begin)
      for answer in [true, false] {
        world.connect(succeeds: true)
        world.take(.proven)
        world.take(.received(.welcome(version: 1, methods: methods)))
        if answer { world.answer(.secret(token)) }
      }
      return world
    }
    var world = try asked()
    #expect(world.sent.last == .token(token))
    world.take(.received(.failed(.wrong, retryAfter: 0)))
    #expect(world.failure == "auth-failed")
    guard case .failure(let failure)? = world.results.first else { throw Unexpected() }
    #expect(failure.text.contains("does not accept the token"))
    world = try asked()
    world.take(.received(.done(grant)))
    #expect(world.results == [.success(grant)])
    // A gateway without tokens gets no password of that form, and asks for none again.
    world = try asked(by: [.password])
    #expect(world.failure == "unsupported" && world.sent.allSatisfy { if case .hello = $0 { true } else { false } })
    // Neither does a token become a new password.
    world = try World(password: [2])
    world.take(.begin)
    world.connect(succeeds: true)
    world.take(.proven)
    world.take(.received(.welcome(version: 1, methods: [.password, .token])))
    world.take(.received(.more(.newPassword, text: "")))
    world.answer(.secret(token))
    #expect(world.failure == "auth-failed" && world.sent.last == .password(user: "alice", password: [2]))
  }

  private struct Unexpected: Error {}

  @Test("the page of a sign-in waits for the gateway after the person has agreed, and ends with its code") func visit() throws {
    var world = try World(username: nil)
    world.take(.begin)
    world.connect(succeeds: true)
    world.take(.proven)
    world.take(.received(.welcome(version: 1, methods: [.openID])))
    let page = try #require(SignInPage(url: "https://login.example", completeURL: nil, code: "WDJB", seconds: 60))
    world.take(.received(.visit(page)))
    var other = world
    other.take(.received(.more(.code, text: "")))
    #expect(other.machine.hasQuestion && other.results.isEmpty)
    world.answer(.agreed)
    #expect(world.results.isEmpty && world.limit != nil && !world.machine.hasQuestion)
    world.timeOut()
    #expect(world.failure == "sign-in-timeout")
  }
}
