import GatewayCore
import GatewayLogin
import LoginProtocol
import NetworkTypes
import Testing

/// Attacks of strangers on logins, in virtual time.
@Suite("Logins under attack") struct AttackTests {
  private let password = ClientMessage.password(user: "alice", password: Array("secret".utf8))

  private func place(_ number: Int) throws -> String { "2001:db8:\(String(number, radix: 16))::1" }

  /// One login with the right password, or by a provider, and a code; returns whether the code was judged, and the seconds of a pause.
  private func attempt(
    _ limits: inout LoginLimits, from text: String, at now: Moment, isRight: Bool, byProvider: Bool
  ) throws -> (isJudged: Bool, isIn: Bool) {
    var conversation = LoginConversation(from: try address(text), at: now, offers: [.password, .token, .openID])
    func effects(_ body: (inout LoginConversation) -> [LoginEffect]) -> [LoginEffect] { body(&conversation) }
    _ = effects { $0.receive(.hello(hello), &limits, at: now) }
    let account = LoginAccount(user: 4, questions: [.code])
    if byProvider {
      guard effects({ $0.receive(.begin(.openID), &limits, at: now) }) == [.signIn] else { return (false, false) }
      _ = effects { $0.receive(.visit(page), &limits, at: now) }
    } else {
      guard case .checkPassword = effects({ $0.receive(password, &limits, at: now) }).first else { return (false, false) }
    }
    _ = effects { $0.receive(.account(account), &limits, at: now) }
    var then = now
    if let deadline = conversation.deadline, deadline > now, !byProvider || conversation.isWaiting == false { then = deadline }
    _ = effects { $0.expire(at: then) }
    guard case .checkCode = effects({ $0.receive(.answer(.code, [1]), &limits, at: then) }).first else { return (false, false) }
    _ = effects { $0.receive(isRight ? .accepted : .refused(.wrongCode), &limits, at: then) }
    return (true, isRight)
  }

  @Test(
    "who knows the password, or has an account at the provider, has few codes judged in an hour, from however many places",
    arguments: [false, true])
  func codes(byProvider: Bool) throws {
    var limits = LoginLimits()
    var judged = 0
    // 600 tries in an hour from 40 places; today's gateways judged each of them.
    for number in 0..<600 {
      let now = Moment.seconds(1000 + 6 * Double(number))
      if try attempt(&limits, from: place(number % 40), at: now, isRight: false, byProvider: byProvider).isJudged { judged += 1 }
    }
    #expect(judged <= 30, "\(judged) of 600")
    // Afterwards the person gets in.
    #expect(try attempt(&limits, from: "192.0.2.7", at: .seconds(6000), isRight: true, byProvider: byProvider).isIn)
  }

  @Test("a person gets in from a place where she has logged in lately, whatever strangers do to her name meanwhile") func keptOut() throws {
    var limits = LoginLimits()
    let home = try address("192.0.2.7")
    let first = limits.begin("alice", from: home, at: .seconds(1000))
    #expect(first == nil)
    limits.succeed("alice", from: home, at: .seconds(1000))
    var (tries, isIn) = (0, 0)
    var number = 0
    for second in 0..<300 {
      // Four clients that come back in time with fresh places.
      for _ in 0..<4 {
        number += 1
        _ = limits.begin("alice", from: try address(place(number)), at: .seconds(2000 + Double(second)))
      }
      guard second % 27 == 0 else { continue }
      tries += 1
      let now = Moment.seconds(2000.5 + Double(second))
      if limits.begin("Alice", from: home, at: now) == nil {
        isIn += 1
        limits.succeed("Alice", from: home, at: now)
      }
    }
    #expect((tries, isIn) == (12, 12))
    // At places that are not known the name pauses, as for the strangers: of four at once, one at most is judged.
    let judged = try (1...4).count { limits.begin("alice", from: try address(place(number + $0)), at: .seconds(2400)) == nil }
    #expect(judged <= 1)
  }

  @Test("a guest's failures do not keep those out who have logged in from the same address lately") func guest() throws {
    var limits = LoginLimits()
    let home = try address("192.0.2.7")
    let first = limits.begin("alice", from: home, at: .seconds(1000))
    #expect(first == nil)
    limits.succeed("alice", from: home, at: .seconds(1000))
    for second in 0..<600 { _ = limits.begin("n\(second)", from: home, at: .seconds(2000 + Double(second))) }
    let stranger = limits.begin("n", from: home, at: .seconds(2600))
    #expect(stranger != nil)
    let person = limits.begin("alice", from: home, at: .seconds(2600))
    #expect(person == nil)
    limits.succeed("alice", from: home, at: .seconds(2600))
    // Nor does she end their pauses.
    let after = limits.begin("n", from: home, at: .seconds(2600))
    #expect(after == stranger)
    for _ in 0..<4 {
      _ = limits.begin("alice", from: home, at: .seconds(2600))
      limits.withdraw("alice", from: home)
    }
    limits.shorten("alice", from: home)
    let later = limits.begin("n", from: home, at: .seconds(2600))
    #expect(later == stranger)
  }

  /// The progress of strangers before they are silent.
  private enum Held: CaseIterable {
    case nothing, part, hello, visit
  }

  /// Connections from many networks, as they come; each goes so far.
  private func hold(_ table: inout LoginTable, _ held: Held, _ number: UInt32, from text: String, at now: Moment) throws {
    table.open(number, from: try address(text), at: now)
    let first = ClientMessage.hello(hello).frame.bytes
    switch held {
    case .nothing: return
    case .part: _ = table.receive(first.prefix(3), from: number, at: now)
    case .hello: _ = table.receive(first, from: number, at: now)
    case .visit:
      _ = table.receive(first, from: number, at: now)
      _ = table.receive(ClientMessage.begin(.openID).frame.bytes, from: number, at: now)
    }
  }

  /// A login with a password and a code. Strangers begin 20 connections between two messages. Returns whether it is bound.
  private func logIn(_ table: inout LoginTable, from text: String, at now: Moment, _ strangers: (inout LoginTable) throws -> Void) throws
    -> Bool
  {
    let own: UInt32 = 1_000_000
    var now = now
    table.open(own, from: try address(text), at: now)
    func say(_ message: ClientMessage) throws -> [LoginEffect] {
      now = now + .milliseconds(100)
      try strangers(&table)
      return table.receive(message.frame.bytes, from: own, at: now)
    }
    func answer(_ answer: LoginAnswer) -> [LoginEffect] {
      var effects = table.receive(answer, for: own, at: now)
      if effects.isEmpty, let deadline = table.deadline(of: own) {
        now = deadline
        effects = table.expire(at: now).first { $0.number == own }?.effects ?? []
      }
      return effects
    }
    guard case .send(.welcome) = try say(.hello(hello)).first, case .checkPassword = try say(password).first else { return false }
    guard case .send(.more) = answer(.account(LoginAccount(user: 4, questions: [.code]))).first else { return false }
    guard case .checkCode = try say(.answer(.code, [1])).first else { return false }
    if case .bind = answer(.accepted).first { return true }
    return false
  }

  @Test(
    "strangers who hold all connections, from many /64s, many /48s or many IPv4 addresses, keep nobody from a login",
    arguments: Held.allCases)
  private func everybody(held: Held) throws {
    let places: [(Int) -> String] = [
      // 125 /64s of half a /56; of 10 /48s; IPv4 addresses of 8 /24s.
      { "2001:db8:0:\(String($0 % 125, radix: 16))::1" },
      { "2001:db8:\($0 % 10):\(String($0 % 125, radix: 16))::\($0 % 7)" },
      { "198.51.\($0 % 8).\($0 % 250)" },
    ]
    for place in places {
      var table = LoginTable()
      table.offers = [.password, .openID]
      var number: UInt32 = 0
      func flood(_ table: inout LoginTable, _ count: Int) throws {
        for _ in 0..<count {
          number += 1
          try hold(&table, held, number, from: place(Int(number)), at: .seconds(1000))
        }
      }
      try flood(&table, 2000)
      #expect(table.count <= LoginTable.capacity)
      for home in ["192.0.2.7", "2001:db8:ffff::7"] {
        #expect(try logIn(&table, from: home, at: .seconds(1000)) { try flood(&$0, 20) }, "\(held) \(place(1)) \(home)")
        // With a provider.
        table.open(7_000_000, from: try address(home), at: .seconds(1001))
        try flood(&table, 20)
        _ = table.receive(ClientMessage.hello(hello).frame.bytes, from: 7_000_000, at: .seconds(1001))
        try flood(&table, 20)
        let effects = table.receive(ClientMessage.begin(.openID).frame.bytes, from: 7_000_000, at: .seconds(1001))
        try flood(&table, 20)
        #expect(effects == [.signIn] && table.isOpen(7_000_000), "\(held) \(place(1)) \(home)")
        table.close(7_000_000)
      }
      let gone = table.takeGone()
      #expect(!gone.isEmpty && !gone.contains { $0 >= 1_000_000 })
    }
  }

  @Test("a guest's connections do not keep others of the same address out", arguments: Held.allCases) private func sameAddress(held: Held)
    throws
  {
    for home in ["192.0.2.7", "2001:db8::7"] {
      // After 20 sign-ins that came to nothing, an address has to wait, and is told so.
      for count in held == .visit ? [8, 15] : [8, 64, 200] as [UInt32] {
        var table = LoginTable()
        table.offers = [.password, .openID]
        for number in 0..<count { try hold(&table, held, number, from: home, at: .seconds(1000)) }
        #expect(try logIn(&table, from: home, at: .seconds(1000)) { _ in }, "\(held) \(count) of \(home)")
      }
    }
  }

  @Test("a client has seconds for its first byte, and then as long as before for its first factor") func silence() throws {
    var table = LoginTable()
    for number in 1...3 as ClosedRange<UInt32> { table.open(number, from: try address("192.0.2.7"), at: .seconds(1000)) }
    // One byte every four seconds.
    let bytes = ClientMessage.hello(hello).frame.bytes
    for second in 0..<5 {
      _ = table.receive(bytes[second..<second + 1], from: 2, at: .seconds(1000 + 4 * Double(second)))
      _ = table.expire(at: .seconds(1000.5 + 4 * Double(second)))
    }
    _ = table.expire(at: .seconds(1019))
    #expect(!table.isOpen(1) && table.isOpen(2) && !table.isOpen(3))
    _ = table.expire(at: .seconds(1020))
    #expect(table.count == 0)
  }

  @Test("strangers who hold all relays keep no device from one, and take none from a device") func relays() throws {
    for place: (Int) -> String in [
      // 7 /64s, as found; many /48s; one address, which the device has too.
      { "2001:db8:0:\($0 % 7)::1" }, { "2001:db8:\(String($0 % 40, radix: 16)):\($0 % 3)::1" }, { _ in "192.0.2.7" },
    ] {
      var table = RelayTable()
      var number: UInt32 = 0
      func flood(_ count: Int) throws {
        for _ in 0..<count {
          number += 1
          #expect(try table.open(number, from: address(place(Int(number))), at: .seconds(1000)))
          if number.isMultiple(of: 2) { table.heard(number, at: .seconds(1000)) }
        }
      }
      try flood(112)
      var devices: [UInt32] = []
      for device in 0..<20 as Range<UInt32> {
        #expect(try table.open(10_000 + device, from: address("192.0.2.7"), at: .seconds(1000)))
        table.heard(10_000 + device, at: .seconds(1000))
        // An answer of WireGuard comes soon; who shares an address with strangers has less time.
        try flood(10)
        table.answered(10_000 + device, by: .response)
        devices.append(10_000 + device)
      }
      try flood(300)
      #expect(Set(table.takeGone()).isDisjoint(with: devices) && table.count <= RelayTable.strangers + devices.count)
    }
  }

  @Test(
    "a name, a device or an address with a control character is no text of a frame, in any message",
    arguments: ["\0", "\n", "\u{1b}[2J", "\u{7f}", "\u{85}"])
  func controls(text: String) throws {
    for message in [
      ClientMessage.password(user: "bob\(text) lock alice", password: [1]), .hello(LoginHello(device: "lap\(text)top", publicKey: key)),
    ] {
      #expect(throws: LoginFrameError.self) { _ = try ClientMessage(message.frame) }
    }
  }
}
