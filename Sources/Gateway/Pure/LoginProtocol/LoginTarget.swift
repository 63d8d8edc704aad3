package import NetworkTypes

/// A gateway to log in at, as a person gives it: `[USER@]HOST[:PORT]`, or the link of its administrator (docs/wire-format.md).
package struct LoginTarget: Hashable, Sendable {
  /// The endpoint at which the gateway takes logins.
  package let server: Endpoint
  /// The name for a login with a password; `nil`: a token, or a sign-in at an OpenID provider.
  package let user: String?
  /// The key of its logins; `nil`: the person has to confirm the one that it shows.
  package let pin: GatewayPin?
  /// Stands for the user's password, once: the link is an invitation, and a secret.
  package let token: LoginToken?

  /// The port of logins if none is named: that of WireGuard's documents.
  package static let usualPort: UInt16 = 51820

  private static let scheme = "roamward://"
  /// A link is shorter: 253 bytes of a name, 192 of a user.
  private static let lengthLimit = 600

  /// `nil` if the user's name cannot be one of a login, or a token has none.
  package init?(server: Endpoint, user: String? = nil, pin: GatewayPin? = nil, token: LoginToken? = nil) {
    if let user, !Self.isUser(user) { return nil }
    if token != nil, user == nil { return nil }
    self.server = server
    self.user = user
    self.pin = pin
    self.token = token
  }

  package init(_ text: String) throws(LoginTargetFault) {
    guard text.utf8.count <= Self.lengthLimit else { throw LoginTargetFault("it is longer than \(Self.lengthLimit) bytes") }
    if text.hasPrefix(Self.scheme) {
      try self.init(link: text.dropFirst(Self.scheme.count))
    } else {
      try self.init(name: text)
    }
  }

  private init(name text: String) throws(LoginTargetFault) {
    if text.contains("://") { throw LoginTargetFault("a link begins with `\(Self.scheme)`") }
    let at = text.lastIndex(of: "@")
    let user = at.map { String(text[..<$0]) }
    if let user, !Self.isUser(user) { throw .user }
    let host = at.map { text[text.index(after: $0)...] } ?? text[...]
    // An IPv6 address stands alone without brackets.
    let address = IPAddress(String(host)).map { Endpoint(host: .address($0), port: Self.usualPort) }
    guard let server = address ?? Self.server(host) else { throw .server(host) }
    (self.server, self.user, pin, token) = (server, user, nil, nil)
  }

  private init(link text: Substring) throws(LoginTargetFault) {
    guard let slash = text.firstIndex(of: "/"), text[slash...].hasPrefix("/?") else {
      throw LoginTargetFault("a link is `\(Self.scheme)HOST/?pin=…`; the shell needs it in single quotes")
    }
    let host = text[..<slash]
    guard let server = Self.server(host) else { throw .server(host) }
    var values: [Substring: Substring] = [:]
    for part in text[slash...].dropFirst(2).split(separator: "&", omittingEmptySubsequences: false) {
      guard let equals = part.firstIndex(of: "="), ["pin", "user", "token"].contains(part[..<equals]) else {
        throw LoginTargetFault("a link has `pin=`, `user=` and `token=` alone")
      }
      guard values.updateValue(part[part.index(after: equals)...], forKey: part[..<equals]) == nil else {
        throw LoginTargetFault("the link has `\(part[..<equals])=` twice")
      }
    }
    guard let text = values["pin"] else { throw LoginTargetFault("the link has no `pin=`; the shell needs it in single quotes") }
    guard let pin = GatewayPin(inLink: text) else { throw LoginTargetFault("the link's pin is not whole: it has 43 characters of base64") }
    var user: String?
    if let text = values["user"] {
      guard let name = Self.decoded(text), Self.isUser(name) else { throw .user }
      user = name
    }
    var token: LoginToken?
    if let text = values["token"] {
      token = LoginToken(String(text))
      if token == nil { throw LoginTargetFault("the link's token is not whole: it has `rw1-` and 32 letters and digits") }
      if user == nil { throw LoginTargetFault("the link has a token, and no `user=`") }
    }
    (self.server, self.user, self.pin, self.token) = (server, user, pin, token)
  }

  /// Written from the values alone; `nil` without a pin.
  package var link: String? {
    guard let pin else { return nil }
    let host =
      if case .address(let address) = server.host, address.family == .v6 { "[\(address)]" } else { server.host.description }
    let port = server.port == Self.usualPort ? "" : ":\(server.port)"
    // A shell without quotes ends the command at the `&`: it lacks the pin then, and is refused.
    let token = token.map { "token=\($0)&" } ?? ""
    return "\(Self.scheme)\(host)\(port)/?" + (user.map { "user=\(Self.encoded($0))&" } ?? "") + token + "pin=\(pin.inLink)"
  }

  /// A name or an address, with a port or without one.
  private static func server(_ text: Substring) -> Endpoint? { Endpoint(String(text)) ?? Endpoint("\(text):\(usualPort)") }

  private static func isUser(_ text: String) -> Bool {
    (1...ClientMessage.nameLimit).contains(text.utf8.count) && LoginFrame.text(Array(text.utf8)) != nil
  }

  // MARK: Percent encoding (RFC 3986)

  /// The characters that stand for themselves.
  private static func isPlain(_ byte: UInt8) -> Bool {
    (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte) || "-._~@".utf8.contains(byte)
  }

  private static func encoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF")
    return text.utf8.map { byte in
      isPlain(byte) ? String(Unicode.Scalar(byte)) : "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
    }.joined()
  }

  private static func decoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%") {
        guard let high = digit(rest.popFirst()), let low = digit(rest.popFirst()) else { return nil }
        bytes.append(high << 4 | low)
      } else {
        guard isPlain(byte) else { return nil }
        bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private static func digit(_ byte: UInt8?) -> UInt8? {
    switch byte {
    case let byte? where (48...57).contains(byte): byte - 48
    case let byte? where (65...70).contains(byte & 0xdf): (byte & 0xdf) - 55
    default: nil
    }
  }
}

/// The reason why a text names no gateway, for people.
package struct LoginTargetFault: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }

  static let user = LoginTargetFault("a user's name has 1 to \(ClientMessage.nameLimit) bytes, and no control characters")

  static func server(_ text: Substring) -> LoginTargetFault {
    LoginTargetFault("`\(text)` is no name or address with a port from 1 to 65535, such as vpn.example.com or 192.0.2.1:51820")
  }
}
