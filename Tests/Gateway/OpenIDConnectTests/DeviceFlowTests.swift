import GatewayLogin
import JSON
import LoginProtocol
import NetworkTypes
import OpenIDConnect
import SeededRandom
import TestKit
import Testing

@Suite("Sign-ins by a device code, in virtual time")
struct DeviceFlowTests {
  private static let metadata: JSON = [
    "issuer": .string(issuer), "device_authorization_endpoint": "https://login.example.com/device",
    "token_endpoint": "https://login.example.com/token", "jwks_uri": "https://keys.example.com/",
  ]
  private static let code: JSON = [
    "device_code": "d+1", "user_code": "WDJB-MJHT", "verification_uri": "https://login.example.com/enter", "expires_in": 60, "interval": 5,
  ]

  /// A flow, and the time.
  private struct Talk {
    var flow: DeviceFlow
    var now = Moment.seconds(100)
    var effects: [DeviceFlow.Effect] = []

    init(_ client: OpenIDClient, isCheck: Bool = false) {
      flow = DeviceFlow(client, isCheck: isCheck, wallClock: 1_000_000)
      effects = flow.begin()
    }

    mutating func take(_ response: ProviderResponse) {
      effects = flow.receive(response, at: now, wallClock: 1_000_000) { _, _, _ in true }
    }

    /// Waits for the next question; returns for how long.
    mutating func wait() throws -> Duration {
      let before = now
      now = try #require(flow.deadline)
      effects = flow.expire(at: now)
      return now - before
    }

    var request: ProviderRequest? {
      for case .send(let request) in effects { return request }
      return nil
    }
    var result: DeviceFlow.Result? { if case .finish(let result) = effects.first { result } else { nil } }
    var fault: String? { if case .failed(let fault) = result { fault.description } else { nil } }
  }

  private func waiting(_ client: OpenIDClient? = nil, _ code: JSON = Self.code) throws -> Talk {
    var talk = Talk(try client ?? sampleClient())
    talk.take(response(Self.metadata))
    talk.take(response(code))
    return talk
  }

  private func refusal(_ code: String) -> ProviderResponse { response(["error": .string(code)], status: 400) }

  @Test("discovery, a code for the person, questions in the given interval, the keys, the person") func whole() throws {
    var talk = Talk(try sampleClient())
    #expect(talk.request == ProviderRequest(url: "\(issuer)/.well-known/openid-configuration"))
    talk.take(response(Self.metadata))
    // RFC 6749, 2.3.1: `roamward:secret`.
    let proof = "Basic cm9hbXdhcmQ6c2VjcmV0"
    #expect(
      talk.request
        == ProviderRequest(
          url: "https://login.example.com/device", form: "scope=openid+profile&client_id=roamward", authorization: proof))
    talk.take(response(Self.code))
    let page = SignInPage(url: "https://login.example.com/enter", completeURL: nil, code: "WDJB-MJHT", seconds: 60)
    #expect(try talk.effects == [.show(#require(page))])
    #expect(try talk.wait() == .seconds(5))
    #expect(
      talk.request
        == ProviderRequest(
          url: "https://login.example.com/token",
          form: "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=d%2B1&client_id=roamward",
          authorization: proof))
    talk.take(refusal("authorization_pending"))
    #expect(try talk.wait() == .seconds(5))
    talk.take(response(["id_token": .string(unsigned(validClaims))]))
    #expect(talk.request == ProviderRequest(url: "https://keys.example.com/"))
    talk.take(response(["keys": [rsaKey]]))
    #expect(talk.result == .identity(OpenIDIdentity(subject: "s-1", name: "alice", groups: [0])))
    #expect(talk.flow.deadline == nil)
    talk.take(response(Self.code))
    #expect(talk.effects.isEmpty)
  }

  @Test("slow_down adds five seconds for good; a provider that is away is asked half as often (RFC 8628, 3.5)") func slower() throws {
    var talk = try waiting()
    #expect(try talk.wait() == .seconds(5))
    talk.take(refusal("slow_down"))
    #expect(try talk.wait() == .seconds(10))
    talk.take(refusal("authorization_pending"))
    #expect(try talk.wait() == .seconds(10))
    talk.take(.failed("timeout"))
    #expect(try talk.wait() == .seconds(20))
    talk.take(.response(status: 503, body: []))
    // The code ends before.
    #expect(try talk.wait() == .seconds(15))
    #expect(talk.result == .expired)
  }

  @Test("no is no, and an expired code is told; other refusals say what to do") func ends() throws {
    for (code, expected) in [("access_denied", DeviceFlow.Result.denied), ("expired_token", .expired)] {
      var talk = try waiting()
      _ = try talk.wait()
      talk.take(refusal(code))
      #expect(talk.result == expected)
    }
    for (code, cure) in [
      ("invalid_client", "check the client ID and the secret"), ("unauthorized_client", "allow this client the sign-in of devices"),
      ("invalid_scope", "check the scopes"), ("server\u{1b}[1m", "see the provider's log"),
    ] {
      var talk = Talk(try sampleClient())
      talk.take(response(Self.metadata))
      talk.take(refusal(code))
      #expect(talk.fault?.contains(cure) == true && talk.fault?.contains("\u{1b}") == false)
      talk = try waiting()
      _ = try talk.wait()
      talk.take(refusal(code))
      #expect(talk.fault?.contains(cure) == true)
    }
  }

  @Test("times of a provider are bounded: it is asked at most each second, and for a quarter of an hour") func bounds() throws {
    var talk = try waiting(nil, Self.code.with("interval", 0).with("expires_in", 1_000_000_000))
    #expect(try talk.wait() == .seconds(1))
    for _ in 0..<40 where talk.result == nil {
      talk.take(refusal("slow_down"))
      _ = try talk.wait()
    }
    #expect(talk.result == .expired && talk.now == .seconds(1000))
    talk = try waiting(nil, Self.code.with("interval", -5).with("expires_in", -5))
    #expect(try talk.wait() == .seconds(1))
    talk = try waiting(nil, Self.code.with("interval", nil).with("expires_in", nil))
    #expect(try talk.wait() == .seconds(5))
  }

  @Test("a description that is not that of the issuer, or does not suit, is refused with what to do")
  func descriptions() throws {
    let cases: [(JSON, String)] = [
      (Self.metadata.with("issuer", nil), "does not describe an OpenID provider"),
      (Self.metadata.with("issuer", .string(issuer + "/")), "use exactly that as the issuer"),
      (Self.metadata.with("device_authorization_endpoint", nil), "offers no sign-in of devices"),
      (Self.metadata.with("token_endpoint", "http://login.example.com/token"), "token_endpoint is no https URL"),
      (Self.metadata.with("jwks_uri", nil), "no jwks_uri"), (Self.metadata.with("jwks_uri", "https://a b/"), "jwks_uri is no https URL"),
      (Self.metadata.with("id_token_signing_alg_values_supported", ["HS256", "none"]), "neither by RS256 nor by ES256"),
    ]
    for (metadata, words) in cases {
      var talk = Talk(try sampleClient())
      talk.take(response(metadata))
      #expect(talk.fault?.contains(words) == true, "\(talk.fault ?? "accepted")")
    }
    for (answer, words) in [
      (ProviderResponse.failed("timed out"), "timed out"), (.response(status: 404, body: []), "HTTP status 404"),
      (.response(status: 200, body: Array("<html>".utf8)), "no JSON object"), (response([1]), "no JSON object"),
    ] {
      var talk = Talk(try sampleClient())
      talk.take(answer)
      #expect(talk.fault?.contains(words) == true)
    }
  }

  @Test("only an https page and a printable code reach a person") func pages() throws {
    for code in [
      Self.code.with("verification_uri", "http://login.example.com/"), Self.code.with("verification_uri", "javascript:alert(1)"),
      Self.code.with("user_code", "\u{1b}[2J"), Self.code.with("user_code", ""), Self.code.with("device_code", nil),
    ] {
      let talk = try waiting(nil, code)
      #expect(talk.fault?.contains("no code with an https page") == true)
    }
    let complete = try waiting(nil, Self.code.with("verification_uri_complete", "http://login.example.com/"))
    guard case .show(let page) = complete.effects.first else { throw Missing.page }
    #expect(page.completeURL == nil)
  }

  private enum Missing: Error { case page }

  @Test("a public client has no proof; a secret goes into the form where the provider wants that alone") func proofs() throws {
    var talk = Talk(try sampleClient(secret: nil))
    talk.take(response(Self.metadata))
    #expect(talk.request?.authorization == nil && talk.request?.form?.contains("client_secret") == false)
    talk = Talk(try sampleClient(secret: "a&b"))
    talk.take(response(Self.metadata.with("token_endpoint_auth_methods_supported", ["client_secret_post"])))
    #expect(talk.request?.authorization == nil && talk.request?.form?.hasSuffix("&client_secret=a%26b") == true)
  }

  @Test("a check ends with the code, without a person") func check() throws {
    var talk = Talk(try sampleClient(), isCheck: true)
    talk.take(response(Self.metadata))
    talk.take(response(Self.code))
    #expect(talk.effects == [.finish(.checked)])
  }

  @Test("arbitrary responses end a sign-in or wait; only a whole one names a person", arguments: 1...30)
  func arbitrary(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let token: JSON = ["id_token": .string(unsigned(validClaims))]
    let pieces = [Self.metadata, Self.code, token, ["keys": [rsaKey]], ["error": "slow_down"], ["error": "authorization_pending"]]
    var people = 0
    for _ in 0..<200 {
      var talk = Talk(try sampleClient())
      var given: Set<JSON> = []
      for _ in 0..<8 where talk.result == nil {
        if talk.flow.deadline != nil { _ = try talk.wait() }
        var json = random.pick(pieces)
        given.insert(json)
        if random.chance(0.2), let member = json.members.map({ random.pick($0) }) {
          json = json.with(member.key, random.pick([.null, "x", -1, [], nil]))
        }
        var bytes = Array(json.text().utf8)
        if random.chance(0.1) { bytes[Int(random.next() % UInt64(bytes.count))] ^= UInt8(1 + random.next() % 127) }
        talk.take(.response(status: random.pick([200, 200, 200, 400, 500]), body: bytes))
      }
      if case .identity = talk.result {
        people += 1
        #expect(Set(pieces.prefix(4)).isSubset(of: given))
      }
    }
    // Not by chance in a few lives; the test above sees a whole one.
    #expect(people <= 200)
  }
}
