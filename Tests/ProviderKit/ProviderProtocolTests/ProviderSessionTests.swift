import JSON
import NetworkTypes
import ProviderProtocol
import Testing

/// The agent's side alone: order, time and endings.
@Suite struct ProviderSessionTests {
  static let zero = Moment(nanoseconds: 1_000_000_000)

  /// A session after `hello`, and what the provider has to send for each step.
  static func greeted(mayAsk: Bool = true) throws -> ProviderSession {
    var session = ProviderSession(tunnel: "corp", at: zero)
    let actions = session.receive(try ProviderMessage.hello(versions: 1...3, program: "p 1\u{1b}").encoded(), at: zero)
    #expect(actions.count == 2 && actions.last == .stateChanged(.idle) && session.program == "p 1\\u{1b}" && session.nextDeadline == nil)
    return session
  }

  static func started(mayAsk: Bool = true) throws -> ProviderSession {
    var session = try greeted()
    _ = try session.start(StartRequest(mayAsk: mayAsk), at: zero)
    return session
  }

  static func connected() throws -> ProviderSession {
    var session = try started()
    _ = session.receive(try ProviderMessage.settings(id: 1, TunnelSettings()).encoded(), at: zero)
    _ = try session.settingsApplied(id: 1)
    #expect(session.receive(try ProviderMessage.ready.encoded(), at: zero) == [.stateChanged(.connected)])
    return session
  }

  static func send(_ message: ProviderMessage, _ session: inout ProviderSession, at now: Moment = zero) throws -> [ProviderSession.Action] {
    session.receive(try message.encoded(), at: now)
  }

  @Test("credentials go before the start, each with its descriptor") func credentials() throws {
    var session = try Self.greeted()
    let actions = try session.start(StartRequest(), credentials: ["password", "key"], at: Self.zero)
    let attachments = actions.compactMap { if case .send(_, let attachment) = $0 { attachment } else { nil } }
    #expect(attachments == [.credential("password"), .credential("key")] && actions.count == 4)
    #expect(throws: ProviderSession.Unsendable.state(.starting)) { try session.start(StartRequest(), at: Self.zero) }
    var other = try Self.greeted()
    #expect(throws: ProviderSession.Unsendable.tooMany) { try other.start(StartRequest(), credentials: ["a", "a"], at: Self.zero) }
  }

  @Test("connected means that settings are applied: `ready` before is a breach") func readiness() throws {
    var early = try Self.started()
    #expect(try Self.send(.ready, &early).contains(.violated(.outOfOrder(type: "ready", state: "starting"))) && early.state == .closed)
    var pending = try Self.started()
    _ = try Self.send(.settings(id: 1, TunnelSettings()), &pending)
    _ = try pending.settingsApplied(id: 1)
    _ = try Self.send(.settings(id: 2, TunnelSettings()), &pending)
    #expect(try Self.send(.ready, &pending).contains(.violated(.outOfOrder(type: "ready", state: "starting"))))
    var refused = try Self.started()
    _ = try Self.send(.settings(id: 1, TunnelSettings()), &refused)
    _ = try refused.refuse(id: 1, Refusal(code: "policy", text: ""))
    #expect(try Self.send(.ready, &refused).contains(.violated(.outOfOrder(type: "ready", state: "starting"))))
  }

  @Test("a start without an answer ends after a minute, without the time in which a person is asked") func startDeadline() throws {
    var session = try Self.started()
    #expect(session.nextDeadline == Self.zero + .seconds(60))
    _ = try Self.send(.ask(id: 1, Question(kind: .code, prompt: "Code")), &session, at: Self.zero + .seconds(50))
    #expect(session.nextDeadline == nil)
    let answer = try session.answer(id: 1, .answered, at: Self.zero + .seconds(500))
    guard case .send(_, attaching: .secret(id: 1)) = answer.first else {
      Issue.record("\(answer)")
      return
    }
    #expect(session.nextDeadline == Self.zero + .seconds(510))
    #expect(session.advance(to: Self.zero + .seconds(509)) == [])
    let end = session.advance(to: Self.zero + .seconds(510))
    guard case .runEnded(.failed(let failure)) = end.dropLast().last, end.last == .close else {
      Issue.record("\(end)")
      return
    }
    #expect(failure.code == "start-timeout" && failure.help == .time && session.nextDeadline == nil)
  }

  @Test("nobody is asked if the start says so, and the fifth question at once is a breach") func questions() throws {
    var session = try Self.started(mayAsk: false)
    let unasked = try Self.send(.ask(id: 1, Question(kind: .confirm, prompt: "Go on?")), &session)
    #expect(unasked == [.send(try AgentMessage.answer(id: 1, .unavailable).encoded(), attaching: nil)])
    var asking = try Self.started()
    for id in UInt32(1)...4 { _ = try Self.send(.ask(id: id, Question(kind: .confirm, prompt: "?")), &asking) }
    #expect(try Self.send(.ask(id: 5, Question(kind: .confirm, prompt: "?")), &asking).contains(.violated(.tooManyRequests)))
  }

  @Test("questions end with the run, and late answers are not sent") func withdrawn() throws {
    var session = try Self.started()
    _ = try Self.send(.ask(id: 1, Question(kind: .password, prompt: "?")), &session)
    _ = try Self.send(.openDevice(id: 2), &session)
    let stop = session.stop(.person, at: Self.zero)
    #expect(stop.first == .withdraw(id: 1) && stop.last == .stateChanged(.stopping))
    #expect(try session.answer(id: 1, .answered, at: Self.zero) == [] && session.deviceOpened(id: 2, interface: "a", mtu: 1400) == [])
    #expect(throws: ProviderSession.Unsendable.noSuchRequest(3)) { try session.answer(id: 3, .declined, at: Self.zero) }
    #expect(try Self.send(.stopped, &session) == [.stateChanged(.idle), .runEnded(.stopped(inTime: true))])
  }

  @Test("what crosses with `stop` is no breach; what comes after `stopped` is") func crossing() throws {
    for message in [
      ProviderMessage.ready, .reasserting(code: "a", text: ""), .openDevice(id: 9), .log(LogLine(level: .info, origin: "a", text: "")),
    ] {
      var session = try Self.started()
      _ = session.stop(.rule, at: Self.zero)
      #expect(!(try Self.send(message, &session)).contains { if case .violated = $0 { true } else { false } }, "\(message.type)")
      #expect(session.state == .stopping)
      #expect(try Self.send(.failed(TunnelFailure(code: "a", text: "", help: .time)), &session).last == .runEnded(.stopped(inTime: true)))
      #expect(try Self.send(.stopped, &session).contains(.violated(.outOfOrder(type: "stopped", state: "idle"))))
    }
  }

  @Test("a provider that does not stop is closed after 20 seconds, and one that says nothing after 10") func silence() throws {
    var session = try Self.connected()
    _ = session.stop(.person, at: Self.zero)
    #expect(
      session.advance(to: Self.zero + .seconds(20)) == [.stateChanged(.closed), .runEnded(.stopped(inTime: false)), .close])
    var mute = ProviderSession(tunnel: "corp", at: Self.zero)
    let failure = TunnelFailure(code: "protocol-error", text: "the provider of corp sent no `hello` within 10.0 seconds", help: .time)
    #expect(
      mute.advance(to: Self.zero + .seconds(10))
        == [.violated(.silence("`hello`")), .stateChanged(.closed), .neverGreeted(failure), .close])
    #expect(mute.receive([1, 2, 3], at: Self.zero) == [] && mute.channelClosed() == [])
  }

  @Test("the machine sleeps in time, whatever the provider does") func sleep() throws {
    var session = try Self.connected()
    #expect(session.sleep(at: Self.zero).count == 1)
    #expect(session.advance(to: Self.zero + .seconds(4)) == [.asleep(inTime: false)])
    #expect(try Self.send(.asleep, &session) == [])
    _ = session.sleep(at: Self.zero)
    #expect(try Self.send(.asleep, &session) == [.asleep(inTime: true)])
    #expect(try Self.send(.asleep, &session).contains(.violated(.outOfOrder(type: "asleep", state: "connected"))))
    var idle = try Self.greeted()
    #expect(idle.sleep(at: Self.zero) == [.asleep(inTime: true)])
  }

  @Test("a message reaches a provider that is idle; each has one reply, or a timeout; a late reply is ignored") func messages() throws {
    var session = try Self.greeted()
    let (id, actions) = try session.message(.typed("ping", .null), at: Self.zero)
    #expect(id == 1 && actions.count == 1)
    #expect(try Self.send(.reply(id: 1, .success(.bytes([1]))), &session) == [.replied(id: 1, .success(.bytes([1])))])
    _ = try session.message(.bytes([]), at: Self.zero)
    guard case .replied(id: 2, .failure(let refusal)) = session.advance(to: Self.zero + .seconds(5)).first else {
      Issue.record("no timeout")
      return
    }
    #expect(refusal.code == "timeout")
    #expect(try Self.send(.reply(id: 2, .success(nil)), &session) == [])
    #expect(try Self.send(.reply(id: 3, .success(nil)), &session).contains(.violated(.unknownIdentifier(3))))
    var early = ProviderSession(tunnel: "corp", at: Self.zero)
    #expect(throws: ProviderSession.Unsendable.state(.greeting)) { try early.message(.bytes([]), at: Self.zero) }
    #expect(throws: ProviderSession.Unsendable.state(.closed)) { try session.message(.bytes([]), at: Self.zero) }
  }

  @Test("identifiers grow; a descriptor, and a foreign version, are breaches") func breaches() throws {
    var session = try Self.started()
    _ = try Self.send(.openDevice(id: 5), &session)
    #expect(try Self.send(.resolve(id: 5, #require(DomainName("a.example"))), &session).contains(.violated(.identifierReused(5))))
    var passing = try Self.started()
    #expect(
      passing.receive(try ProviderMessage.ready.encoded(), hasDescriptor: true, at: Self.zero).contains(
        .violated(.unexpectedDescriptor("ready"))))
    var foreign = ProviderSession(tunnel: "corp", at: Self.zero)
    #expect(try Self.send(.hello(versions: 2...3, program: ""), &foreign).contains(.violated(.noCommonVersion(2...3))))
  }

  @Test("lines and events are limited to a rate, and the number of those dropped is told") func budget() throws {
    var session = try Self.started()
    let line = ProviderMessage.log(LogLine(level: .info, origin: "a", text: "\u{1b}[2J"))
    let passed = try (0..<1000).map { _ in try Self.send(line, &session).count }.reduce(0, +)
    #expect(passed == 200)
    let next = try Self.send(line, &session, at: Self.zero + .seconds(1))
    #expect(next == [.dropped(800), .log(LogLine(level: .info, origin: "a", text: "\\u{1b}[2J"))])
  }

  @Test("more lines and events in an hour than a log has room for end the provider; as many in each of many hours do not")
  func hour() throws {
    let line = ProviderMessage.log(LogLine(level: .info, origin: "a", text: "again"))
    var loud = try Self.started()
    for _ in 0..<ProtocolLimits.eventsInHour { _ = try Self.send(line, &loud) }
    #expect(try Self.send(line, &loud).contains(.violated(.tooManyEvents)))
    var steady = try Self.started()
    for number in 0..<(3 * ProtocolLimits.eventsInHour) {
      let now = Self.zero + .milliseconds(200 * Int64(number))
      #expect(try !Self.send(line, &steady, at: now).contains(.violated(.tooManyEvents)))
    }
  }

  @Test("the end of the process ends the run and all messages") func processEnd() throws {
    var session = try Self.connected()
    _ = try session.message(.bytes([]), at: Self.zero)
    let actions = session.channelClosed()
    guard case .runEnded(.failed(let failure)) = actions.dropLast().last, actions.last == .close else {
      Issue.record("\(actions)")
      return
    }
    #expect(failure.code == "provider-ended" && actions.contains { if case .replied(id: 1, .failure) = $0 { true } else { false } })
  }
}
