package import GatewayLogin
internal import JSON
package import LoginProtocol
package import NetworkTypes

/// A request to the provider. `form` is sent by POST; without it, GET.
package struct ProviderRequest: Hashable, Sendable {
  package var url: String
  package var form: String?
  /// The value of the header `Authorization`.
  package var authorization: String?

  package init(url: String, form: String? = nil, authorization: String? = nil) {
    self.url = url
    self.form = form
    self.authorization = authorization
  }
}

/// The outcome of a request.
package enum ProviderResponse: Hashable, Sendable {
  case response(status: Int, body: [UInt8])
  /// No whole response: the text says why.
  case failed(String)
}

/// One sign-in by the device authorization grant (RFC 8628): responses and the time in, requests and results out. It has no clock, no
/// sockets, and no cryptography.
package struct DeviceFlow: Sendable {
  package enum Effect: Hashable, Sendable {
    case send(ProviderRequest)
    case show(SignInPage)
    case finish(Result)
  }

  package enum Result: Hashable, Sendable {
    case identity(OpenIDIdentity)
    case denied
    case expired
    case failed(ProviderFault)
    /// Nothing more was wanted than to see that the provider can be used.
    case checked
  }

  /// The longest life of a code, and the bounds of the time between two questions.
  package static let longest: Int64 = 900
  package static let intervals: ClosedRange<Int64> = 1...60

  private struct Code {
    var metadata: ProviderMetadata
    var device: String
    /// In seconds.
    var interval: Int64
    var end: Moment
  }

  private enum State {
    case idle
    case discovering
    case authorizing(ProviderMetadata)
    case waiting(Code, until: Moment)
    case polling(Code)
    case readingKeys(IDToken)
    case done
  }

  private let client: OpenIDClient
  private let isCheck: Bool
  /// When it began.
  private let begun: Timestamp
  private var state = State.idle

  /// `isCheck`: it ends before a person would be needed.
  package init(_ client: OpenIDClient, isCheck: Bool, wallClock: Timestamp) {
    self.client = client
    self.isCheck = isCheck
    begun = wallClock
  }

  /// When `expire` has something to do.
  package var deadline: Moment? {
    if case .waiting(let code, let until) = state { min(until, code.end) } else { nil }
  }

  package mutating func begin() -> [Effect] {
    state = .discovering
    return [.send(ProviderRequest(url: ProviderMetadata.url(of: client.issuer)))]
  }

  /// At its deadline.
  package mutating func expire(at now: Moment) -> [Effect] {
    guard let deadline, now >= deadline, case .waiting(let code, _) = state else { return [] }
    if now >= code.end { return finish(.expired) }
    state = .polling(code)
    return [
      .send(
        request(
          code.metadata.tokenEndpoint, code.metadata,
          [("grant_type", "urn:ietf:params:oauth:grant-type:device_code"), ("device_code", code.device)]))
    ]
  }

  /// The response to the last request.
  package mutating func receive(
    _ response: ProviderResponse, at now: Moment, wallClock: Timestamp, _ check: SignatureCheck
  ) -> [Effect] {
    do throws(ProviderFault) {
      switch state {
      case .discovering: return authorize(try ProviderMetadata(try json(response, "its description"), issuer: client.issuer))
      case .authorizing(let metadata): return try show(response, metadata, at: now)
      case .polling(let code): return try take(response, code, at: now)
      case .readingKeys(let token):
        let keys = JSONWebKey.keys(of: try json(response, "its keys"))
        let claims = try token.claims(signedBy: keys, check)
        return finish(.identity(try IDTokenCheck(client, begun: begun, now: wallClock).identity(of: claims)))
      case .idle, .waiting, .done: return []
      }
    } catch {
      return finish(.failed(error))
    }
  }

  private mutating func finish(_ result: Result) -> [Effect] {
    state = .done
    return [.finish(result)]
  }
}

// Requests.
extension DeviceFlow {
  /// A form with the client's proof.
  private func request(_ url: String, _ metadata: ProviderMetadata, _ fields: [(String, String)]) -> ProviderRequest {
    var fields = fields + [("client_id", client.clientID)]
    var authorization: String?
    if let secret = client.secret {
      if metadata.usesBasic {
        authorization = "Basic " + base64(Array("\(encoded(client.clientID)):\(encoded(secret))".utf8))
      } else {
        fields.append(("client_secret", secret))
      }
    }
    let form = fields.map { "\($0)=\(encoded($1))" }.joined(separator: "&")
    return ProviderRequest(url: url, form: form, authorization: authorization)
  }

  private mutating func authorize(_ metadata: ProviderMetadata) -> [Effect] {
    state = .authorizing(metadata)
    return [.send(request(metadata.deviceEndpoint, metadata, [("scope", client.scopes.joined(separator: " "))]))]
  }
}

/// application/x-www-form-urlencoded of RFC 6749, B.
private func encoded(_ text: String) -> String {
  text.utf8.map { byte in
    switch byte {
    case 65...90, 97...122, 48...57, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): String(UnicodeScalar(byte))
    case 0x20: "+"
    default: "%" + hexadecimal(byte).uppercased()
    }
  }.joined()
}

// Responses.
extension DeviceFlow {
  private func json(_ response: ProviderResponse, _ what: String) throws(ProviderFault) -> JSON {
    switch response {
    case .failed(let reason):
      throw ProviderFault("\(client.issuer) does not give \(what): \(shown(reason)); check the issuer and the network")
    case .response(let status, let body):
      guard status == 200 else {
        throw ProviderFault("\(client.issuer) does not give \(what): HTTP status \(status); check the issuer")
      }
      guard let json = try? JSON(parsing: body), json.members != nil else {
        throw ProviderFault("\(client.issuer) does not give \(what): the answer is no JSON object; check the issuer")
      }
      return json
    }
  }

  /// The code of a refusal (RFC 6749, 5.2); `nil`: the response is none.
  private func refusal(_ response: ProviderResponse) -> (code: String, text: String)? {
    guard case .response(400..<500, let body) = response, let json = try? JSON(parsing: body), let code = json["error"]?.string else {
      return nil
    }
    return (code, json["error_description"]?.string.map { "\(shown(code)) (\(shown($0)))" } ?? shown(code))
  }

  private func fault(_ code: String, _ text: String) -> ProviderFault {
    let cure =
      switch code {
      case "invalid_client": "check the client ID and the secret"
      case "unauthorized_client", "unsupported_grant_type": "allow this client the sign-in of devices there (RFC 8628)"
      case "invalid_scope": "check the scopes"
      default: "see the provider's log"
      }
    return ProviderFault("\(client.issuer) refuses: \(text); \(cure)")
  }

  private mutating func show(_ response: ProviderResponse, _ metadata: ProviderMetadata, at now: Moment) throws(ProviderFault) -> [Effect] {
    if let refusal = refusal(response) { throw fault(refusal.code, refusal.text) }
    let json = try json(response, "a code")
    let seconds = min(Self.longest, max(1, json["expires_in"]?.integer ?? 300))
    // `verification_url` is Google's name for it, from before the RFC.
    let url = json["verification_uri"]?.string ?? json["verification_url"]?.string ?? ""
    guard let device = json["device_code"]?.string, (1...4096).contains(device.utf8.count),
      let page = SignInPage(
        url: url, completeURL: json["verification_uri_complete"]?.string, code: json["user_code"]?.string ?? "", seconds: UInt16(seconds))
    else { throw ProviderFault("\(client.issuer) gives no code with an https page that can be shown; ask the provider's administrator") }
    if isCheck { return finish(.checked) }
    let interval = bounded(json["interval"]?.integer ?? 5)
    let code = Code(metadata: metadata, device: device, interval: interval, end: now + .seconds(seconds))
    return [.show(page)] + wait(code, at: now)
  }

  private func bounded(_ interval: Int64) -> Int64 { min(Self.intervals.upperBound, max(Self.intervals.lowerBound, interval)) }

  private mutating func wait(_ code: Code, at now: Moment) -> [Effect] {
    state = .waiting(code, until: now + .seconds(code.interval))
    return []
  }

  private mutating func take(_ response: ProviderResponse, _ code: Code, at now: Moment) throws(ProviderFault) -> [Effect] {
    var code = code
    switch refusal(response)?.code {
    case "authorization_pending": return wait(code, at: now)
    case "slow_down":
      code.interval = bounded(code.interval + 5)
      return wait(code, at: now)
    case "access_denied": return finish(.denied)
    case "expired_token": return finish(.expired)
    case let other?: throw fault(other, refusal(response)?.text ?? "")
    case nil: break
    }
    switch response {
    // RFC 8628, 3.5: less often.
    case .failed, .response(429, _), .response(500..<600, _):
      code.interval = bounded(code.interval * 2)
      return wait(code, at: now)
    case .response: break
    }
    guard let text = try json(response, "a token")["id_token"]?.string else {
      throw ProviderFault("\(client.issuer) gives no ID token; see whether the scope openid is allowed there")
    }
    state = .readingKeys(try IDToken(text))
    return [.send(ProviderRequest(url: code.metadata.keysURL))]
  }
}
