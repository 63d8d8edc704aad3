package import GatewayCore
package import KernelModel
package import NetworkTypes
package import PageProtocol

/// The asking device, its user and the role: WireGuard has proved that the packets come from the device with the source address.
package struct PageAsker: Hashable, Sendable {
  package let device: Device
  package let user: User
  package let role: PageRole

  /// `nil`: no device has the address now, or it may not connect.
  package init?(_ directory: Directory, from address: IPAddress, _ settings: PageSettings?, at now: Timestamp) {
    guard let device = directory.lease(of: address)?.device.flatMap({ directory.devices[$0] }), let user = directory.users[device.user],
      directory.isActive(device, at: now)
    else { return nil }
    self.device = device
    self.user = user
    role = directory.role(of: user.id, in: settings).role
  }

  package var path: DevicePath { DevicePath(user: user.name, device: device.name) }

  /// As the audit log writes it.
  package var actor: String { "page \(path)" }

  package func may(_ question: PageQuestion) -> Bool { role >= question.leastRole }
}

/// The limits of a person's questions and changes: a page that runs wild must cost the gateway nothing.
package struct PageLimits: Hashable, Sendable {
  package static let questionsInSecond = 20
  package static let changesInMinute = 10

  private var questions: [Int64: Int] = [:]
  private var changes: [Int64: Int] = [:]
  private var second: Int64 = 0
  private var minute: Int64 = 0

  package init() {}

  /// Counts a question of a user; `false`: it is one too many.
  package mutating func admit(user: Int64, isChange: Bool, at now: Timestamp) -> Bool {
    let now = now.seconds
    if now != second { (second, questions) = (now, [:]) }
    if now / 60 != minute { (minute, changes) = (now / 60, [:]) }
    questions[user, default: 0] += 1
    guard questions[user, default: 0] <= Self.questionsInSecond else { return false }
    guard isChange else { return true }
    changes[user, default: 0] += 1
    return changes[user, default: 0] <= Self.changesInMinute
  }
}

// Changes by the page, in the transaction that makes them.
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

  /// Ends the session of any device, for a person who still is an operator.
  package mutating func endSession(of path: DevicePath, by asker: PageAsker, _ settings: PageSettings?) throws(GatewayError) {
    let user = try present(asker)
    guard directory.role(of: user.id, in: settings).role >= .operator else {
      throw GatewayError("you are no operator any more", help: "ask an administrator of the gateway")
    }
    try endSession(of: path)
  }

  /// The person, if this is still one, with the same device: another gateway may have changed it.
  private func present(_ asker: PageAsker) throws(GatewayError) -> User {
    guard let user = directory.users[asker.user.id], let device = directory.devices[asker.device.id], device.user == user.id,
      directory.isActive(device, at: now)
    else {
      throw GatewayError("this device is not one of a user any more", help: "connect again")
    }
    return user
  }
}
