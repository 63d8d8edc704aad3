import GatewayCore
import GatewayLogin
import LoginProtocol
import NetworkTypes
import Testing

@Suite("A sign-in that is linked to no user") struct LinkTests {
  private let account = LoginAccount(user: 4)

  /// The person has signed in, as `alice`.
  private func signedIn(_ hello: LoginHello = hello) throws -> Talk {
    var talk = try Talk(offers: [.password, .openID])
    _ = talk.say(.hello(hello))
    _ = talk.say(.begin(.openID))
    _ = talk.answer(.visit(page))
    return talk
  }

  private func asked() throws -> Talk {
    var talk = try signedIn()
    guard case .send(.prompt(let text, false))? = talk.answer(.link(name: "alice")).first else {
      Issue.record("nothing is asked")
      return talk
    }
    #expect(text.contains("password or a token of alice"))
    return talk
  }

  @Test("the password of the user, and what else the gateway asks this user") func password() throws {
    var talk = try asked()
    #expect(talk.say(.answer(.prompt, [112])) == [.checkPassword(name: GatewayName("alice"), password: [112])])
    #expect(talk.answer(.account(account)) == [.bind(account, hello, factors: [.openID, .password])])
    talk = try asked()
    _ = talk.say(.answer(.prompt, [112]))
    #expect(talk.answer(.account(LoginAccount(user: 4, questions: [.code]))) == [])
    #expect(try talk.wait() == [.send(.more(.code, text: "Enter the 6-digit code of your authenticator app, or a recovery code."))])
    #expect(talk.say(.answer(.code, [1])) == [.checkCode(user: 4, code: [1])])
    #expect(talk.answer(.accepted) == [.bind(account, hello, factors: [.openID, .password, .code])])
  }

  @Test("a token of the user") func token() throws {
    var talk = try asked()
    let token = Array("rw1-abc".utf8)
    #expect(talk.say(.answer(.prompt, token)) == [.checkToken(token)])
    let account = LoginAccount(user: 4, token: 9)
    #expect(talk.answer(.account(account)) == [.bind(account, hello, factors: [.openID, .token])])
  }

  @Test("a wrong answer ends it, and counts as an attempt at the name; none looks the same as all that is wrong") func wrong() throws {
    for (answer, refusal) in [([112], LoginRefusal.wrongPassword), (Array("rw1-x".utf8), .wrongToken)] as [([UInt8], LoginRefusal)] {
      var talk = try asked()
      let before = talk.limits.count
      _ = talk.say(.answer(.prompt, answer))
      #expect(talk.limits.count == before + (refusal == .wrongPassword ? 2 : 0))
      let noted = refusal == .wrongPassword ? "alice" : ""
      #expect(talk.answer(.refused(refusal)) == [.record(refusal, name: noted)])
      #expect(try talk.wait() == [.send(.failed(.wrong, retryAfter: 0)), .close])
    }
    var talk = try asked()
    for message in [ClientMessage.answer(.code, [1]), .password(user: "alice", password: [1]), .token([1])] {
      var other = talk
      #expect(other.say(message) == [.send(.failed(.format, retryAfter: 0)), .close])
    }
    #expect(try talk.wait() == [.send(.failed(.timeout, retryAfter: 0)), .close])
  }

  @Test("a client that can answer no question is refused; nobody is asked before the sign-in") func without() throws {
    let plain = LoginHello(methods: [.password, .openID], device: "d", publicKey: key)
    var talk = try signedIn(plain)
    #expect(talk.answer(.link(name: "alice")) == [])
    #expect(try talk.wait() == [.send(.failed(.wrong, retryAfter: 0)), .close])
    talk = try Talk(offers: [.openID])
    _ = talk.say(.hello(hello))
    #expect(talk.answer(.link(name: "alice")) == [] && talk.say(.answer(.prompt, [1])) == [.send(.failed(.format, retryAfter: 0)), .close])
  }
}
