internal import CSodium
internal import GatewayCore
internal import GatewayCredentials
internal import GatewayLogin
internal import LoginProtocol

extension AuthWork {
  func carryOut(_ effects: [LoginEffect], _ number: UInt32) {
    // First: what they hold at the gateway is for this one.
    closeGone()
    for effect in effects {
      guard let client = clients[number] else { break }
      switch effect {
      case .send(let message): if !client.connection.send(message.frame.bytes) { client.isEnding = true }
      case .checkPassword(let name, let password): enqueue(.password(name, password), number)
      case .checkDecoy: enqueueForService(nil, number)
      case .checkToken(let token): enqueue(.token(Self.sha256(token)), number)
      case .answerPrompt(let value): ask(.promptAnswer(number: number, value: value))
      case .signIn: ask(.signIn(number: number, source: client.address))
      case .checkCode(_, let code): ask(.code(number: number, code: code))
      case .setPassword(_, let password): hash(password, number)
      case .bind(_, let hello, let factors):
        guard let device = GatewayName(hello.device) else {
          answer(.unbound, for: number)
          break
        }
        ask(.bind(number: number, device: device, publicKey: hello.publicKey, factors: factors, source: client.address))
      case .relay(let versions): relay(client, number, versions)
      case .note(let refusal, let name): ask(.note(refusal, name: name, source: client.address))
      case .close: client.isEnding = true
      }
    }
    flush(number)
    setAlarm(for: number)
  }

  private static func sha256(_ bytes: [UInt8]) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_bytes()))
    crypto_hash_sha256(&hash, bytes, UInt64(bytes.count))
    return hash
  }

  private func enqueue(_ check: Check, _ number: UInt32) {
    guard let client = clients[number] else { return }
    unchecked[number] = check
    if let last = checks.add(number, from: client.address) {
      unchecked[last] = nil
      answer(.busy, for: last)
    }
    beginChecks()
  }

  /// Has the gateway check a password by PAM; `nil`: that of a name without a user.
  private func enqueueForService(_ password: [UInt8]?, _ number: UInt32) {
    guard let client = clients[number] else { return }
    serviceOrders[number] = .some(password)
    if let last = serviceChecks.add(number, from: client.address) {
      serviceOrders[last] = nil
      answer(.busy, for: last)
    }
    beginChecks()
  }

  func beginChecks() {
    while let number = checks.begin() {
      switch unchecked.removeValue(forKey: number) {
      // Before the gateway is asked, so that a client cannot tell which names exist.
      case .password(let name, let password):
        passwords[number] = password
        if let name { ask(.credential(number: number, name: name)) } else { judge(number, "", nil, .unknownName) }
      case .token(let hash): ask(.token(number: number, hash: hash))
      case nil: checks.end(number)
      }
    }
    while let number = serviceChecks.begin() {
      guard let order = serviceOrders.removeValue(forKey: number), let client = clients[number] else {
        serviceChecks.end(number)
        continue
      }
      if let password = order {
        ask(.password(number: number, password: password, source: client.address))
      } else {
        ask(.decoy(number: number, source: client.address))
      }
    }
  }

  /// The password is one for PAM.
  func passOn(_ number: UInt32) {
    checks.end(number)
    guard let password = passwords.removeValue(forKey: number) else { return beginChecks() }
    desk.passOn(number)
    enqueueForService(password, number)
  }

  /// Verifies the password, against a hash that no password has if there is none.
  func judge(_ number: UInt32, _ hash: String, _ account: LoginAccount?, _ refusal: LoginRefusal?) {
    guard let password = passwords.removeValue(forKey: number) else { return }
    let judge = judge
    let isAdded = workers.add(for: number) {
      let isRight = judge.isRight(password, hash)
      let answer: LoginAnswer =
        if let refusal { .refused(refusal) } else if isRight, let account { .account(account) } else { .refused(.wrongPassword) }
      return { $0.answer(answer, for: number) }
    }
    if !isAdded { answer(.busy, for: number) }
  }

  private func hash(_ password: [UInt8], _ number: UInt32) {
    if let fault = NewPassword.fault(of: password) { return answer(.unsuitable(fault), for: number) }
    let isAdded = workers.add(for: number) {
      let hash = PasswordHash.usual.hash(password)
      return { work in
        guard work.clients[number] != nil else { return }
        if let hash { work.ask(.setPassword(number: number, hash: hash)) } else { work.answer(.unavailable, for: number) }
      }
    }
    if !isAdded { answer(.busy, for: number) }
  }
}
