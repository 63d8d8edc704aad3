package import LoginProtocol

/// The gateway as a client of the provider: the settings that `roamward-gateway-oidc` needs for sign-ins.
package struct OpenIDClient: Hashable, Sendable {
  package var issuer: String
  package var clientID: String
  /// `nil`: a public client.
  package var secret: String?
  package var userClaim: String
  package var groupsClaim: String
  package var scopes: [String]
  /// The values of the groups' claim that are looked for.
  package var groups: [String]
  /// Certificates (PEM); `nil`: those of the system.
  package var authorities: String?

  package init(_ settings: OpenIDSettings, secret: String?, authorities: String?) {
    issuer = settings.issuer
    clientID = settings.clientID
    self.secret = secret
    userClaim = settings.userClaim
    groupsClaim = settings.groupsClaim
    scopes = settings.scopes
    groups = settings.groups.map(\.value)
    self.authorities = authorities
  }

  fileprivate init(_ frame: LoginFrame) throws(LoginFrameError) {
    let value = 1...OpenIDSettings.valueLimit
    issuer = try frame.text(1, 1...SignInLimits.url)
    clientID = try frame.text(2, value)
    secret = frame[3] == nil ? nil : try frame.text(3, 1...SignInLimits.secret)
    userClaim = try frame.text(4, value)
    groupsClaim = try frame.text(5, value)
    scopes = try frame.text(6, 1...65_535).split(separator: " ").map(String.init)
    groups = try frame.text(7, 0...65_535, lines: true).split(separator: "\n").map(String.init)
    authorities = frame[8] == nil ? nil : try frame.text(8, 1...SignInLimits.authorities, lines: true)
  }

  fileprivate var frame: LoginFrame {
    var frame = LoginFrame(1)
    frame.add(1, issuer)
    frame.add(2, clientID)
    if let secret { frame.add(3, secret) }
    frame.add(4, userClaim)
    frame.add(5, groupsClaim)
    frame.add(6, scopes.joined(separator: " "))
    frame.add(7, groups.joined(separator: "\n"))
    if let authorities { frame.add(8, authorities) }
    return frame
  }
}

/// An order of `roamward-gateway` to `roamward-gateway-oidc`.
package enum OpenIDOrder: Hashable, Sendable {
  /// The first one.
  case configure(OpenIDClient)
  /// Begins a sign-in.
  case begin(number: UInt32)
  /// Looks whether the provider can be used, and ends.
  case check(number: UInt32)
  case cancel(number: UInt32)

  package var frame: LoginFrame {
    switch self {
    case .configure(let client): client.frame
    case .begin(let number): LoginFrame(2, number, [])
    case .check(let number): LoginFrame(3, number, [])
    case .cancel(let number): LoginFrame(4, number, [])
    }
  }

  package init(_ frame: LoginFrame) throws(LoginFrameError) {
    switch frame.kind {
    case 1: self = .configure(try OpenIDClient(frame))
    case 2: self = .begin(number: try frame.number())
    case 3: self = .check(number: try frame.number())
    case 4: self = .cancel(number: try frame.number())
    default: throw .kind
    }
  }
}

/// The person whom a valid ID token names.
package struct OpenIDIdentity: Hashable, Sendable {
  /// Unique at the issuer, printable ASCII.
  package var subject: String
  /// The value of the user's claim.
  package var name: String
  /// Which of the groups that were looked for the token has, by their numbers from 0.
  package var groups: Set<UInt8>

  package init(subject: String, name: String, groups: Set<UInt8> = []) {
    self.subject = subject
    self.name = name
    self.groups = groups
  }
}

/// A report of `roamward-gateway-oidc` to `roamward-gateway`. An attacker who takes that process over can send nothing else.
package enum OpenIDReport: Hashable, Sendable {
  /// It works, or says why it does not.
  case hello(trouble: String?)
  case page(number: UInt32, SignInPage)
  case identity(number: UInt32, OpenIDIdentity)
  case denied(number: UInt32)
  case expired(number: UInt32)
  /// The provider cannot be used; the text says why, and what to do.
  case failed(number: UInt32, String)
  /// The provider can be used.
  case checked(number: UInt32)

  private static let textLimit = 2000

  package var frame: LoginFrame {
    switch self {
    case .hello(let trouble):
      var frame = LoginFrame(1)
      if let trouble { frame.add(1, Self.cut(trouble)) }
      return frame
    case .page(let number, let page): return LoginFrame(2, number, GatewayMessage.visit(page).frame.bytes)
    case .identity(let number, let identity):
      var frame = LoginFrame(3, number, identity.subject)
      frame.add(3, identity.name)
      frame.add(4, identity.groups.sorted())
      return frame
    case .denied(let number): return LoginFrame(4, number, [])
    case .expired(let number): return LoginFrame(5, number, [])
    case .failed(let number, let text): return LoginFrame(6, number, Self.cut(text))
    case .checked(let number): return LoginFrame(7, number, [])
    }
  }

  private static func cut(_ text: String) -> String { String(text.prefix(textLimit / 4)) }

  package init(_ frame: LoginFrame) throws(LoginFrameError) {
    switch frame.kind {
    case 1: self = .hello(trouble: frame[1] == nil ? nil : try frame.text(1, 0...Self.textLimit, lines: true))
    case 2:
      guard case .visit(let page) = try GatewayMessage(LoginFrame(body: try frame.value(2, 3...LoginFrame.limit + 2).dropFirst(2))) else {
        throw .field
      }
      self = .page(number: try frame.number(), page)
    case 3:
      let identity = OpenIDIdentity(
        subject: try frame.text(2, 1...SignInLimits.subject), name: try frame.text(3, 1...OpenIDSettings.valueLimit),
        groups: Set(try frame.value(4, 0...OpenIDSettings.groupLimit)))
      guard identity.subject.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else { throw .field }
      self = .identity(number: try frame.number(), identity)
    case 4: self = .denied(number: try frame.number())
    case 5: self = .expired(number: try frame.number())
    case 6: self = .failed(number: try frame.number(), try frame.text(2, 0...Self.textLimit, lines: true))
    case 7: self = .checked(number: try frame.number())
    default: throw .kind
    }
  }

  package var number: UInt32? {
    switch self {
    case .hello: nil
    case .page(let number, _), .identity(let number, _), .denied(let number), .expired(let number), .failed(let number, _),
      .checked(let number):
      number
    }
  }
}
