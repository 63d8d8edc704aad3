import GatewayCore
import GatewayLogin
import LoginProtocol
import NetworkTypes
import SeededRandom
import Testing

@Suite struct ConversationTests {
  private let right = ClientMessage.password(user: "Alice", password: Array("secret".utf8))

  @Test("a password, a code, a new password and a banner bind a key once") func complete() throws {
    var talk = try Talk()
    #expect(talk.say(.hello(hello)) == [.send(.welcome(version: 1, methods: [.password, .token]))])
    let alice = GatewayName("alice")
    #expect(talk.say(right) == [.checkPassword(name: alice, password: Array("secret".utf8))])
    #expect(talk.conversation.deadline == nil)
    let account = LoginAccount(user: 4, questions: [.code, .newPassword, .banner("Be good.")])
    #expect(talk.answer(.account(account)) == [])
    #expect(question(try talk.wait()) == .code)
    #expect(talk.say(.answer(.code, Array("123456".utf8))) == [.checkCode(user: 4, code: Array("123456".utf8))])
    #expect(talk.answer(.accepted) == [])
    #expect(question(try talk.wait()) == .newPassword)
    #expect(talk.say(.answer(.newPassword, [1])) == [.setPassword(user: 4, password: [1])])
    #expect(talk.answer(.unsuitable("too short")) == [.send(.more(.newPassword, text: "too short"))])
    #expect(talk.say(.answer(.newPassword, [2])) == [.setPassword(user: 4, password: [2])])
    #expect(talk.answer(.accepted) == [.send(.more(.banner, text: "Be good."))])
    let rest = LoginAccount(user: 4)
    #expect(talk.say(.answer(.banner, [])) == [.bind(rest, hello, factors: [.password, .code])])
    #expect(talk.answer(.bound(grant)) == [.send(.done(grant)), .close])
    #expect(talk.conversation.isClosed && talk.limits.count == 0)
  }

  /// The question to the client, if the effects are this one alone; `nil` otherwise.
  private func question(_ effects: [LoginEffect]) -> LoginMethod? {
    if effects.count == 1, case .send(.more(let method, _)) = effects[0] { method } else { nil }
  }

  @Test("a token needs no name") func token() throws {
    var talk = try Talk()
    _ = talk.say(.hello(hello))
    #expect(talk.say(.token([1, 2])) == [.checkToken([1, 2])])
    let account = LoginAccount(user: 4, token: 9)
    #expect(talk.answer(.account(account)) == [.bind(account, hello, factors: [.token])])
    #expect(talk.answer(.unbound) == [.send(.failed(.device, retryAfter: 0)), .close])
    talk = try Talk()
    _ = talk.say(.hello(hello))
    _ = talk.say(.token([7]))
    _ = talk.answer(.account(account))
    // The gateway has noted it.
    #expect(talk.answer(.refused(.deviceLimit)) == [.send(.failed(.deviceLimit, retryAfter: 0)), .close])
  }

  @Test(
    "a wrong password, an unknown name, a locked user and one without a password look the same", arguments: [0.001, 0.1, 0.249, 0.26, 1.3])
  func same(duration: Double) throws {
    var seen: Set<[LoginEffect]> = []
    var times: Set<Moment> = []
    for refusal in [LoginRefusal.unknownName, .wrongPassword, .lockedUser, .noPassword] {
      var talk = try Talk()
      _ = talk.say(.hello(hello))
      _ = talk.say(right)
      talk.now = .seconds(1000 + duration + Double(refusal.rawValue) / 10_000)
      #expect(talk.answer(.refused(refusal)) == [.record(refusal, name: "Alice")])
      seen.insert(try talk.wait())
      times.insert(talk.now)
    }
    #expect(seen == [[.send(.failed(.wrong, retryAfter: 0)), .close]])
    // On the same multiple of the interval.
    #expect(times.count == 1)
    let behind = (try #require(times.first) - .seconds(1000)) / .milliseconds(250)
    #expect(behind == behind.rounded() && behind >= 1)
  }

  @Test("after five wrong attempts a name pauses, for known and unknown names alike") func pause() throws {
    for refusal in [LoginRefusal.unknownName, .wrongPassword] {
      var limits = LoginLimits()
      var answers: [[LoginEffect]] = []
      for _ in 0..<7 {
        var talk = try Talk(limits)
        _ = talk.say(.hello(hello))
        if !talk.say(right).isEmpty { _ = talk.answer(.refused(refusal)) }
        answers.append(try talk.wait())
        limits = talk.limits
      }
      #expect(answers.prefix(5).allSatisfy { $0 == [.send(.failed(.wrong, retryAfter: 0)), .close] })
      #expect(answers.suffix(2).allSatisfy { $0 == [.send(.failed(.later, retryAfter: 2)), .close] })
      // Somebody else's place is not paused.
      let elsewhere = limits.begin("alice", from: try address("198.51.100.9"), at: .seconds(1000))
      #expect(elsewhere == nil)
    }
  }

  @Test("versions, methods, order and patience") func refusals() throws {
    var talk = try Talk()
    let later = LoginHello(versions: 2...9, device: "d", publicKey: key)
    #expect(talk.say(.hello(later)) == [.send(.failed(.version, retryAfter: 0)), .close])
    talk = try Talk()
    let odd = LoginHello(methods: [.code], device: "d", publicKey: key)
    #expect(talk.say(.hello(odd)) == [.send(.failed(.unsupported, retryAfter: 0)), .close])
    talk = try Talk()
    #expect(talk.say(right) == [.send(.failed(.format, retryAfter: 0)), .close])
    talk = try Talk()
    #expect(try talk.wait() == [.send(.failed(.timeout, retryAfter: 0)), .close])
    #expect(talk.now == .seconds(1005))
    talk = try Talk()
    talk.conversation.hear()
    #expect(try talk.wait() == [.send(.failed(.timeout, retryAfter: 0)), .close] && talk.now == .seconds(1020))
    talk = try Talk()
    _ = talk.say(.hello(LoginHello(methods: [.password], device: "d", publicKey: key)))
    _ = talk.say(right)
    #expect(talk.answer(.account(LoginAccount(user: 1, questions: [.code]))) == [])
    #expect(try talk.wait() == [.send(.failed(.unsupported, retryAfter: 0)), .close])
    talk = try Talk()
    _ = talk.say(.hello(hello))
    _ = talk.say(right)
    #expect(talk.answer(.unavailable) == [.send(.failed(.unavailable, retryAfter: 15)), .close])
    #expect(talk.limits.count == 0)
  }

  @Test("a sign-in at an OpenID provider: a page, then silence of the client, then what the gateway has learned") func openID() throws {
    var talk = try Talk(offers: [.password, .token, .openID])
    #expect(talk.say(.hello(hello)) == [.send(.welcome(version: 1, methods: [.password, .token, .openID]))])
    #expect(talk.say(.begin(.openID)) == [.signIn])
    #expect(talk.conversation.deadline == .seconds(1030))
    #expect(talk.answer(.visit(page)) == [.send(.visit(page))])
    // The code's 300 seconds, and what the provider may need.
    #expect(talk.conversation.deadline == .seconds(1330))
    let account = LoginAccount(user: 4)
    #expect(talk.answer(.account(account)) == [.bind(account, hello, factors: [.openID])])
    #expect(talk.limits.count == 0)
    // A code of an authenticator is asked where the gateway wants one.
    talk = try Talk(offers: [.openID])
    _ = talk.say(.hello(hello))
    _ = talk.say(.begin(.openID))
    _ = talk.answer(.visit(page))
    #expect(talk.answer(.account(LoginAccount(user: 4, questions: [.code]))) == [])
    #expect(question(try talk.wait()) == .code)
    #expect(talk.say(.answer(.code, [1])) == [.checkCode(user: 4, code: [1])])
  }

  @Test("a service that checks the password may ask more; the answers go to it") func prompts() throws {
    var talk = try Talk()
    _ = talk.say(.hello(hello))
    _ = talk.say(right)
    #expect(talk.answer(.prompt(text: "Token?", echo: false)) == [])
    #expect(try talk.wait() == [.send(.prompt(text: "Token?", echo: false))])
    #expect(talk.conversation.deadline == talk.now + LoginConversation.patience)
    #expect(talk.say(.answer(.prompt, [49])) == [.answerPrompt([49])])
    #expect(talk.conversation.deadline == nil)
    #expect(talk.answer(.prompt(text: "Another?", echo: true)) == [])
    _ = try talk.wait()
    #expect(talk.say(.answer(.prompt, [50])) == [.answerPrompt([50])])
    let account = LoginAccount(user: 4)
    #expect(talk.answer(.account(account)) == [.bind(account, hello, factors: [.password, .prompt])])
    #expect(talk.limits.count == 0)
    // A message before a question, or to another one, is no answer.
    for method in LoginMethod.allCases {
      var talk = try Talk()
      _ = talk.say(.hello(hello))
      #expect(talk.say(.answer(method, [])) == [.send(.failed(.format, retryAfter: 0)), .close])
      talk = try Talk()
      _ = talk.say(.hello(hello))
      _ = talk.say(right)
      _ = talk.answer(.prompt(text: "", echo: false))
      _ = try talk.wait()
      if method != .prompt { #expect(talk.say(.answer(method, [])) == [.send(.failed(.format, retryAfter: 0)), .close]) }
    }
    // Clients that cannot ask are told so; a person who does not answer has tried.
    talk = try Talk()
    _ = talk.say(.hello(LoginHello(methods: [.password], device: "d", publicKey: key)))
    _ = talk.say(right)
    _ = talk.answer(.prompt(text: "Token?", echo: false))
    #expect(try talk.wait() == [.send(.failed(.unsupported, retryAfter: 0)), .close])
    talk = try Talk()
    _ = talk.say(.hello(hello))
    _ = talk.say(right)
    _ = talk.answer(.prompt(text: "Token?", echo: false))
    _ = try talk.wait()
    #expect(try talk.wait() == [.send(.failed(.timeout, retryAfter: 0)), .close])
    #expect(talk.limits.count > 0)
  }

  @Test("where a service checks passwords, all refused ones take as long, and right ones do not") func slow() throws {
    var times: Set<Moment> = []
    // Of a service that says no after a second.
    for (refusal, seconds) in [(LoginRefusal.wrongPassword, 0.07), (.unknownName, 1.02), (.expiredAccount, 2.9), (.lockedUser, 0.3)] {
      var talk = try Talk(isSlow: true)
      _ = talk.say(.hello(hello))
      _ = talk.say(right)
      talk.conversation.passOn()
      talk.now = .seconds(1000 + seconds)
      #expect(talk.answer(.refused(refusal)) == [.record(refusal, name: "Alice")])
      #expect(try talk.wait() == [.send(.failed(.wrong, retryAfter: 0)), .close])
      times.insert(talk.now)
    }
    #expect(times == [.seconds(1003)])
    var talk = try Talk(isSlow: true)
    _ = talk.say(.hello(hello))
    _ = talk.say(right)
    #expect(talk.answer(.account(LoginAccount(user: 4, questions: [.code]))) == [])
    #expect(talk.conversation.deadline == .seconds(1000.25))
  }

  @Test("refusals of a sign-in are the same, and nothing but a sign-in that is offered begins one") func openIDRefusals() throws {
    func begun() throws -> Talk {
      var talk = try Talk(offers: [.openID])
      _ = talk.say(.hello(hello))
      _ = talk.say(.begin(.openID))
      return talk
    }
    var seen: Set<[LoginEffect]> = []
    for refusal in LoginRefusal.allCases {
      var talk = try begun()
      _ = talk.answer(.visit(page))
      #expect(talk.answer(.refused(refusal)) == [])
      #expect(talk.conversation.deadline == talk.now + LoginConversation.answerInterval)
      seen.insert(try talk.wait())
      #expect(talk.limits.count == 1)
    }
    #expect(seen == [[.send(.failed(.wrong, retryAfter: 0)), .close]])
    var talk = try begun()
    _ = talk.answer(.visit(page))
    #expect(talk.answer(.expired) == [.send(.failed(.timeout, retryAfter: 0)), .close])
    talk = try begun()
    #expect(talk.answer(.unavailable) == [.send(.failed(.unavailable, retryAfter: 15)), .close] && talk.limits.count == 0)
    talk = try begun()
    #expect(talk.answer(.busy) == [.send(.failed(.later, retryAfter: 5)), .close] && talk.limits.count == 0)
    // An account without a page, a client that talks meanwhile, another method, and one that is not offered.
    talk = try begun()
    #expect(talk.answer(.account(LoginAccount(user: 4))) == [])
    #expect(talk.say(.begin(.openID)) == [.send(.failed(.format, retryAfter: 0)), .close])
    talk = try Talk(offers: [.openID])
    _ = talk.say(.hello(hello))
    #expect(talk.say(.begin(.password)) == [.send(.failed(.format, retryAfter: 0)), .close])
    talk = try Talk()
    _ = talk.say(.hello(hello))
    #expect(talk.say(.begin(.openID)) == [.send(.failed(.format, retryAfter: 0)), .close])
  }

  /// The results of a life of the table.
  private struct Life {
    var bound = 0
    var refused = 0
  }

  @Test("lives: only a client that proved everything is bound; bounds hold; every connection ends", arguments: 1...200)
  func lives(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var table = LoginTable()
    table.offers = [.password, .token, .openID]
    table.isSlow = seed.isMultiple(of: 2)
    var now = Moment.seconds(1000)
    var asked: [UInt32: LoginEffect] = [:]
    var proven: [UInt32: Set<LoginMethod>] = [:]
    var wanted: [UInt32: [LoginAccount.Question]] = [:]
    var life = Life()
    // Their passwords were refused.
    var lost: Set<UInt32> = []
    func record(_ number: UInt32, _ effects: [LoginEffect]) {
      for effect in effects {
        switch effect {
        case .checkDecoy:
          asked[number] = effect
          lost.insert(number)
        case .checkPassword, .answerPrompt, .checkToken, .checkCode, .setPassword, .signIn: asked[number] = effect
        case .bind(let account, _, let factors):
          asked[number] = effect
          #expect(!lost.contains(number), "seed \(seed)")
          #expect(account.questions.isEmpty && !factors.isEmpty)
          #expect(Set(wanted[number, default: []].map(\.method)).isSubset(of: proven[number, default: []]), "seed \(seed)")
        case .send(.done): life.bound += 1
        case .send(.failed): life.refused += 1
        case .send, .record, .close, .relay: break
        }
      }
    }
    for number in 0..<UInt32(60) {
      let from = try address("192.0.2.\(random.next() % 12)")
      table.open(number, from: from, at: now)
      record(number, table.receive(ClientMessage.hello(hello).frame.bytes, from: number, at: now))
      for _ in 0..<(4 + random.next() % 12) {
        if random.chance(0.3) { now = now + .milliseconds(Int64(random.next() % 400)) }
        for (number, effects) in table.expire(at: now) { record(number, effects) }
        if let effect = asked.removeValue(forKey: number) {
          if case .checkPassword = effect, table.isSlow, random.chance(0.5) { table.passOn(number) }
          let reply = answer(effect, number, &random, &proven, &wanted)
          // The provider's second answer is still to come.
          if case .visit = reply { asked[number] = effect }
          record(number, table.receive(reply, for: number, at: now))
        } else {
          let messages: [ClientMessage] = [
            .password(user: random.pick(["alice", "bob", "no one"]), password: [1]), .token([2]), .begin(.openID),
            .answer(random.pick(LoginMethod.allCases), [3]),
          ]
          var bytes = random.pick(messages).frame.bytes
          if random.chance(0.02) { bytes[Int(random.next() % UInt64(bytes.count))] ^= 0x41 }
          // A client that waits for its question says what is asked.
          let next = wanted[number]?.first { !proven[number, default: []].contains($0.method) }
          if let next, random.chance(0.8) { bytes = ClientMessage.answer(next.method, [3]).frame.bytes }
          if bytes == ClientMessage.answer(.banner, [3]).frame.bytes { proven[number, default: []].insert(.banner) }
          record(number, table.receive(bytes, from: number, at: now))
        }
        #expect(table.count <= LoginTable.capacity)
      }
    }
    for (number, _) in asked where table.isOpen(number) { record(number, table.receive(.unavailable, for: number, at: now)) }
    for _ in 0..<10 {
      now = now + LoginConversation.patience
      for (number, effects) in table.expire(at: now) { record(number, effects) }
    }
    #expect(table.count == 0, "seed \(seed)")
    #expect(life.refused > 0)
  }

  private func answer(
    _ effect: LoginEffect, _ number: UInt32, _ random: inout SplitMix64, _ proven: inout [UInt32: Set<LoginMethod>],
    _ wanted: inout [UInt32: [LoginAccount.Question]]
  ) -> LoginAnswer {
    if random.chance(0.05) { return random.chance(0.5) ? .unavailable : .busy }
    switch effect {
    case .signIn where random.chance(0.3): return .visit(page)
    case .signIn where random.chance(0.2): return .link(name: "alice")
    case .checkDecoy where random.chance(0.3), .checkPassword where random.chance(0.2), .answerPrompt where random.chance(0.3):
      return .prompt(text: "Code?", echo: false)
    case .checkPassword, .checkDecoy, .answerPrompt, .checkToken, .signIn:
      if random.chance(0.4) { return .refused(random.pick(LoginRefusal.allCases)) }
      let questions = [LoginAccount.Question.code, .newPassword, .banner("b")].filter { _ in random.chance(0.4) }
      wanted[number] = questions
      return .account(LoginAccount(user: 1, questions: questions))
    case .checkCode:
      if random.chance(0.3) { return .refused(.wrongCode) }
      proven[number, default: []].insert(.code)
      return .accepted
    case .setPassword:
      if random.chance(0.3) { return .unsuitable("no") }
      proven[number, default: []].insert(.newPassword)
      return .accepted
    case .bind: return random.chance(0.9) ? .bound(grant) : .unbound
    case .send, .record, .close, .relay: return .busy
    }
  }

  @Test("one place has a bounded number of connections, and the oldest goes") func places() throws {
    var table = LoginTable()
    let from = try address("2001:db8::1")
    for number in 0..<UInt32(LoginTable.capacityOfPlace) { table.open(number, from: from, at: .seconds(1)) }
    #expect(table.takeGone() == [] && table.count == LoginTable.capacityOfPlace)
    table.open(99, from: try address("2001:db8::ffff:1"), at: .seconds(1))
    #expect(table.takeGone() == [0])
    table.open(100, from: try address("2001:db8:0:1::1"), at: .seconds(1))
    #expect(table.takeGone() == [] && table.isOpen(99) && table.isOpen(100))
  }
}

@Suite struct LimitTests {
  @Test("pauses double, and end") func doubling() throws {
    var limits = LoginLimits()
    let from = try address("192.0.2.1")
    var now = Moment.seconds(1000)
    var pauses: [UInt16] = []
    for _ in 0..<18 {
      while let wait = limits.begin("a", from: from, at: now) {
        pauses.append(wait)
        now = now + .seconds(Int64(wait))
      }
    }
    #expect(pauses.prefix(4) == [2, 3, 5, 9])
    #expect(pauses.max() == 901)
    now = now + LoginLimits.memory + .seconds(901)
    let later = [limits.begin("a", from: from, at: now), limits.begin("a", from: from, at: now)]
    #expect(later == [nil, nil])
  }

  @Test("attempts at the same time are no way around") func concurrent() throws {
    var limits = LoginLimits()
    let from = try address("192.0.2.1")
    var begun = 0
    for _ in 0..<20 where limits.begin("a", from: from, at: .seconds(1)) == nil { begun += 1 }
    #expect(begun == 5)
  }

  @Test("a stranger cannot keep a person out for long") func denial() throws {
    var limits = LoginLimits()
    for i in 0..<2000 { _ = limits.begin("alice", from: try address("10.0.\(i / 250).\(i % 250)"), at: .seconds(1000)) }
    let wait = limits.begin("alice", from: try address("192.0.2.1"), at: .seconds(1000)) ?? 0
    #expect(wait <= 31)
  }

  @Test("memory is bounded, and a name under attack is not forgotten by it") func bounded() throws {
    var limits = LoginLimits()
    let from = try address("192.0.2.1")
    for _ in 0..<5 { _ = limits.begin("alice", from: from, at: .seconds(1000)) }
    for i in 0..<6000 { _ = limits.begin("n\(i)", from: IPAddress(v4: UInt32(0x0a00_0000 + i)), at: .seconds(1000)) }
    #expect(limits.count <= LoginLimits.capacity)
    let wait = limits.begin("alice", from: from, at: .seconds(1000))
    #expect(wait != nil)
  }
}
