package import GatewayCore
package import KernelModel
package import NetworkTypes

// Changes by the page, in the transaction that makes them. Rights are looked at there too: another gateway may have changed them.

// A person's own.
extension Administration {
  /// Adds a device of the person who asks.
  package mutating func addOwnDevice(
    _ name: GatewayName, _ publicKey: WireGuardKey, by asker: PageAsker
  ) throws(GatewayError) -> ClientFile {
    let device = try addDevice(DevicePath(user: try present(asker).name, device: name), publicKey: publicKey)
    return try ClientFile(directory, device)
  }

  package mutating func removeOwnDevice(_ name: GatewayName, by asker: PageAsker) throws(GatewayError) {
    try removeDevice(DevicePath(user: try present(asker).name, device: name))
  }

  /// The person, if this is still one, with the same device.
  private func present(_ asker: PageAsker) throws(GatewayError) -> User {
    guard let user = directory.users[asker.user.id], let device = directory.devices[asker.device.id], device.user == user.id,
      directory.isActive(device, at: now)
    else {
      throw GatewayError("this device is not one of a user any more", help: "connect again")
    }
    return user
  }
}

// By operators and administrators.
extension Administration {
  /// Throws unless the person still has the role.
  private func require(_ role: PageRole, of asker: PageAsker, _ settings: PageSettings?) throws(GatewayError) {
    let user = try present(asker)
    guard directory.role(of: user.id, in: settings).role >= role else {
      throw GatewayError("you are no \(role) any more", help: "ask an administrator of the gateway")
    }
  }

  /// Ends the session of any device, for a person who still is an operator.
  package mutating func endSession(of path: DevicePath, by asker: PageAsker, _ settings: PageSettings?) throws(GatewayError) {
    try require(.operator, of: asker, settings)
    try endSession(of: path)
  }

  /// Locks or unlocks another user. A person who locked this user would have no page to undo it.
  package mutating func setLocked(
    _ isLocked: Bool, _ name: GatewayName, reason: String = "", by asker: PageAsker, _ settings: PageSettings?
  ) throws(GatewayError) {
    try require(.administrator, of: asker, settings)
    if isLocked, try user(name).id == asker.user.id {
      throw GatewayError("you cannot lock yourself", help: "ask another administrator")
    }
    try setLocked(isLocked, name, reason: reason)
  }

  /// Adds a token with which the user logs in once. A user of that name is added if there is none, unless a file declares users.
  ///
  /// - Parameter hash: SHA-256 of the token.
  package mutating func invite(
    _ name: GatewayName, withHash hash: [UInt8], by asker: PageAsker, _ settings: PageSettings?
  ) throws(GatewayError) -> Invitation {
    try require(.administrator, of: asker, settings)
    let isNew = directory.user(named: name) == nil
    if isNew {
      if let place = directory.marks.placeOfUsers {
        throw GatewayError("there is no user \(name), and \(place) declares the users", help: "add \(name) there, and invite again")
      }
      try addUser(name)
    }
    let user = try user(name)
    guard user.isActive(at: now) else {
      let help = user.isLocked ? "unlock \(name) first" : "the account needs a later end"
      throw GatewayError("\(name) is \(user.state(at: now)), and cannot log in", help: help)
    }
    try requireRoom(for: user)
    let until = now + Invitation.life
    return Invitation(user: name, isNew: isNew, token: try addToken(hash, for: name, uses: 1, until: until), until: until)
  }

  /// Removes tokens of the user that have ended, and throws if too many are left, of the user or as invitations of all.
  private mutating func requireRoom(for user: User) throws(GatewayError) {
    for token in directory.tokens.values.filter({ $0.user == user.id && !$0.isValid(at: now) }).sorted(by: { $0.id < $1.id }) {
      try removeToken(token.id)
    }
    let valid = directory.tokens.values.filter { $0.isValid(at: now) }
    guard valid.count(where: { $0.user == user.id }) < Invitation.limitOfUser else {
      throw GatewayError("\(user.name) has \(Invitation.limitOfUser) tokens already", help: "use one of them, or wait for an hour")
    }
    // A token of a command may last for as short a time: it is none of many then.
    guard valid.count(where: { $0.until <= now + Invitation.life }) < Invitation.limit else {
      throw GatewayError("\(Invitation.limit) invitations are open already", help: "wait for an hour")
    }
  }
}

/// A person who was asked to log in, for a short time.
package struct Invitation: Hashable, Sendable {
  package let user: GatewayName
  /// Whether the user was added for it.
  package let isNew: Bool
  /// The number of its token, as `token revoke` takes it.
  package let token: Int64
  package let until: Timestamp

  package init(user: GatewayName, isNew: Bool, token: Int64, until: Timestamp) {
    self.user = user
    self.isNew = isNew
    self.token = token
    self.until = until
  }

  package static let life = Duration.seconds(3600)
  /// The most valid tokens of a user, and the most open invitations of all.
  package static let limitOfUser = 5
  package static let limit = 100
}

extension DeclaredMarks {
  /// A place where files declare users; `nil`: none does.
  fileprivate var placeOfUsers: String? {
    rows.values.filter { $0.subject.kind == .user }.min { ($0.site, $0.id) < ($1.site, $1.id) }?.place
  }
}
