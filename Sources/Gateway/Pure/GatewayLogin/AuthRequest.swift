package import GatewayCore
package import LoginProtocol
package import NetworkTypes

/// A request of `roamward-gateway-auth` to `roamward-gateway`, as a frame. An attacker who takes that process over can send nothing else.
package enum AuthRequest: Hashable, Sendable {
  /// It works, or says why it does not.
  case hello(trouble: String?)
  /// The password hash of a name.
  case credential(number: UInt32, name: GatewayName)
  /// `hash`: SHA-256 of a token.
  case token(number: UInt32, hash: [UInt8])
  case code(number: UInt32, code: [UInt8])
  /// `hash`: of the new password.
  case setPassword(number: UInt32, hash: String)
  case bind(number: UInt32, device: GatewayName, publicKey: [UInt8], factors: [LoginMethod], source: IPAddress)
  case record(LoginRefusal, name: String, source: IPAddress)
  /// The conversation has ended.
  case ended(number: UInt32)
  /// A sign-in at the OpenID provider.
  case signIn(number: UInt32, source: IPAddress)
  /// The password of the name that was asked for, which the gateway has checked by PAM.
  case password(number: UInt32, password: [UInt8], source: IPAddress)
  /// The answer to a question of that check.
  case promptAnswer(number: UInt32, value: [UInt8])
  /// A check by PAM of a name without a user: the gateway's own password was refused.
  case decoy(number: UInt32, source: IPAddress)

  package var frame: LoginFrame {
    switch self {
    case .hello(let trouble):
      var frame = LoginFrame(1)
      if let trouble { frame.add(1, String(trouble.prefix(256))) }
      return frame
    case .credential(let number, let name): return LoginFrame(2, number, name.description)
    case .token(let number, let hash): return LoginFrame(3, number, hash)
    case .code(let number, let code): return LoginFrame(4, number, code)
    case .setPassword(let number, let hash): return LoginFrame(5, number, hash)
    case .bind(let number, let device, let key, let factors, let source):
      var frame = LoginFrame(6, number, device.description)
      frame.add(3, key)
      frame.add(4, factors.map(\.rawValue))
      frame.add(5, source.bytes)
      return frame
    case .record(let refusal, let name, let source):
      var frame = LoginFrame(7)
      frame.add(1, [refusal.rawValue])
      frame.add(2, name)
      frame.add(3, source.bytes)
      return frame
    case .ended(let number): return LoginFrame(8, number, [])
    case .signIn(let number, let source):
      var frame = LoginFrame(9, number, [])
      frame.add(5, source.bytes)
      return frame
    case .password(let number, let password, let source):
      var frame = LoginFrame(10, number, password)
      frame.add(5, source.bytes)
      return frame
    case .promptAnswer(let number, let value): return LoginFrame(11, number, value)
    case .decoy(let number, let source):
      var frame = LoginFrame(12, number, [])
      frame.add(5, source.bytes)
      return frame
    }
  }

  package init(_ frame: LoginFrame) throws(LoginFrameError) {
    switch frame.kind {
    case 1: self = .hello(trouble: frame[1] == nil ? nil : try frame.text(1, 0...1024, lines: true))
    case 2: self = .credential(number: try frame.number(), name: try frame.name(2))
    case 3: self = .token(number: try frame.number(), hash: try frame.value(2, 32...32))
    case 4: self = .code(number: try frame.number(), code: try frame.value(2, 0...ClientMessage.secretLimit))
    case 5: self = .setPassword(number: try frame.number(), hash: try frame.text(2, 1...127))
    case 6:
      self = .bind(
        number: try frame.number(), device: try frame.name(2), publicKey: try frame.value(3, 32...32),
        factors: try frame.value(4, 1...8).compactMap { LoginMethod(rawValue: $0) }, source: try frame.address(5))
    case 7:
      guard let refusal = LoginRefusal(rawValue: try frame.value(1, 1...1)[0]) else { throw .field }
      self = .record(refusal, name: try frame.text(2, 0...ClientMessage.nameLimit), source: try frame.address(3))
    case 8: self = .ended(number: try frame.number())
    case 9: self = .signIn(number: try frame.number(), source: try frame.address(5))
    case 10:
      self = .password(
        number: try frame.number(), password: try frame.value(2, 1...ClientMessage.secretLimit), source: try frame.address(5))
    case 11: self = .promptAnswer(number: try frame.number(), value: try frame.value(2, 0...ClientMessage.secretLimit))
    case 12: self = .decoy(number: try frame.number(), source: try frame.address(5))
    default: throw .kind
    }
  }
}

/// A message of `roamward-gateway` to `roamward-gateway-auth`.
package enum AuthReply: Hashable, Sendable {
  /// To begin: the certificate and its key (PEM), and the UDP port of the gateway's WireGuard link if datagrams are relayed to it. A
  /// listening socket comes with it.
  case start(identity: String, relayTo: UInt16?)
  /// A further listening socket, which comes with it.
  case listener
  /// The methods to begin a login with, from now on. `isSlow`: a service of the network checks passwords.
  case offer([LoginMethod], isSlow: Bool)
  /// The password of this name is checked by PAM, or the name is unknown: both look the same.
  case remote(number: UInt32)
  /// A name's account, whose password hash may be empty; `refusal`: it may not log in, whatever the password.
  case credential(number: UInt32, hash: String, account: LoginAccount?, refusal: LoginRefusal?)
  case answer(number: UInt32, LoginAnswer)

  package var frame: LoginFrame {
    switch self {
    case .start(let identity, let port):
      var frame = LoginFrame(1)
      frame.add(1, identity)
      if let port { frame.add(2, [UInt8(port >> 8), UInt8(port & 255)]) }
      return frame
    case .listener: return LoginFrame(14)
    case .offer(let methods, let isSlow):
      var frame = LoginFrame(11)
      frame.add(1, methods.map(\.rawValue))
      if isSlow { frame.add(2, []) }
      return frame
    case .remote(let number): return LoginFrame(15, number, [])
    case .credential(let number, let hash, let account, let refusal):
      var frame = LoginFrame(2, number, hash)
      account.map { frame.add($0) }
      if let refusal { frame.add(9, [refusal.rawValue]) }
      return frame
    case .answer(let number, let answer): return Self.frame(number, answer)
    }
  }

  private static func frame(_ number: UInt32, _ answer: LoginAnswer) -> LoginFrame {
    switch answer {
    case .account(let account):
      var frame = LoginFrame(3, number, [])
      frame.add(account)
      return frame
    case .accepted: return LoginFrame(4, number, [])
    case .refused(let refusal): return LoginFrame(5, number, [refusal.rawValue])
    case .unsuitable(let text): return LoginFrame(6, number, text)
    case .bound(let grant): return LoginFrame(7, number, grant.frame(0).bytes)
    case .unbound: return LoginFrame(8, number, [])
    case .unavailable: return LoginFrame(9, number, [])
    case .busy: return LoginFrame(10, number, [])
    case .visit(let page): return LoginFrame(12, number, GatewayMessage.visit(page).frame.bytes)
    case .expired: return LoginFrame(13, number, [])
    case .link(let name): return LoginFrame(17, number, name)
    case .prompt(let text, let echo): return LoginFrame(16, number, GatewayMessage.prompt(text: text, echo: echo).frame.bytes)
    }
  }

  package init(_ frame: LoginFrame) throws(LoginFrameError) {
    switch frame.kind {
    case 1:
      let port = frame[2] == nil ? nil : try frame.value(2, 2...2)
      self = .start(identity: try frame.text(1, 1...16_384, lines: true), relayTo: port.map { UInt16($0[0]) << 8 | UInt16($0[1]) })
    case 14: self = .listener
    case 2:
      var refusal: LoginRefusal?
      if frame[9] != nil {
        refusal = LoginRefusal(rawValue: try frame.value(9, 1...1)[0])
        if refusal == nil { throw .field }
      }
      self = .credential(
        number: try frame.number(), hash: try frame.text(2, 0...127), account: frame[3] == nil ? nil : try frame.account(), refusal: refusal
      )
    case 11: self = .offer(try frame.value(1, 0...64).compactMap { LoginMethod(rawValue: $0) }, isSlow: frame[2] != nil)
    case 15: self = .remote(number: try frame.number())
    default: self = .answer(number: try frame.number(), try Self.answer(frame))
    }
  }

  private static func answer(_ frame: LoginFrame) throws(LoginFrameError) -> LoginAnswer {
    switch frame.kind {
    case 3: return .account(try frame.account())
    case 4: return .accepted
    case 5:
      guard let refusal = LoginRefusal(rawValue: try frame.value(2, 1...1)[0]) else { throw .field }
      return .refused(refusal)
    case 6: return .unsuitable(try frame.text(2, 0...GatewayMessage.textLimit, lines: true))
    case 7: return .bound(try LoginGrant(try LoginFrame(body: try frame.value(2, 3...LoginFrame.limit + 2).dropFirst(2))))
    case 8: return .unbound
    case 9: return .unavailable
    case 10: return .busy
    case 12:
      guard case .visit(let page) = try GatewayMessage(LoginFrame(body: try frame.value(2, 3...LoginFrame.limit + 2).dropFirst(2))) else {
        throw .field
      }
      return .visit(page)
    case 13: return .expired
    case 16:
      let body = try frame.value(2, 3...LoginFrame.limit + 2).dropFirst(2)
      guard case .prompt(let text, let echo) = try GatewayMessage(LoginFrame(body: body)) else { throw .field }
      return .prompt(text: text, echo: echo)
    case 17: return .link(name: try frame.name(2).description)
    default: throw .kind
    }
  }
}

extension LoginFrame {
  /// A frame whose first fields are the number of a conversation, and a value.
  init(_ kind: UInt8, _ number: UInt32, _ value: [UInt8]) {
    self.init(kind)
    add(1, (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) })
    add(2, value)
  }

  init(_ kind: UInt8, _ number: UInt32, _ text: String) { self.init(kind, number, Array(text.utf8)) }

  mutating func add(_ account: LoginAccount) {
    func bytes(_ number: Int64) -> [UInt8] { (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }
    add(3, bytes(account.user))
    if let token = account.token { add(4, bytes(token)) }
    if account.questions.contains(.code) { add(5, []) }
    if account.questions.contains(.newPassword) { add(6, []) }
    for case .banner(let text) in account.questions { add(7, text) }
  }

  func number() throws(LoginFrameError) -> UInt32 { try value(1, 4...4).reduce(0) { $0 << 8 | UInt32($1) } }

  func name(_ tag: UInt8) throws(LoginFrameError) -> GatewayName {
    guard let name = GatewayName(try text(tag, 1...64)) else { throw .field }
    return name
  }

  func address(_ tag: UInt8) throws(LoginFrameError) -> IPAddress {
    guard let address = IPAddress(bytes: try value(tag, 4...16)) else { throw .field }
    return address
  }

  func account() throws(LoginFrameError) -> LoginAccount {
    func integer(_ tag: UInt8) throws(LoginFrameError) -> Int64 { try value(tag, 8...8).reduce(0) { $0 << 8 | Int64($1) } }
    var questions: [LoginAccount.Question] = []
    if self[5] != nil { questions.append(.code) }
    if self[6] != nil { questions.append(.newPassword) }
    if self[7] != nil { questions.append(.banner(try text(7, 0...GatewayMessage.textLimit, lines: true))) }
    return LoginAccount(user: try integer(3), token: self[4] == nil ? nil : try integer(4), questions: questions)
  }
}
