import JSON
import Lives
import LoginProtocol
import NetworkTypes
import ProviderProtocol
import SeededRandom
import Testing

@testable import ClientProvider

/// An agent, an engine and two gateways in memory, around the life of a client in virtual time. It carries out effects, and checks each.
struct ClientWorld {
  private(set) var life = ClientLife()
  private(set) var now = Moment(nanoseconds: 1_000_000_000_000)
  /// The events that are due later.
  private(set) var waits: [(at: Moment, event: ClientEvent)] = []
  /// Effects whose answer is due.
  private(set) var asked: [ClientEffect] = []
  /// All events so far, to be repeated late.
  private(set) var past: [ClientEvent] = []
  /// The endpoints at which a gateway answers.
  var answering: Set<String> = []
  /// The engine's state.
  var reading = EngineReading()
  private(set) var ends: [TunnelFailure?] = []
  private(set) var starts = 0
  private(set) var isTold: Bool?
  private var kept: ClientMemory.Login?
  private var (hasEngine, hasRelay, isOver) = (false, false, true)
  private var number: UInt64 = 0

  static let paris = "203.0.113.10:51820"
  static let lyon = "lyon.example:51820"
  static let lyonAddress = "203.0.113.20:51820"
  static let options = ClientOptions(["server": "203.0.113.10:51820", "pin": "sha256//a", "username": "alice", "device": "laptop"])

  /// The grant of a login at paris, with lyon beside it.
  static let grant: LoginGrant = {
    func addresses(_ texts: String...) -> [IPAddress] { texts.compactMap { IPAddress($0) } }
    let sites = [("paris", UInt8(1), paris), ("lyon", 2, lyon)].map { name, byte, endpoint in
      GatewaySite(
        name: name, key: [UInt8](repeating: byte, count: 32), endpoint: endpoint, pin: [UInt8](repeating: byte, count: 32), relayPort: 443,
        addresses: addresses("10.77.\(byte).2"), gatewayAddresses: addresses("10.77.\(byte).1"))
    }
    let grant = LoginGrant(user: "alice", device: "laptop", gatewayKey: sites[0].key, endpoint: paris, addresses: [], sites: sites)
    return grant.at(sites[0])
  }()

  // MARK: Events

  mutating func start(kept: Bool) throws {
    let options = try #require(Self.options)
    starts += 1
    (isOver, isTold, self.kept) = (false, nil, kept ? ClientMemory.Login(identity: options.identity, grant: Self.grant) : nil)
    take(.start(options, self.kept))
  }

  mutating func push(_ grant: LoginGrant) {
    number += 1
    take(.pushed(SettingsPush(number: number, grant), bytes: 200))
  }

  mutating func endSession() {
    number += 1
    take(.sessionEnded(number: number))
  }

  mutating func take(_ event: ClientEvent) {
    past.append(event)
    if past.count > 100 { past.removeFirst(50) }
    for effect in life.take(event, at: now) { perform(effect) }
    check(event)
  }

  /// Lets the next event come that is due by time. Returns whether there was one.
  mutating func wait() -> Bool {
    guard let index = waits.indices.min(by: { waits[$0].at < waits[$1].at }) else { return false }
    let (at, event) = waits.remove(at: index)
    now = max(now, at)
    take(event)
    return true
  }

  /// Answers a request of the life. `succeeds`: as the life wishes.
  mutating func answer(_ index: Int, succeeds: Bool) {
    let effect = asked.remove(at: index)
    let refusal = Refusal(code: "policy", text: "no")
    let failure = TunnelFailure(code: "no", text: "no", help: .time)
    switch effect {
    case .logIn: take(succeeds ? .signedIn(Self.grant) : .failed(failure))
    case .openDevice:
      hasEngine = succeeds
      take(succeeds ? .engineStarted : .failed(failure))
    case .apply(let attempt, _): take(succeeds ? .applied(attempt, refused: []) : .refused(attempt, refusal))
    case .resolve(let attempt, let name):
      take(succeeds ? .resolved(attempt, Self.addresses(of: name)) : .unresolved(attempt, name, refusal))
    case .locate(let key, let name): if succeeds { take(.located(key, Self.addresses(of: name))) }
    case .read(let attempt):
      let sight = EngineSight(reading: reading, relayed: 0, clock: now.nanoseconds)
      take(.read(attempt, succeeds ? sight : nil))
    case .openRelay(let attempt, _, _):
      hasRelay = succeeds
      take(succeeds ? .relayOpened(attempt) : .relayEnded(attempt, "refused"))
    default: Issue.record("\(effect) has no answer")
    }
  }

  /// Lets time pass, in which each request has the answer that is wished for.
  mutating func live(for duration: Duration) {
    let end = now + duration
    while true {
      if !asked.isEmpty {
        answer(0, succeeds: true)
      } else if let next = waits.map(\.at).min(), next <= end {
        _ = wait()
      } else {
        return now = end
      }
    }
  }

  /// Whether an event is still to come for the first time, so that its repetition now would be no late one.
  func isDue(_ event: ClientEvent) -> Bool {
    switch event {
    case .applied(let attempt, _), .refused(let attempt, _): life.link?.settings.request?.attempt == attempt || isPreparing(attempt)
    case .resolved(let attempt, _), .unresolved(let attempt, _, _), .look(let attempt), .read(let attempt, _), .relayOpened(let attempt),
      .relayEnded(let attempt, _), .tell(let attempt), .searchAgain(let attempt):
      life.isPresent(attempt)
    default: true
    }
  }

  private func isPreparing(_ attempt: LifeToken) -> Bool {
    if case .preparing(let preparation) = life.phase { preparation.attempt == attempt } else { false }
  }

  private static func addresses(of name: DomainName) -> [IPAddress] { ["203.0.113.20"].compactMap { IPAddress($0) } }

  // MARK: Effects

  private mutating func perform(_ effect: ClientEffect) {
    if isOver, case .fail(let failure) = effect, ends.count == starts - 1 { return ends.append(failure) }
    #expect(!isOver, "\(effect) after the end")
    switch effect {
    case .logIn:
      #expect(!asked.contains(.logIn))
      asked.append(effect)
    case .openDevice:
      #expect(!hasEngine && !asked.contains(.openDevice))
      asked.append(effect)
    case .apply:
      #expect(!asked.contains { if case .apply = $0 { true } else { false } }, "two requests for settings")
      asked.append(effect)
    case .resolve, .locate: asked.append(effect)
    case .read:
      #expect(hasEngine)
      asked.append(effect)
    case .openRelay:
      #expect(hasEngine && !hasRelay)
      asked.append(effect)
    case .closeRelay:
      hasRelay = false
      asked.removeAll { if case .openRelay = $0 { true } else { false } }
    case .keep: kept = life.run.login
    case .ready:
      #expect(isTold != true && !asked.contains { if case .apply = $0 { true } else { false } }, "ready too early")
      isTold = true
    case .reassert:
      #expect(isTold != nil, "a run that was not ready asserts nothing again")
      isTold = false
    case .transport, .log: break
    case .listen, .greet: #expect(hasEngine)
    case .engine(let order): configure(order)
    case .wait(let duration, let event): waits.append((now + duration, event))
    case .leave:
      (waits, asked, hasEngine, hasRelay, isOver) = ([], [], false, false, true)
      (isTold, reading) = (nil, EngineReading())
    case .fail(let failure): Issue.record("\(failure) without an end")
    }
  }

  private mutating func configure(_ order: EngineOrder) {
    #expect(hasEngine)
    switch order {
    case .connect(let key, let endpoint):
      #expect(key == life.run.grant?.gatewayKey)
      reading = EngineReading()
      if answering.contains(endpoint.description) { reading.handshake = now.nanoseconds + 1 }
    case .connectThroughRelay:
      #expect(hasRelay)
      reading = EngineReading()
      if answering.contains("relay") { reading.handshake = now.nanoseconds + 1 }
    case .probe(_, let endpoint): if answering.contains(endpoint.description) { reading.handshake = now.nanoseconds + 40_000_000 }
    case .measure(let key, let endpoint):
      if answering.contains(endpoint.description) { reading.others[EngineRequest.hex(key)] = now.nanoseconds + 1_000_000 }
    case .remove(let key): reading.others[EngineRequest.hex(key)] = nil
    case .keepalive, .move: break
    }
  }

  /// The rules that hold after each event.
  private mutating func check(_ event: ClientEvent) {
    if case .idle = life.phase {
      #expect(isOver, "\(event): an end without a word")
      if ends.count < starts { ends.append(nil) }
      #expect(ends.count == starts)
      return
    }
    #expect(!isOver && kept == life.run.login, "\(event): a login that is not kept")
    guard let link = life.link else { return }
    #expect((link.settings.request != nil) == asked.contains { if case .apply = $0 { true } else { false } })
    if link.standing == .connected { #expect(isTold == true || link.settings.request?.isReadyDue == true, "\(event)") }
    if link.standing == .lost { #expect(isTold == false, "\(event)") }
    guard let attempt = link.search?.attempt else { return }
    let looks = waits.count { $0.event == .look(attempt) } + asked.count { $0 == .read(attempt) }
    let isResolving = asked.contains { if case .resolve(attempt, _) = $0 { true } else { false } }
    let isAgainDue = waits.contains { $0.event == .searchAgain(attempt) }
    #expect(looks == 1 || (looks == 0 && (isResolving || isAgainDue)), "\(event): \(looks) looks at the engine are due")
  }
}
