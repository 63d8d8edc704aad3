package import KernelModel
package import NetworkTypes

// The credentials of users: passwords, codes and tokens. Hashes are made by the caller: the core links no library.
extension Administration {
  private func credential(of user: User) -> Credential? { directory.credential(of: user.id) }

  private mutating func change(_ user: User, _ body: (inout Credential) -> Void) {
    var credential = credential(of: user) ?? Credential(id: newID(), user: user.id)
    body(&credential)
    put(.credential(credential))
  }

  /// `mustChange`: the user has to choose another one at the next login.
  package mutating func setPassword(_ hash: String, of name: GatewayName, mustChange: Bool) throws(GatewayError) {
    change(try user(name)) { ($0.password, $0.mustChange) = (hash, mustChange) }
    record("user password", name, mustChange ? "to be changed" : "")
  }

  package mutating func removePassword(of name: GatewayName) throws(GatewayError) {
    let user = try user(name)
    guard let credential = credential(of: user), !credential.password.isEmpty else { return }
    change(user) { ($0.password, $0.mustChange) = ("", false) }
    record("user password", name, "removed")
  }

  /// Asks for one-time codes of this secret at every login with a password; an empty one: no longer. Recovery codes end with the secret.
  package mutating func setCodeSecret(_ secret: [UInt8], of name: GatewayName) throws(GatewayError) {
    change(try user(name)) { ($0.codeSecret, $0.codeStep, $0.recoveryHashes) = (secret, 0, []) }
    record("user totp", name, secret.isEmpty ? "removed" : "")
  }

  /// Gives the user recovery codes, by their hashes; the earlier ones end. None: only that.
  package mutating func setRecovery(_ hashes: [String], of name: GatewayName) throws(GatewayError) {
    let user = try user(name)
    guard hashes.isEmpty || credential(of: user)?.codeSecret.isEmpty == false else {
      throw GatewayError("\(name) is asked for no one-time codes", help: "`roamward-gateway user set \(name) --totp` asks for them")
    }
    if hashes.isEmpty, credential(of: user)?.recoveryHashes.isEmpty ?? true { return }
    change(user) { $0.recoveryHashes = hashes }
    record("user recovery", name, hashes.isEmpty ? "removed" : "\(hashes.count) codes")
  }

  /// `hash`: SHA-256 of the token. Returns its number.
  @discardableResult
  package mutating func addToken(_ hash: [UInt8], for name: GatewayName, uses: Int64, until: Timestamp) throws(GatewayError) -> Int64 {
    let user = try user(name)
    guard (1...1000).contains(uses) else { throw GatewayError("a token of \(uses) uses is not possible", help: "use 1 to 1000") }
    guard until > now else { throw GatewayError("the end of the token is in the past", help: "choose a later time") }
    let token = EnrolmentToken(id: newID(), user: user.id, hash: hash, uses: uses, until: until)
    put(.token(token))
    record("token create", name, "token \(token.id), \(uses) use\(uses == 1 ? "" : "s")")
    return token.id
  }

  package mutating func removeToken(_ id: Int64) throws(GatewayError) {
    directory.requireAll()
    guard let token = directory.tokens[id], let user = directory.users[token.user] else {
      throw GatewayError("there is no token \(id)", help: "`roamward-gateway user list --tokens` lists the tokens")
    }
    remove(.tokens, id)
    record("token revoke", user.name, "token \(id)")
  }
}

// The changes that a login makes.
extension Administration {
  /// The user of a login, if the account is still one.
  private func activeUser(_ id: Int64) throws(GatewayError) -> User {
    guard let user = directory.users[id], user.isActive(at: now) else { throw GatewayError.loginEnded }
    return user
  }

  /// Records the time step of an accepted code, which is not accepted again.
  package mutating func useCode(ofStep step: Int64, user id: Int64) throws(GatewayError) {
    let user = try activeUser(id)
    guard let credential = credential(of: user), !credential.codeSecret.isEmpty, step > credential.codeStep else {
      throw GatewayError("this code has been used", help: "wait for the next one")
    }
    change(user) { $0.codeStep = step }
  }

  /// Takes a recovery code instead of a one-time code, which is not accepted again.
  package mutating func useRecovery(_ hash: String, user id: Int64) throws(GatewayError) {
    let user = try activeUser(id)
    guard let credential = credential(of: user), !credential.codeSecret.isEmpty, credential.recoveryHashes.contains(hash) else {
      throw GatewayError("this is no recovery code, or it has been used", help: "use another one")
    }
    change(user) { $0.recoveryHashes.removeAll { $0 == hash } }
    record("user recovery", user.name, "a code was used, \(credential.recoveryHashes.count - 1) left")
  }

  /// The password that a user chose at a login.
  package mutating func choosePassword(_ hash: String, user id: Int64) throws(GatewayError) {
    let user = try activeUser(id)
    change(user) { ($0.password, $0.mustChange) = (hash, false) }
    record("user password", user.name, "chosen at a login")
  }

  /// The result of a login: the key that it binds to a device, with the user and the factors.
  package struct Binding: Hashable, Sendable {
    package var user: Int64
    /// The token that is used.
    package var token: Int64?
    package var device: GatewayName
    package var publicKey: WireGuardKey
    package var factors: String
    package var source: String
    /// The person of an OpenID provider whom this login links to the user; `nil`: it links nobody.
    package var person: SignedInPerson?

    package init(
      user: Int64, token: Int64? = nil, device: GatewayName, publicKey: WireGuardKey, factors: String, source: String,
      person: SignedInPerson? = nil
    ) {
      self.person = person
      self.user = user
      self.token = token
      self.device = device
      self.publicKey = publicKey
      self.factors = factors
      self.source = source
    }
  }

  /// Ends a login: the device is added, or gets this key, and keeps its addresses. It connects from then on by its key alone.
  package mutating func bind(_ binding: Binding) throws(GatewayError) -> Device {
    let before = self
    do throws(GatewayError) {
      return try carryOut(binding)
    } catch {
      self = before
      throw error
    }
  }

  private mutating func carryOut(_ binding: Binding) throws(GatewayError) -> Device {
    let user = try activeUser(binding.user)
    if let id = binding.token {
      guard var token = directory.tokens[id], token.user == user.id, token.isValid(at: now) else { throw GatewayError.loginEnded }
      token.uses -= 1
      if token.uses > 0 { put(.token(token)) } else { remove(.tokens, id) }
    }
    if let person = binding.person {
      try link(user.name, to: person.subject, by: binding.factors)
      _ = try signIn(person, creating: false)
    }
    let path = DevicePath(user: user.name, device: binding.device)
    if directory.device(at: path) == nil {
      try addDevice(path, publicKey: binding.publicKey)
    } else {
      try setKey(binding.publicKey, of: path)
    }
    let device = try device(path)
    let login = Login(
      id: directory.login(of: device.id)?.id ?? newID(), device: device.id, proven: now, factors: binding.factors, source: binding.source)
    put(.login(login))
    record("login", path, "\(binding.factors), from \(binding.source)")
    return device
  }
}

// Sessions.
extension Administration {
  /// Ends the session of a device that logged in: its key is refused until it logs in again. Its addresses stay.
  package mutating func endSession(of path: DevicePath) throws(GatewayError) {
    let device = try device(path)
    guard let login = directory.login(of: device.id) else {
      throw GatewayError(
        "\(path) has not logged in: it has no session", help: "`roamward-gateway device remove \(path)` disconnects it for good")
    }
    end(login, path)
  }

  /// Ends the sessions of all devices of a user. Returns the devices that have none, and stay connected: they have not logged in.
  package mutating func endSessions(of name: GatewayName) throws(GatewayError) -> [DevicePath] {
    let devices = directory.devices(of: try user(name).id)
    var others: [DevicePath] = []
    for device in devices {
      let path = DevicePath(user: name, device: device.name)
      if let login = directory.login(of: device.id) { end(login, path) } else { others.append(path) }
    }
    guard others.count < devices.count else {
      throw GatewayError(
        "\(name) has no session: no device has logged in", help: "`roamward-gateway user lock \(name)` refuses all devices")
    }
    return others
  }

  private mutating func end(_ login: Login, _ path: DevicePath) {
    if login.ended != nil { return }
    var login = login
    login.ended = now
    put(.login(login))
    record("session end", path)
  }
}

extension GatewayError {
  static let loginEnded = GatewayError("the account, or the token, is not valid any more", help: "log in again")
}
