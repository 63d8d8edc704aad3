package import NetworkTypes

/// A message of a gateway in a login.
package enum GatewayMessage: Hashable, Sendable {
  /// The version of the login, and the methods to begin with.
  case welcome(version: UInt8, methods: [LoginMethod])
  /// A question, with a text for the person.
  case more(LoginMethod, text: String)
  /// A question of the service that checks the password. `echo`: whether the answer may be seen as it is typed.
  case prompt(text: String, echo: Bool)
  /// A page at which the person enters a code. No answer follows: the gateway learns the rest from the OpenID provider.
  case visit(SignInPage)
  case done(LoginGrant)
  /// `retryAfter`: seconds, 0 where trying again does not help.
  case failed(LoginFailure, retryAfter: UInt16)
  /// The answer to `ClientMessage.relay`, with the version. Datagrams follow, in both directions.
  case relaying(version: UInt8)

  private enum Kind {
    static let welcome: UInt8 = 0x81
    static let more: UInt8 = 0x82
    static let done: UInt8 = 0x83
    static let failed: UInt8 = 0x84
    static let relaying: UInt8 = 0x85
  }

  package static let textLimit = 1024

  package var frame: LoginFrame {
    switch self {
    case .welcome(let version, let methods):
      var frame = LoginFrame(Kind.welcome)
      frame.add(1, [version])
      frame.add(2, methods.map(\.rawValue))
      return frame
    case .more(let method, let text):
      var frame = LoginFrame(Kind.more)
      frame.add(1, [method.rawValue])
      frame.add(2, text)
      return frame
    case .prompt(let text, let echo):
      var frame = LoginFrame(Kind.more)
      frame.add(1, [LoginMethod.prompt.rawValue])
      frame.add(2, text)
      frame.add(3, [echo ? 1 : 0])
      return frame
    case .visit(let page): return page.frame(Kind.more)
    case .done(let grant): return grant.frame(Kind.done)
    case .failed(let failure, let seconds):
      var frame = LoginFrame(Kind.failed)
      frame.add(1, [failure.rawValue])
      frame.add(2, LoginFrame.bigEndian(Int(seconds)))
      return frame
    case .relaying(let version):
      var frame = LoginFrame(Kind.relaying)
      frame.add(1, [version])
      return frame
    }
  }

  package init(_ frame: LoginFrame) throws(LoginFrameError) {
    switch frame.kind {
    case Kind.welcome:
      self = .welcome(version: try frame.value(1, 1...1)[0], methods: try frame.value(2, 0...64).compactMap { LoginMethod(rawValue: $0) })
    case Kind.more:
      guard let method = LoginMethod(rawValue: try frame.value(1, 1...1)[0]) else { throw .field }
      if method == .openID {
        self = .visit(try SignInPage(frame))
        return
      }
      let text = try frame.text(2, 0...Self.textLimit, lines: true)
      self = method == .prompt ? .prompt(text: text, echo: try frame.value(3, 1...1)[0] == 1) : .more(method, text: text)
    case Kind.done: self = .done(try LoginGrant(frame))
    case Kind.failed:
      guard let failure = LoginFailure(rawValue: try frame.value(1, 1...1)[0]) else { throw .field }
      let seconds = try frame.value(2, 2...2)
      self = .failed(failure, retryAfter: UInt16(seconds[0]) << 8 | UInt16(seconds[1]))
    case Kind.relaying: self = .relaying(version: try frame.value(1, 1...1)[0])
    default: throw .kind
    }
  }
}

/// The settings that a device gets: all that WireGuard needs besides the device's own private key.
package struct LoginGrant: Hashable, Sendable {
  package var user: String
  package var device: String
  /// The gateway's public key of WireGuard.
  package var gatewayKey: [UInt8]
  /// The gateway's `host:port`.
  package var endpoint: String
  package var addresses: [IPAddress]
  package var routes: [IPPrefix]
  package var dns: [IPAddress]
  package var search: [String]
  package var mtu: UInt16?
  package var keepalive: UInt16?
  /// The TCP port at which the gateway relays datagrams, for networks that let no UDP pass; `nil`: it does not.
  package var relayPort: UInt16?
  /// The gateway's own addresses in the tunnel, which changed settings come from (`SettingsPush`).
  package var gatewayAddresses: [IPAddress]
  /// The gateways that know the device, this one too; empty: it is the only one.
  package var sites: [GatewaySite]

  package init(
    user: String, device: String, gatewayKey: [UInt8], endpoint: String, addresses: [IPAddress], routes: [IPPrefix] = [],
    dns: [IPAddress] = [], search: [String] = [], mtu: UInt16? = nil, keepalive: UInt16? = nil, relayPort: UInt16? = nil,
    gatewayAddresses: [IPAddress] = [], sites: [GatewaySite] = []
  ) {
    self.user = user
    self.device = device
    self.gatewayKey = gatewayKey
    self.endpoint = endpoint
    self.addresses = addresses
    self.routes = routes
    self.dns = dns
    self.search = search
    self.mtu = mtu
    self.keepalive = keepalive
    self.relayPort = relayPort
    self.gatewayAddresses = gatewayAddresses
    self.sites = sites
  }

  /// Whether it fits into a frame, also with the number of a push; settings that are too many do not.
  package var isSendable: Bool { SettingsPush(number: 0, self).frame.bytes.count - 2 <= LoginFrame.limit }

  /// `number`: that of a push.
  package func frame(_ kind: UInt8, number: UInt64? = nil) -> LoginFrame {
    var frame = LoginFrame(kind)
    frame.add(1, user)
    frame.add(2, device)
    frame.add(3, gatewayKey)
    frame.add(4, endpoint)
    frame.add(5, Self.bytes(of: addresses))
    frame.add(6, routes.flatMap { [Self.number($0.family), UInt8($0.length)] + $0.address.bytes })
    frame.add(7, Self.bytes(of: dns))
    frame.add(8, search.joined(separator: " "))
    if let mtu { frame.add(9, LoginFrame.bigEndian(Int(mtu))) }
    if let keepalive { frame.add(10, LoginFrame.bigEndian(Int(keepalive))) }
    if let relayPort { frame.add(11, LoginFrame.bigEndian(Int(relayPort))) }
    if !gatewayAddresses.isEmpty { frame.add(12, Self.bytes(of: gatewayAddresses)) }
    if let number { frame.add(13, (0..<8).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }) }
    if !sites.isEmpty { frame.add(14, GatewaySite.bytes(of: sites)) }
    return frame
  }

  package init(_ frame: LoginFrame) throws(LoginFrameError) {
    func number(_ tag: UInt8) throws(LoginFrameError) -> UInt16? {
      if frame[tag] == nil { return nil }
      let bytes = try frame.value(tag, 2...2)
      return UInt16(bytes[0]) << 8 | UInt16(bytes[1])
    }
    let limit = 0...LoginFrame.limit
    self.init(
      user: try frame.text(1, 1...ClientMessage.nameLimit), device: try frame.text(2, 1...ClientMessage.nameLimit),
      gatewayKey: try frame.value(3, 32...32), endpoint: try frame.text(4, 1...300), addresses: try Self.addresses(frame.value(5, limit)),
      routes: try Self.prefixes(frame.value(6, limit)), dns: try Self.addresses(frame.value(7, limit)),
      search: try frame.text(8, limit).split(separator: " ").map(String.init), mtu: try number(9), keepalive: try number(10),
      relayPort: try number(11), gatewayAddresses: frame[12] == nil ? [] : try Self.addresses(frame.value(12, limit)),
      sites: frame[14] == nil ? [] : try GatewaySite.list(frame.value(14, limit)))
  }

  private static func number(_ family: IPAddress.Family) -> UInt8 { family == .v4 ? 4 : 6 }

  static func bytes(of addresses: [IPAddress]) -> [UInt8] { addresses.flatMap { [number($0.family)] + $0.bytes } }

  /// Each one: 4 or 6, then its 4 or 16 bytes.
  static func addresses(_ bytes: [UInt8]) throws(LoginFrameError) -> [IPAddress] {
    var rest = bytes[...]
    var found: [IPAddress] = []
    while let family = rest.popFirst() { found.append(try address(family, &rest)) }
    return found
  }

  private static func address(_ family: UInt8, _ rest: inout ArraySlice<UInt8>) throws(LoginFrameError) -> IPAddress {
    let count = family == 4 ? 4 : 16
    guard family == 4 || family == 6, rest.count >= count, let address = IPAddress(bytes: rest.prefix(count)) else { throw .field }
    rest = rest.dropFirst(count)
    return address
  }

  /// Each one: 4 or 6, the length of the prefix, then 4 or 16 bytes.
  private static func prefixes(_ bytes: [UInt8]) throws(LoginFrameError) -> [IPPrefix] {
    var rest = bytes[...]
    var found: [IPPrefix] = []
    while let family = rest.popFirst() {
      guard let length = rest.popFirst() else { throw .field }
      let address = try address(family, &rest)
      guard let prefix = IPPrefix(address, length: Int(length)), prefix.address == address else { throw .field }
      found.append(prefix)
    }
    return found
  }
}
