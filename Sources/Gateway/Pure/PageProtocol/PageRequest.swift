package import GatewayCore
package import KernelModel
package import LoginProtocol
package import NetworkTypes

/// A question of a person on the page.
package enum PageQuestion: Hashable, Sendable {
  /// The person's own devices, and whether this is an administrator.
  case me
  /// Adds a device of the person; without a public key, a key is made for it.
  case addDevice(GatewayName, publicKey: WireGuardKey?)
  /// Removes a device of the person.
  case removeDevice(GatewayName)
  /// The link by which another computer of the person logs in here. It has no secret.
  case link

  // Operators.
  /// The devices whose path contains the text, or those of them that are connected now: connection and login.
  case devices(search: String, isConnected: Bool = false)
  /// The groups, and the users, whose names contain the text.
  case groups(search: String)
  /// The rules of access in their order.
  case rules
  /// The newest entries of the audit log.
  case audit
  /// Whether a user may reach an address, and by which rule.
  case access(user: GatewayName, destination: IPAddress, transport: Transport, port: UInt16?)
  /// Ends the session of a device.
  case endSession(DevicePath)

  // Administrators.
  /// Makes a link by which a user logs in once, without a password. A user of that name is added if there is none.
  case invite(GatewayName)
  /// Locks a user, with the reason for the audit log.
  case lock(GatewayName, reason: String)
  /// Unlocks a user.
  case unlock(GatewayName)

  /// Whether it changes something.
  package var isChange: Bool {
    switch self {
    case .addDevice, .removeDevice, .endSession, .invite, .lock, .unlock: true
    case .me, .link, .devices, .groups, .rules, .audit, .access: false
    }
  }

  /// The longest text to search for, in bytes.
  package static let searchLimit = 64
  /// The longest reason of a lock, in bytes.
  package static let reasonLimit = 200

  /// Whether a text is one that the gateway takes: a longer one, or a control character, would end the process that sends it.
  static func isText(_ text: String, upTo limit: Int) -> Bool {
    text.utf8.count <= limit && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
  }
}

/// A request of `roamward-gateway-web` to `roamward-gateway`, as a frame. An attacker who takes that process over can send nothing else.
package enum PageRequest: Hashable, Sendable {
  /// It works, or says why it does not.
  case hello(trouble: String?)
  /// A question of the person at a connection.
  case ask(number: UInt32, connection: UInt32, PageQuestion)
  /// The connection has ended.
  case ended(connection: UInt32)

  package var frame: LoginFrame {
    switch self {
    case .hello(let trouble):
      var frame = LoginFrame(1)
      if let trouble { frame.add(1, String(trouble.prefix(256))) }
      return frame
    case .ended(let connection):
      var frame = LoginFrame(2)
      frame.add(1, bigEndian(connection))
      return frame
    case .ask(let number, let connection, let question): return Self.frame(number, connection, question)
    }
  }

  private static func frame(_ number: UInt32, _ connection: UInt32, _ question: PageQuestion) -> LoginFrame {
    func frame(_ kind: UInt8, _ fields: (UInt8, [UInt8])...) -> LoginFrame {
      var frame = LoginFrame(kind)
      frame.add(1, bigEndian(connection))
      frame.add(2, bigEndian(number))
      for (tag, value) in fields { frame.add(tag, value) }
      return frame
    }
    switch question {
    case .me: return frame(3)
    case .addDevice(let name, let key):
      var frame = frame(4, (3, Array(name.description.utf8)))
      if let key { frame.add(4, key.bytes) }
      return frame
    case .removeDevice(let name): return frame(5, (3, Array(name.description.utf8)))
    case .devices(let search, let isConnected):
      var frame = frame(6, (3, Array(search.utf8)))
      if isConnected { frame.add(4, []) }
      return frame
    case .groups(let search): return frame(7, (3, Array(search.utf8)))
    case .audit: return frame(8)
    case .endSession(let path): return frame(10, (3, Array(path.description.utf8)))
    case .link: return frame(11)
    case .rules: return frame(12)
    case .invite(let name): return frame(13, (3, Array(name.description.utf8)))
    case .lock(let name, let reason): return frame(14, (3, Array(name.description.utf8)), (4, Array(reason.utf8)))
    case .unlock(let name): return frame(15, (3, Array(name.description.utf8)))
    case .access(let user, let destination, let transport, let port):
      var frame = frame(9, (3, Array(user.description.utf8)), (4, destination.bytes), (5, Array(transport.rawValue.utf8)))
      if let port { frame.add(6, [UInt8(port >> 8), UInt8(truncatingIfNeeded: port)]) }
      return frame
    }
  }

  package init(_ frame: LoginFrame) throws(LoginFrameError) {
    switch frame.kind {
    case 1: self = .hello(trouble: frame[1] == nil ? nil : try frame.text(1, 0...1024, lines: true))
    case 2: self = .ended(connection: try frame.integer(1))
    default: self = .ask(number: try frame.integer(2), connection: try frame.integer(1), try Self.question(frame))
    }
  }

  private static func question(_ frame: LoginFrame) throws(LoginFrameError) -> PageQuestion {
    func name() throws(LoginFrameError) -> GatewayName {
      guard let name = GatewayName(try frame.text(3, 1...64)) else { throw .field }
      return name
    }
    switch frame.kind {
    case 3: return .me
    case 4:
      if frame[4] == nil { return .addDevice(try name(), publicKey: nil) }
      guard let key = WireGuardKey(bytes: try frame.value(4, 32...32)) else { throw .field }
      return .addDevice(try name(), publicKey: key)
    case 5: return .removeDevice(try name())
    case 6: return .devices(search: try frame.text(3, 0...PageQuestion.searchLimit), isConnected: frame[4] != nil)
    case 7: return .groups(search: try frame.text(3, 0...PageQuestion.searchLimit))
    case 8: return .audit
    case 9:
      guard let destination = IPAddress(bytes: try frame.value(4, 4...16)), let transport = Transport(rawValue: try frame.text(5, 1...8))
      else { throw .field }
      var port: UInt16?
      if frame[6] != nil { port = try frame.value(6, 2...2).reduce(0) { $0 << 8 | UInt16($1) } }
      return .access(user: try name(), destination: destination, transport: transport, port: port)
    case 10:
      guard let path = DevicePath(try frame.text(3, 3...129)) else { throw .field }
      return .endSession(path)
    case 11: return .link
    case 12: return .rules
    case 13: return .invite(try name())
    case 14: return .lock(try name(), reason: try frame.text(4, 0...PageQuestion.reasonLimit))
    case 15: return .unlock(try name())
    default: throw .kind
    }
  }
}

/// A message of `roamward-gateway` to `roamward-gateway-web`.
package enum PageReply: Hashable, Sendable {
  /// To begin: the names and addresses that the page has, as a browser writes them (`Host`, RFC 9110 section 7.2).
  case start(hosts: [String])
  /// A new connection, whose socket comes with it.
  case connection(UInt32)
  /// `status`: of HTTP. `body`: JSON.
  case answer(number: UInt32, status: UInt16, body: String)

  /// The most bytes of a body: with the rest, it fits into a field.
  package static let bodyLimit = 60_000

  package var frame: LoginFrame {
    switch self {
    case .start(let hosts):
      var frame = LoginFrame(1)
      frame.add(1, hosts.joined(separator: " "))
      return frame
    case .connection(let number):
      var frame = LoginFrame(2)
      frame.add(1, bigEndian(number))
      return frame
    case .answer(let number, let status, let body):
      var frame = LoginFrame(3)
      frame.add(1, bigEndian(number))
      frame.add(2, [UInt8(status >> 8), UInt8(truncatingIfNeeded: status)])
      frame.add(3, body)
      return frame
    }
  }

  package init(_ frame: LoginFrame) throws(LoginFrameError) {
    switch frame.kind {
    case 1: self = .start(hosts: try frame.text(1, 0...16_384).split(separator: " ").map(String.init))
    case 2: self = .connection(try frame.integer(1))
    case 3:
      self = .answer(
        number: try frame.integer(1), status: try frame.value(2, 2...2).reduce(0) { $0 << 8 | UInt16($1) },
        body: try frame.text(3, 0...Self.bodyLimit, lines: true))
    default: throw .kind
    }
  }
}

private func bigEndian(_ number: UInt32) -> [UInt8] { (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) } }

extension LoginFrame {
  fileprivate func integer(_ tag: UInt8) throws(LoginFrameError) -> UInt32 { try value(tag, 4...4).reduce(0) { $0 << 8 | UInt32($1) } }
}
