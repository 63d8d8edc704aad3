import Glibc
import JSON
import NetworkTypes
import ProviderProtocol
import SeededRandom
import Testing

/// Both sides with messages on their way between them, in random order; and arbitrary bytes.
@Suite struct ConversationFuzzTests {
  static let seeds: [UInt64] = [1, 2, 3, 20_261_123]
  /// Mutated messages of each seed.
  static let count = getenv("PROVIDER_FUZZ").flatMap { Int(String(cString: $0)) } ?? 3000

  /// The two sides, and what is under way.
  struct Conversation {
    var random: SplitMix64
    var now = Moment(nanoseconds: 1_000_000_000)
    var session: ProviderSession
    var endpoint = ProviderEndpoint()
    var toAgent: [[UInt8]] = []
    var toProvider: [(bytes: [UInt8], hasDescriptor: Bool)] = []
    var (starts, ends, asked, slept) = (0, 0, 0, 0)
    var (sent, replied) = (0, 0)
    var openRequests: [ProviderSession.Action] = []
    var openMessages: [UInt32] = []
    var unanswered = (sleeps: 0, stops: 0)

    init(seed: UInt64) throws {
      random = SplitMix64(seed: seed)
      session = ProviderSession(tunnel: "corp", at: now)
      toAgent = [try ProviderEndpoint.hello(program: "p")]
    }

    mutating func perform(_ actions: [ProviderSession.Action]) {
      for action in actions {
        switch action {
        case .send(let bytes, let attachment): toProvider.append((bytes, attachment != nil))
        case .runEnded: ends += 1
        case .asleep: slept += 1
        case .replied: replied += 1
        case .apply, .openDevice, .openXFRM, .openSocket, .resolve, .ask: openRequests.append(action)
        case .withdraw(let id):
          openRequests.removeAll { if case .ask(id, _) = $0 { true } else { false } }
        case .violated(let violation): Issue.record("the provider's side broke the protocol: \(violation)")
        default: break
        }
      }
    }

    mutating func deliver() throws {
      if !toAgent.isEmpty, toProvider.isEmpty || random.chance(0.5) {
        perform(session.receive(toAgent.removeFirst(), at: now))
      } else if !toProvider.isEmpty {
        let (bytes, hasDescriptor) = toProvider.removeFirst()
        switch try endpoint.receive(bytes, hasDescriptor: hasDescriptor) {
        case .sleep: unanswered.sleeps += 1
        case .stop: unanswered.stops += 1
        case .message(let id, _): openMessages.append(id)
        default: break
        }
      }
    }

    /// Something that the agent may want at any time.
    mutating func agentActs() throws {
      switch random.next() % 9 {
      case 0:
        if session.state == .idle {
          starts += 1
          perform(try session.start(StartRequest(mayAsk: random.chance(0.5)), credentials: ["a"], at: now))
        }
      case 1: if random.chance(0.3) { perform(session.stop(.rule, at: now)) }
      case 2:
        asked += 1
        perform(session.sleep(at: now))
        let wakes = random.chance(0.5)
        if wakes { perform(session.wake()) }
        // Two at once have one end in common: let the first end. A machine that is awake waits for none.
        perform(session.advance(to: now + .seconds(4)))
        if wakes { asked = slept }
        #expect(asked == slept)
      case 3: perform(try session.networkChanged(random.chance(0.5) ? Samples.path : nil))
      case 4:
        if session.state != .greeting, let (_, actions) = try? session.message(.bytes([7]), at: now) {
          sent += 1
          perform(actions)
        }
      case 5: perform(session.advance(to: now))
      default: if !openRequests.isEmpty { try answer(openRequests.remove(at: Int(random.next() % UInt64(openRequests.count)))) }
      }
    }

    mutating func answer(_ action: ProviderSession.Action) throws {
      let refusal = Refusal(code: "policy", text: "no")
      switch action {
      case .apply(let id, _): perform(try random.chance(0.8) ? session.settingsApplied(id: id) : session.refuse(id: id, refusal))
      case .openDevice(let id):
        perform(
          try random.chance(0.8) ? session.deviceOpened(id: id, interface: "a", mtu: 1400) : session.refuse(id: id, refusal))
      case .openXFRM(let id):
        let link = XFRMLink(interface: "a", identifier: 1, mark: 1, mask: 1)
        perform(try random.chance(0.8) ? session.xfrmOpened(id: id, link) : session.refuse(id: id, refusal))
      case .openSocket(let id, _, _): perform(try random.chance(0.8) ? session.socketOpened(id: id) : session.refuse(id: id, refusal))
      case .resolve(let id, _): perform(try session.resolved(id: id, [IPAddress(v4: 1)]))
      case .ask(let id, _): perform(try session.answer(id: id, random.pick(AnswerOutcome.allCases), at: now))
      default: break
      }
    }

    /// Something that a provider wants; what it must not do now is refused by its own side, and nothing is sent.
    mutating func providerActs() {
      let id = endpoint.nextRequest
      let messages: [ProviderMessage] = [
        .settings(id: id, TunnelSettings()), .ready, .ready, .ready, .reasserting(code: "a", text: ""), .openDevice(id: id),
        .openXFRM(id: id),
        .failed(TunnelFailure(code: "a", text: "", help: .time)), .stopped, .ask(id: id, Question(kind: .code, prompt: "")),
        .ask(id: id, Question(kind: .confirm, prompt: "")), .withdraw(id: max(1, id - 1)), .event(name: "a", data: 1),
        .keep([1]), .transport(text: "a"), .validity(Validity("a", until: 1)),
        .openSocket(id: id, .tcp, Endpoint(host: .address(IPAddress(v4: 1)), port: 1)),
        .reply(id: UInt32(random.next() % 9), .success(nil)),
        .settings(id: id, TunnelSettings()), .asleep,
      ]
      var message = random.pick(messages)
      if case .failed = message, random.chance(0.7) { message = .ready }
      if !openMessages.isEmpty, random.chance(0.3) { message = .reply(id: openMessages.removeFirst(), .success(nil)) }
      if unanswered.sleeps > 0 { message = .asleep }
      if unanswered.stops > 0, random.chance(0.3) { message = .stopped }
      guard let bytes = try? endpoint.send(message) else { return }
      if case .asleep = message { unanswered.sleeps -= 1 }
      if endpoint.state == .idle { unanswered.stops = 0 }
      toAgent.append(bytes)
    }
  }

  @Test("two sides that keep to the protocol never see a breach, whatever crosses; each start ends once", arguments: seeds)
  func crossing(seed: UInt64) throws {
    var talk = try Conversation(seed: seed)
    var connected = 0
    for step in 0..<10_000 {
      do {
        switch talk.random.next() % 4 {
        case 0: try talk.agentActs()
        case 1: talk.providerActs()
        default: try talk.deliver()
        }
      } catch {
        Issue.record("seed \(seed), step \(step): \(error)")
        return
      }
      if step % 50 == 0 { talk.now = talk.now + .milliseconds(10) }
      if talk.session.state == .connected { connected += 1 }
      #expect(talk.session.state != .closed, "seed \(seed), step \(step)")
      if talk.session.state == .closed { return }
      #expect(talk.ends == talk.starts - (talk.session.isRunning ? 1 : 0), "seed \(seed), step \(step)")
    }
    talk.perform(talk.session.channelClosed())
    #expect(talk.ends == talk.starts && talk.starts > 10 && connected > 50 && talk.asked == talk.slept, "seed \(seed)")
    #expect(talk.sent == talk.replied && talk.sent > 100, "seed \(seed)")
  }

  @Test("mutated messages give a message or an error, and never more than one end of a run", arguments: seeds)
  func mutations(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let provider = try Samples.provider.map { try $0.encoded() }
    let agent = try Samples.agent.map { try $0.encoded() }
    var read = 0
    for round in 0..<Self.count {
      let bytes = Self.mutated(random.pick(round % 2 == 0 ? provider : agent), among: provider + agent, &random)
      if let message = try? ProviderMessage(decoding: bytes) {
        read += 1
        // A message that was read can be written, and is the same when read again.
        #expect(try ProviderMessage(decoding: message.encoded()) == message, "seed \(seed), round \(round)")
      }
      if let message = try? AgentMessage(decoding: bytes) {
        read += 1
        #expect(try AgentMessage(decoding: message.encoded()) == message, "seed \(seed), round \(round)")
      }
      var session = try round % 3 == 0 ? ProviderSessionTests.started() : ProviderSessionTests.connected()
      let actions = session.receive(bytes, hasDescriptor: round % 17 == 0, at: ProviderSessionTests.zero) + session.channelClosed()
      let ends = actions.count { if case .runEnded = $0 { true } else { false } }
      #expect(ends == 1 && actions.last == .close, "seed \(seed), round \(round)")
      var endpoint = ProviderEndpoint()
      _ = try? endpoint.receive(agent[0])
      _ = try? endpoint.receive(bytes, hasDescriptor: round % 2 == 0)
    }
    #expect(read > Self.count / 20, "seed \(seed)")
  }

  /// One to four changes: a byte, a cut, a piece of another message, a number.
  static func mutated(_ bytes: [UInt8], among others: [[UInt8]], _ random: inout SplitMix64) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<(1 + random.next() % 4) {
      let place = Int(random.next() % UInt64(bytes.count + 1))
      switch random.next() % 6 {
      case 0: if place < bytes.count { bytes[place] = UInt8(truncatingIfNeeded: random.next()) }
      case 1: bytes.removeSubrange(place..<min(bytes.count, place + Int(random.next() % 8)))
      case 2:
        let other = random.pick(others)
        let start = Int(random.next() % UInt64(other.count))
        bytes.insert(contentsOf: other[start..<min(other.count, start + 24)], at: place)
      case 3: bytes.insert(contentsOf: Array("\(Int64(bitPattern: random.next()))".utf8), at: place)
      case 4:
        bytes.insert(
          contentsOf: random.pick([Array("null".utf8), Array("[]".utf8), Array("{}".utf8), [0xff], [0xc0, 0x80], [0]]), at: place)
      default: if let digit = bytes.firstIndex(where: { (48...57).contains($0) }) { bytes[digit] = 48 + UInt8(random.next() % 10) }
      }
    }
    return bytes
  }
}
