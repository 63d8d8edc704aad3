import GatewayCore
import GatewayLogin
import LoginProtocol
import NetworkTypes
import SeededRandom
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
