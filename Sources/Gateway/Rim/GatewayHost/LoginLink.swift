package import GatewayCore
internal import GatewayCredentials
internal import GatewayStore
package import LoginProtocol

/// A new one-time token: the store gets its hash, and a person its text or a link with it.
package struct NewToken: Sendable {
  package let token: LoginToken
  /// SHA-256, which alone is kept.
  package var hash: [UInt8] { GatewayStore.digest(token.bytes) }

  package init() {
    var generator = SystemRandomNumberGenerator()
    token = LoginToken(random: (0..<LoginToken.length).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
  }
}

/// The link for `roamward login` at a gateway. With a token it is an invitation, and a secret.
package struct LoginLink: Hashable, Sendable {
  package let text: String

  package init(to folder: StateFolder, _ directory: Directory, user: GatewayName?, token: LoginToken? = nil) throws {
    guard let site = directory.site else { throw GatewayError.notInitialised }
    guard let pin = try folder.loginIdentity().flatMap({ LoginIdentity.pin(of: $0) }).flatMap({ GatewayPin($0) }) else {
      throw GatewayError("the gateway takes no logins, so there is no pin", help: "`roamward-gateway set logins on` accepts them")
    }
    guard let link = LoginTarget(server: site.endpoint, user: user?.description, pin: pin, token: token)?.link else {
      throw GatewayError("no link can be written for \(site.endpoint)")
    }
    text = link
  }
}
