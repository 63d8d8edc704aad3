import GatewayCore
import GatewayLogin
import Lives
import LoginProtocol
import NetworkTypes
import SeededRandom
import TestKit
import Testing

/// The proofs of conversations, with a gateway around them in virtual time.
private struct Gateway {
  var proofs = LoginProofs()
  var view: LoginView
  let source: IPAddress

  static let token = [UInt8](repeating: 5, count: 32)

  /// `alice` has a password, `carol` a code too, and `bob` has nothing; a token is alice's.
  init() throws {
    var work = Administration(Directory(), lastID: 0, actor: "root", now: 1_000_000)
    for user in ["alice", "bob", "carol", "dave"] { try work.addUser(try name(user)) }
    for user in ["alice", "carol", "dave"] { try work.setPassword("hash of \(user)", of: try name(user), mustChange: false) }
    try work.setCodeSecret([1, 2, 3], of: try name("carol"))
    try work.addToken(Self.token, for: try name("alice"), uses: 5, until: work.now + 1000)
    try work.setLocked(true, try name("dave"))
    view = LoginView(work.directory, now: work.now, moment: .seconds(1000))
    source = try address("192.0.2.7")
  }

  func user(_ text: String) throws -> Int64 {
    let user = view.directory.user(named: try name(text))
    return try #require(user).id
  }

  mutating func ask(_ request: AuthRequest) -> [LoginProofEffect] { proofs.receive(request, view) }

  mutating func ask(for text: String, _ number: UInt32) throws -> [LoginProofEffect] {
    ask(.credential(number: number, name: try name(text)))
  }

  mutating func bind(_ number: UInt32) throws -> [LoginProofEffect] {
    ask(.bind(number: number, device: try name("laptop"), publicKey: key, factors: [.password], source: source))
  }

  mutating func finish(_ answer: LoginAnswer, _ number: UInt32) -> [LoginProofEffect] { proofs.finish(answer, number, at: view.moment) }

  /// Begins a sign-in.
  mutating func signIn(_ number: UInt32) throws -> LifeToken {
    view.openID = view.openID ?? OpenIDSettings(issuer: "https://login.example.com", clientID: "roamward")
    guard case .signIn(let attempt, _, number)? = ask(.signIn(number: number, source: source)).first else {
      throw GatewayError("no sign-in has begun")
    }
    return attempt
  }

  mutating func report(_ report: OpenIDReport, _ attempt: LifeToken, _ number: UInt32) -> [LoginProofEffect] {
    proofs.receive(report, of: attempt, number, view)
  }

  mutating func report(_ report: PAMReport, _ attempt: LifeToken, _ number: UInt32) -> [LoginProofEffect] {
    proofs.receive(report, of: attempt, number, view)
  }

  /// Begins a check of bob's password by PAM.
  mutating func check(_ number: UInt32) throws -> LifeToken {
    view.pam = view.pam ?? PAMSettings(service: "roamward")
    #expect(try ask(for: "bob", number) == [.send(.remote(number: number))])
    guard
      case .check(let attempt, _, number, GatewayName("bob"), [112], source)? =
        ask(.password(number: number, password: [112], source: source)).first
    else { throw GatewayError("no check has begun") }
    return attempt
  }
}

private func name(_ text: String) throws -> GatewayName { try #require(GatewayName(text)) }

private func answered(_ number: UInt32, _ answer: LoginAnswer) -> LoginProofEffect { .send(.answer(number: number, answer)) }

@Suite("The proofs of conversations at the gateway") struct LoginProofTests {
  @Test("a device is bound once, for the user whose credential was read, and behind the code") func order() throws {
    var gateway = try Gateway()
    #expect(try gateway.bind(1) == [answered(1, .unbound)])
    #expect(gateway.ask(.code(number: 1, code: [1])) == [answered(1, .refused(.wrongCode))])
    #expect(gateway.ask(.setPassword(number: 1, hash: "h")) == [answered(1, .unavailable)])
    let account = LoginAccount(user: try gateway.user("alice"))
    #expect(
      try gateway.ask(for: "alice", 1) == [.send(.credential(number: 1, hash: "hash of alice", account: account, refusal: nil))])
    // One name a conversation; and a conversation proves nothing of another one.
    #expect(try gateway.ask(for: "carol", 1) == [answered(1, .unavailable)])
    #expect(try gateway.bind(2) == [answered(2, .unbound)])
    gateway.view.moment = .seconds(1001.5)
    guard case .bind(conversation: 1, let binding)? = try gateway.bind(1).first else {
      Issue.record("nothing is bound")
      return
    }
    #expect(binding.account == account && binding.userName == "alice" && binding.person == nil)
    #expect(gateway.finish(.bound(grant), 1) == [answered(1, .bound(grant)), .count([.password], milliseconds: 1500)])
    #expect(try gateway.bind(1) == [answered(1, .unbound)])
    #expect(gateway.ask(.ended(number: 1)) == [] && gateway.proofs.count == 0)

    _ = try gateway.ask(for: "carol", 3)
    var early = gateway
    #expect(try early.bind(3) == [answered(3, .unbound)] && early.ask(.code(number: 3, code: [1])) == [answered(3, .refused(.wrongCode))])
    #expect(gateway.ask(.code(number: 3, code: [1])) == [.checkCode(conversation: 3, user: try gateway.user("carol"), [1])])
    #expect(gateway.finish(.accepted, 3) == [answered(3, .accepted)])
    guard case .bind(conversation: 3, _)? = try gateway.bind(3).first else {
      Issue.record("nothing is bound")
      return
    }
    #expect(
      gateway.finish(.refused(.deviceLimit), 3)
        == [answered(3, .refused(.deviceLimit)), .record(.deviceLimit, name: "carol", source: gateway.source, detail: "")])
  }

  @Test("names that cannot log in prove nothing; without the store, nobody does") func refused() throws {
    var gateway = try Gateway()
    for (name, refusal) in [("dave", LoginRefusal.lockedUser), ("bob", .noPassword), ("nobody", .unknownName)] {
      guard case .send(.credential(7, let hash, _, refusal))? = try gateway.ask(for: name, 7).first else {
        Issue.record("\(name) is not refused")
        continue
      }
      #expect(try hash == (name == "dave" ? "hash of dave" : "") && gateway.bind(7) == [answered(7, .unbound)])
    }
    #expect(gateway.ask(.token(number: 8, hash: [UInt8](repeating: 6, count: 32))) == [answered(8, .refused(.wrongToken))])
    let (alice, token) = (try gateway.user("alice"), gateway.view.directory.token(withHash: Gateway.token)?.id)
    #expect(gateway.ask(.token(number: 8, hash: Gateway.token)) == [answered(8, .account(LoginAccount(user: alice, token: token)))])
    gateway.view.isAway = true
    #expect(try gateway.ask(for: "alice", 9) == [answered(9, .unavailable)])
    #expect(gateway.ask(.token(number: 9, hash: Gateway.token)) == [answered(9, .unavailable)])
  }

  @Test("a sign-in enters a linked person; another one is linked by a proof, or noted at the end") func signIns() throws {
    var gateway = try Gateway()
    let attempt = try gateway.signIn(1)
    #expect(gateway.report(.page(number: 1, page), attempt, 1) == [answered(1, .visit(page))])
    let identity = OpenIDReport.identity(number: 1, OpenIDIdentity(subject: "7", name: "alice"))
    #expect(gateway.report(identity, attempt, 1) == [answered(1, .link(name: "alice"))])
    // A report that comes twice, a name that is not the person's, and a second sign-in.
    #expect(gateway.report(identity, attempt, 1) == [])
    #expect(try gateway.ask(for: "carol", 1) == [answered(1, .unavailable)])
    #expect(gateway.ask(.signIn(number: 1, source: gateway.source)) == [answered(1, .unavailable)])
    var failed = gateway
    guard case .record(.notLinked, "alice", _, let detail)? = failed.ask(.ended(number: 1)).first else {
      Issue.record("the sign-in is not noted")
      return
    }
    #expect(detail.contains("https://login.example.com 7"))
    _ = try gateway.ask(for: "alice", 1)
    guard case .bind(_, let binding)? = try gateway.bind(1).first else {
      Issue.record("nothing is bound")
      return
    }
    #expect(binding.person?.subject == "https://login.example.com 7")
    #expect(gateway.finish(.bound(grant), 1).count == 2 && gateway.ask(.ended(number: 1)) == [])

    gateway.view.openID?.createsUsers = true
    let second = try gateway.signIn(2)
    let new = gateway.report(.identity(number: 2, OpenIDIdentity(subject: "8", name: "erin")), second, 2)
    guard case .enter(conversation: 2, let person, creating: true, banner: [])? = new.first else {
      Issue.record("\(new)")
      return
    }
    #expect(person.name == GatewayName("erin"))
    #expect(try gateway.bind(2) == [answered(2, .unbound)])
    let account = LoginAccount(user: 99, questions: [.code])
    #expect(gateway.finish(.account(account), 2) == [answered(2, .account(account))])
    #expect(try gateway.bind(2) == [answered(2, .unbound)])
  }

  @Test("a service checks the passwords that the gateway has not; its yes for the decoy is a no") func checks() throws {
    var gateway = try Gateway()
    let attempt = try gateway.check(1)
    #expect(gateway.report(.prompt(text: "Code?", echo: true), attempt, 1) == [answered(1, .prompt(text: "Code?", echo: true))])
    #expect(gateway.ask(.promptAnswer(number: 1, value: [9])) == [.answerPrompt(attempt, [9])])
    gateway.view.pam?.createsUsers = true
    var other = gateway
    // The name has a user, who is not linked to it.
    #expect(other.report(.accepted(notes: ""), attempt, 1) == [answered(1, .refused(.notLinked))])
    #expect(other.ask(.promptAnswer(number: 1, value: [9])) == [answered(1, .unavailable)])
    #expect(gateway.ask(.ended(number: 1)) == [.cancelCheck(attempt)] && gateway.report(.refused(.wrongPassword), attempt, 1) == [])

    _ = try gateway.ask(for: "alice", 2)
    guard case .check(let decoy, _, 2, nil, [], _)? = gateway.ask(.decoy(number: 2, source: gateway.source)).first else {
      Issue.record("no check has begun")
      return
    }
    #expect(try gateway.bind(2) == [answered(2, .unbound)])
    #expect(gateway.report(.accepted(notes: ""), decoy, 2) == [answered(2, .refused(.wrongPassword))])
    #expect(try gateway.bind(2) == [answered(2, .unbound)])
  }

  /// The acts of a random process and of random services, as an observer sees them.
  private struct Observer {
    /// The attempts under way, with the number of their conversation.
    var attempts: [LifeToken: UInt32] = [:]
    /// Each that was ever made, in their order.
    var seen: [LifeToken] = []
    /// The accounts that a conversation has been answered with since it began.
    var accounts: [UInt32: LoginAccount] = [:]
    var codes: Set<UInt32> = []

    mutating func see(_ effect: LoginProofEffect) {
      switch effect {
      case .signIn(let attempt, _, let number), .check(let attempt, _, let number, _, _, _):
        #expect(!seen.contains(attempt) && !attempts.values.contains(number), "one attempt at a time, each a new one")
        seen.append(attempt)
        attempts[attempt] = number
        accounts[number] = nil
      case .cancelSignIn(let attempt), .cancelCheck(let attempt):
        #expect(attempts.removeValue(forKey: attempt) != nil, "only what is under way is cancelled")
      case .answerPrompt(let attempt, _): #expect(attempts[attempt] != nil)
      case .send(.credential(let number, _, let account?, nil)), .send(.answer(let number, .account(let account))):
        accounts[number] = account
        codes.remove(number)
      case .send(.answer(let number, .accepted)): codes.insert(number)
      case .bind(let number, let binding):
        #expect(accounts[number] == binding.account, "only for the account of this conversation")
        #expect(codes.contains(number) || !binding.account.questions.contains(.code), "only behind the code")
        accounts[number] = nil
      default: break
      }
    }
  }

  @Test("in any order of requests, reports and results, each attempt ends once and nothing is bound without its proofs", arguments: 1...60)
  func anyOrder(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var gateway = try Gateway()
    var observer = Observer()
    gateway.view.openID = OpenIDSettings(issuer: "https://login.example.com", clientID: "roamward")
    gateway.view.openID?.createsUsers = random.chance(0.5)
    if random.chance(0.7) { gateway.view.pam = PAMSettings(service: "roamward") }
    let names = ["alice", "bob", "carol", "dave", "nobody"]
    for _ in 0..<400 {
      gateway.view.moment = gateway.view.moment + .milliseconds(Int64(random.next() % 1000))
      let number = UInt32(1 + random.next() % 4)
      let name = random.pick(names)
      var effects: [LoginProofEffect] = []
      switch random.next() % 14 {
      case 0, 1: effects = try gateway.ask(for: name, number)
      case 2: effects = gateway.ask(.token(number: number, hash: random.chance(0.7) ? Gateway.token : key))
      case 3: effects = gateway.ask(.code(number: number, code: [1]))
      case 4: effects = gateway.ask(.setPassword(number: number, hash: "new"))
      case 5, 6: effects = try gateway.bind(number)
      case 7: effects = gateway.ask(.signIn(number: number, source: gateway.source))
      case 8: effects = gateway.ask(.password(number: number, password: [112], source: gateway.source))
      case 9: effects = gateway.ask(.decoy(number: number, source: gateway.source))
      case 10: effects = gateway.ask(.promptAnswer(number: number, value: [1]))
      case 11:
        effects = gateway.ask(.ended(number: number))
        effects.forEach { observer.see($0) }
        #expect(!observer.attempts.values.contains(number))
        (observer.accounts[number], effects) = (nil, [])
      default:
        // A report, on time or late.
        guard !observer.seen.isEmpty else { continue }
        let attempt = random.pick(observer.seen)
        let owner = observer.attempts[attempt]
        let isFinal = random.chance(0.7)
        let openID: OpenIDReport =
          isFinal
          ? random.pick([.identity(number: 1, OpenIDIdentity(subject: "7", name: name)), .denied(number: 1), .failed(number: 1, "away")])
          : .page(number: 1, page)
        let pam: PAMReport =
          isFinal
          ? random.pick([.accepted(notes: "Hello."), .refused(.wrongPassword), .unavailable("no")]) : .prompt(text: "?", echo: false)
        let sent = gateway.report(openID, attempt, owner ?? number)
        effects = sent + gateway.report(pam, attempt, owner ?? number)
        #expect(owner != nil || effects.isEmpty, "a late report does nothing")
        if isFinal, !effects.isEmpty { observer.attempts[attempt] = nil }
      }
      while !effects.isEmpty {
        let effect = effects.removeFirst()
        observer.see(effect)
        switch effect {
        case .checkCode(let number, _, _), .setPassword(let number, _, _):
          let results: [LoginAnswer] = [.accepted, .refused(.wrongCode), .unavailable]
          effects += gateway.finish(random.pick(results), number)
        case .enter(let number, _, _, let banner):
          let account = LoginAccount(user: 77, questions: (random.chance(0.5) ? [.code] : []) + banner)
          effects += gateway.finish(random.pick([.account(account), .refused(.unknownName), .unavailable]), number)
        case .bind(let number, _): effects += gateway.finish(random.pick([.bound(grant), .unbound, .refused(.deviceLimit)]), number)
        case .signIn(let attempt, _, let number) where random.chance(0.1),
          .check(let attempt, _, let number, _, _, _) where random.chance(0.1):
          // It could not begin.
          observer.attempts[attempt] = nil
          effects += gateway.finish(.busy, number)
        default: break
        }
      }
    }
    for number in UInt32(1)...4 { gateway.ask(.ended(number: number)).forEach { observer.see($0) } }
    #expect(observer.attempts.isEmpty && gateway.proofs.count == 0)
  }
}
