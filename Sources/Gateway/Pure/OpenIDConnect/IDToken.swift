package import GatewayLogin
package import JSON
package import NetworkTypes

/// An ID token (OpenID Connect Core 1.0, 2) in the compact form of a JSON web signature (RFC 7515).
package struct IDToken: Hashable, Sendable {
  let algorithm: SignatureAlgorithm
  let keyID: String?
  private let message: [UInt8]
  private let signature: [UInt8]
  /// Not to be believed before the signature is.
  private let claims: JSON

  /// In bytes.
  package static let limit = 65_536

  package init(_ text: String) throws(ProviderFault) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard text.utf8.count <= Self.limit, parts.count == 3, let head = base64url(parts[0]), let body = base64url(parts[1]),
      let header = try? JSON(parsing: head), let claims = try? JSON(parsing: body)
    else { throw ProviderFault("the ID token is no signed JSON web token") }
    guard let name = header["alg"]?.string, let algorithm = SignatureAlgorithm(rawValue: name) else {
      throw ProviderFault(
        "the ID token is signed by \(shown(header["alg"]?.string ?? "nothing")), and neither RS256 nor ES256; choose one there")
    }
    // RFC 7515, 4.1.11: what has to be understood is not.
    guard header["crit"] == nil else { throw ProviderFault("the ID token's header has critical parts that are not known here") }
    guard let signature = base64url(parts[2]), !signature.isEmpty else { throw ProviderFault("the ID token has no signature") }
    self.algorithm = algorithm
    keyID = header["kid"]?.string
    message = Array("\(parts[0]).\(parts[1])".utf8)
    self.signature = signature
    self.claims = claims
  }

  /// The claims, if one of the provider's keys has signed them. `check` is asked of keys for the token's algorithm alone.
  package func claims(signedBy keys: [JSONWebKey], _ check: SignatureCheck) throws(ProviderFault) -> JSON {
    // A key without a name may be any, and so may that of a token without one.
    let candidates = keys.filter { $0.algorithm == algorithm && (keyID == nil || $0.id == nil || $0.id == keyID) }
    guard !candidates.isEmpty else {
      throw ProviderFault("the provider has no key that the ID token names; see whether its keys are current")
    }
    guard algorithm != .es256 || signature.count == 64 else { throw ProviderFault("the ID token's signature is wrong") }
    let signature = algorithm == .es256 ? DER.ecdsaSignature(signature) : signature
    guard candidates.contains(where: { check($0.publicKey, message, signature) }) else {
      throw ProviderFault("the ID token's signature is wrong")
    }
    return claims
  }
}

/// The checks of an ID token's claims, which tell the person that has signed in (OpenID Connect Core 1.0, 3.1.3.7).
package struct IDTokenCheck: Hashable, Sendable {
  package var client: OpenIDClient
  /// When the sign-in began, and the present.
  package var begun: Timestamp
  package var now: Timestamp

  /// The tolerated difference of the provider's clock, in seconds.
  package static let skew = Duration.seconds(120)

  package init(_ client: OpenIDClient, begun: Timestamp, now: Timestamp) {
    self.client = client
    self.begun = begun
    self.now = now
  }

  package func identity(of claims: JSON) throws(ProviderFault) -> OpenIDIdentity {
    guard claims["iss"]?.string == client.issuer else { throw ProviderFault("the ID token is of another issuer: \(text(claims["iss"]))") }
    try checkAudience(claims)
    try checkTimes(claims)
    guard let subject = claims["sub"]?.string, (1...SignInLimits.subject).contains(subject.utf8.count),
      subject.utf8.allSatisfy({ (0x20...0x7e).contains($0) })
    else { throw ProviderFault("the ID token has no usable subject (sub)") }
    guard let name = value(client.userClaim, in: claims)?.string, (1...OpenIDSettings.valueLimit).contains(name.utf8.count),
      name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
    else {
      throw ProviderFault(
        "the ID token has no claim \(client.userClaim) with a name; ask the provider for it by a scope, or choose another --user-claim")
    }
    // An address that the provider has not verified is what its person likes.
    guard client.userClaim != "email" || claims["email_verified"]?.bool == true else {
      throw ProviderFault("the provider has not verified the address of \(shown(name)); choose another --user-claim")
    }
    return OpenIDIdentity(subject: subject, name: name, groups: groups(of: claims))
  }

  private func checkAudience(_ claims: JSON) throws(ProviderFault) {
    let audience = claims["aud"]?.string.map { [$0] } ?? claims["aud"]?.array?.compactMap(\.string) ?? []
    guard audience.contains(client.clientID) else { throw ProviderFault("the ID token is for another client: \(text(claims["aud"]))") }
    let party = claims["azp"]
    guard party == nil && audience.count == 1 || party?.string == client.clientID else {
      throw ProviderFault("the ID token was made for another client: \(text(party))")
    }
  }

  private func checkTimes(_ claims: JSON) throws(ProviderFault) {
    func time(_ key: String) -> Timestamp? {
      // RFC 7519, 2: a number that may have a fraction.
      claims[key]?.real.flatMap { Int64(exactly: $0.rounded(.down)) }.map { Timestamp(seconds: $0) }
    }
    let clocks = "see whether the clocks of both are right"
    guard let end = time("exp"), end > now - Self.skew else { throw ProviderFault("the ID token has ended (exp); \(clocks)") }
    guard let made = time("iat"), made <= now + Self.skew else { throw ProviderFault("the ID token is of the future (iat); \(clocks)") }
    guard made >= begun - Self.skew else { throw ProviderFault("the ID token is older than the sign-in (iat); \(clocks)") }
    guard claims["nbf"] == nil || time("nbf").map({ $0 <= now + Self.skew }) == true else {
      throw ProviderFault("the ID token is not valid yet (nbf); \(clocks)")
    }
  }

  private func groups(of claims: JSON) -> Set<UInt8> {
    guard !client.groups.isEmpty, let found = value(client.groupsClaim, in: claims) else { return [] }
    let values = Set(found.string.map { [$0] } ?? found.array?.compactMap(\.string) ?? [])
    return Set(zip(UInt8(0)..., client.groups).filter { values.contains($0.1) }.map(\.0))
  }

  /// A claim by its name, or by names of objects with dots between (`realm_access.roles`).
  private func value(_ name: String, in claims: JSON) -> JSON? {
    claims[name] ?? name.split(separator: ".").reduce(Optional(claims)) { $0?[String($1)] }
  }

  private func text(_ json: JSON?) -> String { json.map { shown($0.text()) } ?? "none" }
}
