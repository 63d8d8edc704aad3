internal import JSON
internal import LoginProtocol
internal import NetworkTypes

/// The state of the provider that the agent keeps: the device's key, and the result of its last login.
struct ClientMemory: Equatable {
  /// A login. Its key is bound at the gateway, so no further one is needed.
  struct Login: Equatable {
    /// The options that it was for (`ClientOptions.identity`).
    let identity: String
    /// As the gateway has sent it last: at the login, or later through the tunnel.
    var grant: LoginGrant
    /// Whether the gateway has answered a handshake since.
    var isProven = false
    /// The starts without an answer since the login or the last answer.
    var silentStarts = 0
  }

  /// A login that the gateway has never answered is repeated only after so many starts: a network that lets TCP pass, but no UDP, would
  /// cost a login each time.
  static let patience = 5

  let key: DeviceKey
  var login: Login?

  init(key: DeviceKey, login: Login? = nil) {
    self.key = key
    self.login = login
  }

  /// `nil` if these bytes are none of `bytes`.
  init?(_ bytes: [UInt8]) {
    guard let json = try? JSON(parsing: bytes), let key = Self.data(json["key"]).flatMap({ DeviceKey(secret: $0) }) else { return nil }
    self.init(key: key)
    guard let identity = json["identity"]?.string, let body = Self.data(json["grant"]), let frame = try? LoginFrame(body: body[...]),
      let grant = try? LoginGrant(frame)
    else { return }
    login = Login(
      identity: identity, grant: grant, isProven: json["proven"]?.bool ?? false,
      silentStarts: json["silent"]?.integer.flatMap { Int(exactly: $0) } ?? 0)
  }

  var bytes: [UInt8] {
    var members: [JSON.Member] = [.init(key: "key", value: .string(base64(key.secret)))]
    if let login {
      members += [
        .init(key: "identity", value: .string(login.identity)),
        .init(key: "grant", value: .string(base64(Array(login.grant.frame(0).bytes.dropFirst(2))))),
        .init(key: "proven", value: .bool(login.isProven)), .init(key: "silent", value: .integer(Int64(login.silentStarts))),
      ]
    }
    return Array(JSON.object(members).text().utf8)
  }

  private static func data(_ json: JSON?) -> [UInt8]? { json?.string.flatMap { NetworkTypes.bytes(fromBase64: $0) } }
}
