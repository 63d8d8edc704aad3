import GatewayCore
import LoginProtocol
import NetworkTypes

// A person has signed in at the OpenID provider, and is no user here yet. A name is no proof: the person may have chosen it there. So the
// person is asked for what the user of that name has here, whether there is such a user or not.
extension LoginConversation {
  /// Tokens begin so, and no other value is taken for one.
  static let tokenStart = Array("rw1-".utf8)

  static func linkQuestion(_ name: String) -> String {
    """
    Your sign-in is linked to no user of the gateway. If you are \(name) there, enter the password or a token of \(name) at the gateway, \
    and it is linked. Otherwise ask its administrator.
    """
  }

  mutating func askForLink(_ name: String, _ hello: LoginHello, at now: Moment) -> [LoginEffect] {
    // The gateway notes a sign-in that links nobody.
    guard hello.methods.contains(.prompt) else { return hold(.failed(.wrong, retryAfter: 0), now, now, .close) }
    state = .linking(hello, name: name)
    limit = now + Self.patience
    return [.send(.prompt(text: Self.linkQuestion(name), echo: false))]
  }

  /// It counts as an attempt of its own, as without the sign-in.
  mutating func link(
    _ name: String, by proof: [UInt8], _ hello: LoginHello, _ limits: inout LoginLimits, at now: Moment
  ) -> [LoginEffect] {
    let isToken = proof.starts(with: Self.tokenStart)
    if let wait = limits.begin(isToken ? nil : name, from: address, at: now) { return pause(wait, at: now) }
    if isToken {
      state = .checkingToken(hello, factors: [.openID, .token], since: now)
      return [.checkToken(proof)]
    }
    state = .checkingPassword(PasswordCheck(hello: hello, name: name, since: now, factors: [.openID, .password]))
    return [.checkPassword(name: GatewayName(name), password: proof)]
  }
}
