internal import GatewayLogin
package import JSON
internal import NetworkTypes

/// A problem of an OpenID provider: one sentence for an administrator, with what to do. Printable ASCII.
package struct ProviderFault: Error, Hashable, Sendable, CustomStringConvertible {
  package let description: String

  package init(_ text: String) { description = text }
}

/// Text of a provider that is shown to an administrator: printable ASCII, cut.
func shown(_ text: String) -> String {
  String(decoding: text.utf8.prefix(160).map { (0x20...0x7e).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
}

/// A provider's description of itself (OpenID Connect Discovery 1.0, 3; RFC 8628, 4): what a device's sign-in needs.
package struct ProviderMetadata: Hashable, Sendable {
  package let deviceEndpoint: String
  package let tokenEndpoint: String
  package let keysURL: String
  /// Whether the client proves itself by HTTP Basic (RFC 6749, 2.3.1), otherwise in the form.
  package let usesBasic: Bool

  /// The description's address (OpenID Connect Discovery 1.0, 4.1).
  package static func url(of issuer: String) -> String {
    (issuer.last == "/" ? String(issuer.dropLast()) : issuer) + "/.well-known/openid-configuration"
  }

  package init(_ json: JSON, issuer: String) throws(ProviderFault) {
    guard let told = json["issuer"]?.string else { throw ProviderFault("\(issuer) does not describe an OpenID provider; check the issuer") }
    guard told == issuer else {
      throw ProviderFault("\(issuer) says that it is \(shown(told)); use exactly that as the issuer, if it is the right one")
    }
    func endpoint(_ key: String) throws(ProviderFault) -> String? {
      guard let text = json[key]?.string else { return nil }
      guard text.utf8.count <= SignInLimits.url, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }), URLParts(text)?.isSecure == true
      else {
        throw ProviderFault("\(issuer): \(key) is no https URL: \(shown(text)); ask the provider's administrator")
      }
      return text
    }
    guard let device = try endpoint("device_authorization_endpoint") else {
      throw ProviderFault("\(issuer) offers no sign-in of devices (RFC 8628); turn it on there, or use another provider")
    }
    guard let token = try endpoint("token_endpoint"), let keys = try endpoint("jwks_uri") else {
      throw ProviderFault("\(issuer) has no token_endpoint or no jwks_uri; ask the provider's administrator")
    }
    if let algorithms = json["id_token_signing_alg_values_supported"]?.array?.compactMap(\.string),
      SignatureAlgorithm.allCases.allSatisfy({ !algorithms.contains($0.rawValue) })
    {
      throw ProviderFault("\(issuer) signs ID tokens neither by RS256 nor by ES256; choose one of them there")
    }
    let methods = json["token_endpoint_auth_methods_supported"]?.array?.compactMap(\.string) ?? []
    (deviceEndpoint, tokenEndpoint, keysURL) = (device, token, keys)
    usesBasic = methods.contains("client_secret_basic") || !methods.contains("client_secret_post")
  }
}
