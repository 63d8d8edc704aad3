package import GatewayCore
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

extension Directory {
  /// The name in a person's own link; `nil`: the person signs in at the OpenID provider, where a link with a name asks for a password.
  package func nameInLink(of user: User) -> GatewayName? {
    // That of an account of PAM, which has a password, begins with another word (`User.subject`).
    let isAtProvider = user.subject.map { !$0.hasPrefix("pam ") } ?? false
    return isAtProvider && credential(of: user.id)?.password.isEmpty ?? true ? nil : user.name
  }
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
