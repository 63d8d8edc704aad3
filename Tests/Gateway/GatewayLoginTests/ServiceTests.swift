import GatewayCore
import GatewayLogin
import LoginProtocol
import NetworkTypes
import Testing

@Suite("Names of the gateway's own beside a service that checks passwords") struct ServiceTests {
  private let right = ClientMessage.password(user: "Alice", password: [1])

  /// The messages that a client gets in attempts one after the other, with their times. `steps`: the answers of the service to each
  /// attempt, and the seconds after which each comes. `isOwn`: the gateway has refused the password, and the service is asked for a name
  /// without a user.
  private func seen(_ steps: [(LoginAnswer, Double)], isOwn: Bool, attempts: Int = 14) throws -> [String] {
    var limits = LoginLimits()
    var lines: [String] = []
    var now = Moment.seconds(1000)
    for attempt in 0..<attempts {
      var talk = try Talk(limits, at: now)
      func tell(_ effects: [LoginEffect]) {
        for case .send(let message) in effects { lines.append("\(attempt): \(Int64((talk.now - now) / .milliseconds(1))) ms: \(message)") }
      }
      _ = talk.say(.hello(hello))
      var effects = talk.say(right)
      if effects.isEmpty {
        // A pause after earlier attempts.
        tell(try talk.wait())
      } else if isOwn {
        talk.now = now + .milliseconds(70)
        #expect(talk.answer(.refused(.wrongPassword)) == [.record(.wrongPassword, name: "Alice"), .checkDecoy])
      } else {
        talk.conversation.passOn()
      }
      for (answer, seconds) in steps where !effects.isEmpty {
        if case .prompt = steps[0].0, talk.conversation.deadline != nil {
          effects = talk.say(.answer(.prompt, [2]))
          #expect(effects == [.answerPrompt([2])])
        }
        talk.now = talk.now + .milliseconds(Int64(seconds * 1000))
        effects = talk.answer(answer)
        // The audit log has one refusal for each, whose reason no client sees.
        #expect(effects.filter { if case .record = $0 { false } else { true } } == [])
        if isOwn { #expect(effects == []) }
        effects = try talk.wait()
        tell(effects)
      }
      #expect(talk.conversation.isClosed)
      limits = talk.limits
      now = talk.now + .seconds(1)
    }
    return lines
  }

  @Test("a refused password looks as one of a name that the service has, whatever the service says, and however often") func alike() throws
  {
    let question = LoginAnswer.prompt(text: "Token?", echo: false)
    for steps in [
      [(.refused(.wrongPassword), 1.0)], [(.refused(.wrongPassword), 0.1)], [(.unavailable, 0.1)], [(.unavailable, 15.02)], [(.busy, 0.01)],
      [(question, 0.2), (.refused(.wrongPassword), 0.1)], [(question, 0.2), (.unavailable, 2)],
      [(question, 0.1), (question, 0.1), (.busy, 0)],
    ] as [[(LoginAnswer, Double)]] {
      let own = try seen(steps, isOwn: true)
      #expect(try own == seen(steps, isOwn: false), "\(steps)")
      #expect(own.first?.contains("ms: ") == true && own.contains { $0.contains("later") }, "\(own)")
    }
  }

  @Test("the service's yes for a name without a user is a no") func yes() throws {
    let account = LoginAccount(user: 4, questions: [])
    let own = try seen([(.account(account), 0.5)], isOwn: true)
    #expect(try own == seen([(.refused(.wrongPassword), 0.5)], isOwn: false))
  }

  @Test("attempts that the service could not judge count, and no client waits long once it is back") func pauses() throws {
    let lines = try seen([(.unavailable, 0.1)], isOwn: false, attempts: 60)
    #expect(
      lines.prefix(5).allSatisfy { $0.contains("3000 ms: failed(LoginProtocol.LoginFailure.unavailable, retryAfter: 15)") }, "\(lines)")
    let waits = lines.compactMap { $0.firstMatch(of: /later, retryAfter: ([0-9]+)/).flatMap { Int($0.1) } }
    #expect(waits.max() ?? 0 > 16 && waits.allSatisfy { $0 <= 33 }, "\(waits)")
  }
}
