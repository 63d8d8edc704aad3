import GatewayCore
import GatewayLogin
import PolicySource

/// A setting of one gateway alone, with a file of its own beside the store, which several gateways may have.
///
/// By test, the manual page has each file with the key that commands set.
package enum SettingFile: String, CaseIterable, Sendable {
  /// The OpenID provider at which people sign in.
  case openID = "openid"
  /// The PAM service that checks passwords.
  case pam
  /// The text that people see when they log in.
  case banner
  /// The port of relays.
  case relay
  /// The page in the tunnel.
  case page
  /// The age of the last reading of the store at which all devices are disconnected.
  case staleAfter = "stale-after"
  /// That the kernel's forwarding is left as it is.
  case forwarding

  /// Its place in a file that declares the gateway. A key alone may be off; others are within one.
  package var key: [String] {
    switch self {
    case .openID: ["logins", "openid"]
    case .pam: ["logins", "pam"]
    case .banner: ["logins", "banner"]
    case .relay: ["relay"]
    case .page: ["page"]
    case .staleAfter: ["store", "stale-after"]
    case .forwarding: ["gateway", "forwarding"]
    }
  }

  /// Its value in a file, from its text; `nil`: the text is none.
  func yaml(of text: String) -> YAMLValue? {
    switch self {
    case .openID: (try? OpenIDSettings(parsing: text))?.yaml
    case .pam: (try? PAMSettings(parsing: text))?.yaml
    case .banner: text.isEmpty ? nil : .text(text)
    case .relay: UInt16(line(text)).map { .mapping(YAMLMapping([("port", .word("\($0)"))])) }
    case .page: PageSettings(text)?.yaml
    case .staleAfter: Int64(line(text)).map { .text("\($0)s") }
    case .forwarding: .word("false")
    }
  }

  /// The subject of its changes.
  package var subject: String {
    switch self {
    case .openID: "sign-ins at an OpenID provider"
    case .pam: "passwords by PAM"
    case .banner: "banner"
    case .relay: "relay, TCP port"
    case .page: "page"
    case .staleAfter: "seconds without the store until all sessions end"
    case .forwarding: "forwarding by the kernel"
    }
  }

  /// The setting's name in messages about a gateway that has not taken it yet; `nil`: the file is read at each use.
  package var nameOfTaken: String? {
    switch self {
    case .openID: "OpenID"
    case .pam: "PAM"
    case .relay, .page: rawValue
    case .banner, .staleAfter, .forwarding: nil
    }
  }

  /// Its change in the audit log, where `login` is what a person does.
  package func verb(isSet: Bool) -> String { "\(rawValue) \(isSet ? "set" : "remove")" }
}

private func line(_ text: String) -> String { String(text.prefix { $0 != "\n" }) }
