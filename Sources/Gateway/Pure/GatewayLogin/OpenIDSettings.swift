package import GatewayCore
internal import NetworkTypes

/// The settings of sign-ins at an OpenID provider, from the file `openid` of the gateway's folder: a key and its value on each line.
package struct OpenIDSettings: Hashable, Sendable {
  /// The provider, as its ID tokens name it: an `https` URL.
  package var issuer: String
  package var clientID: String
  /// The file with the client's secret; `nil`: a public client.
  package var secretFile: String?
  /// The certificates that the provider's is verified by (PEM); `nil`: those of the system.
  package var authorityFile: String?
  /// The claim that has the user's name.
  package var userClaim = "preferred_username"
  /// The claim that has the groups, for `groups`.
  package var groupsClaim = "groups"
  package var scopes = ["openid", "profile"]
  /// Groups of this gateway whose members the provider decides on, with the provider's name for each.
  package var groups: [Mapping] = []
  /// Whether a user who does not exist is added at the first login.
  package var createsUsers = false

  package struct Mapping: Hashable, Sendable {
    package let group: GatewayName
    /// The value of the claim.
    package let value: String

    package init(group: GatewayName, value: String) {
      self.group = group
      self.value = value
    }
  }

  /// The most groups and scopes, and the most bytes of a value.
  package static let groupLimit = 64
  package static let scopeLimit = 16
  package static let valueLimit = 256

  package init(issuer: String, clientID: String) {
    self.issuer = issuer
    self.clientID = clientID
  }

  /// The text in the row of a user who is linked to a person of this provider.
  package func subject(of person: String) -> String { "\(issuer) \(person)" }
}

// The file.
extension OpenIDSettings {
  private static let issuerKey = "issuer"
  private static let clientKey = "client-id"

  package var text: String {
    var lines = ["\(Self.issuerKey) \(issuer)", "\(Self.clientKey) \(clientID)"]
    if let secretFile { lines.append("secret-file \(secretFile)") }
    if let authorityFile { lines.append("authority-file \(authorityFile)") }
    lines += ["user-claim \(userClaim)", "groups-claim \(groupsClaim)"]
    lines += scopes.map { "scope \($0)" } + groups.map { "group \($0.group) \($0.value)" }
    lines.append("create-users \(createsUsers ? "yes" : "no")")
    return lines.map { $0 + "\n" }.joined()
  }

  /// Throws what is wrong, with the line.
  package init(parsing text: String) throws(GatewayError) {
    var found: [String: String] = [:]
    self.init(issuer: "", clientID: "")
    var scopes: [String] = []
    for (number, line) in zip(1..., text.split(separator: "\n", omittingEmptySubsequences: false)) {
      let parts = line.split(separator: " ", maxSplits: 1)
      guard let key = parts.first.map(String.init), key.first != "#" else { continue }
      let value = parts.count > 1 ? String(parts[1]) : ""
      switch key {
      case "scope": scopes.append(value)
      case "group":
        let words = value.split(separator: " ", maxSplits: 1)
        guard words.count == 2, let group = GatewayName(String(words[0])) else {
          throw GatewayError("openid, line \(number): `group` needs a group of this gateway and the provider's value")
        }
        groups.append(Mapping(group: group, value: String(words[1])))
      case Self.issuerKey, Self.clientKey, "secret-file", "authority-file", "user-claim", "groups-claim", "create-users":
        guard found.updateValue(value, forKey: key) == nil else { throw GatewayError("openid, line \(number): a second `\(key)`") }
      default: throw GatewayError("openid, line \(number): there is no key `\(key)`")
      }
    }
    issuer = found[Self.issuerKey] ?? ""
    clientID = found[Self.clientKey] ?? ""
    secretFile = found["secret-file"]
    authorityFile = found["authority-file"]
    userClaim = found["user-claim"] ?? userClaim
    groupsClaim = found["groups-claim"] ?? groupsClaim
    if !scopes.isEmpty { self.scopes = scopes }
    switch found["create-users"] {
    case "yes": createsUsers = true
    case "no", nil: break
    case let other?: throw GatewayError("openid: `create-users` is `yes` or `no`, and not `\(other)`")
    }
    if let fault { throw fault }
  }

  /// The first problem of the values; `nil`: none.
  package var fault: GatewayError? {
    guard Self.isIssuer(issuer) else {
      return GatewayError(
        "openid: the issuer `\(issuer)` is no https URL",
        help: "use the provider's issuer, as https://login.example.com/realms/corp, without `?` and `#`")
    }
    guard Self.isValue(clientID) else {
      return GatewayError(
        "openid: the client ID is missing, or no printable text", help: "use the one that the provider gave to this gateway")
    }
    for file in [secretFile, authorityFile].compactMap({ $0 }) where !file.hasPrefix("/") || file.utf8.count > 4096 {
      return GatewayError("openid: `\(file)` is no absolute path", help: "begin it with /")
    }
    for claim in [userClaim, groupsClaim] where !Self.isValue(claim) {
      return GatewayError("openid: a claim cannot be named `\(claim)`", help: "use a name such as preferred_username, email or groups")
    }
    guard scopes.contains("openid"), scopes.count <= Self.scopeLimit, scopes.allSatisfy({ Self.isValue($0) && !$0.contains(" ") }) else {
      return GatewayError("openid: the scopes have to be \(Self.scopeLimit) words at most, `openid` among them", help: "correct --scope")
    }
    guard groups.count <= Self.groupLimit, groups.allSatisfy({ Self.isText($0.value) }), Set(groups.map(\.group)).count == groups.count
    else {
      return GatewayError(
        "openid: \(Self.groupLimit) groups at most, each once, each with a value of \(Self.valueLimit) bytes at most",
        help: "correct --group")
    }
    return nil
  }

  private static func isIssuer(_ text: String) -> Bool {
    guard text.utf8.count <= SignInLimits.url, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), !text.contains("@"),
      !text.contains("?"), !text.contains("#"), let parts = URLParts(text)
    else { return false }
    return parts.isSecure
  }

  /// Printable ASCII.
  private static func isValue(_ text: String) -> Bool {
    (1...valueLimit).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7e).contains($0) }
  }

  private static func isText(_ text: String) -> Bool {
    (1...valueLimit).contains(text.utf8.count) && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
  }
}

/// Bounds of what an OpenID provider may say, and of sign-ins.
package enum SignInLimits {
  /// Of a URL of the provider's, in bytes.
  package static let url = 1024
  /// Of a subject (OpenID Connect Core 1.0, 2: 255), in bytes.
  package static let subject = 255
  /// Sign-ins at once.
  package static let flows = 64
  /// Of the certificates in `authority-file`, and of a secret, in bytes.
  package static let authorities = 40_000
  package static let secret = 1024
}
