import GatewayLogin
import GatewayOpenID
import JSON
import NetworkTypes
import OpenIDConnect
import TestKit
import Testing

/// The key of RFC 7515, A.2.
let rsaKey: JSON = [
  "kty": "RSA",
  "n": .string(
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b"
      + "32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5"
      + "IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"),
  "e": "AQAB",
]

/// The key of RFC 7515, A.3.
let ecKey: JSON = [
  "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
]

private let payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
private let rsaSignature =
  "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdi"
  + "uB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2"
  + "w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
private let ecSignature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

private func base64url(_ text: String) -> String {
  base64(Array(text.utf8)).filter { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : String($0) }.joined()
}

let validClaims: JSON = [
  "iss": .string(issuer), "sub": "s-1", "aud": "roamward", "exp": 1_000_300, "iat": 1_000_000, "preferred_username": "alice",
  "groups": ["Engineering", "Sales"],
]

/// A token of these claims with a signature that is none.
func unsigned(_ claims: JSON, header: String = #"{"alg":"RS256"}"#) -> String {
  "\(base64url(header)).\(base64url(claims.text())).\(base64url("signature"))"
}

@Suite("ID tokens")
struct IDTokenTests {
  private func claims(_ token: String, _ keys: JSON...) throws(ProviderFault) -> JSON {
    try IDToken(token).claims(signedBy: JSONWebKey.keys(of: ["keys": .array(keys)])) { SignatureVerifier.isRight($0, $1, $2) }
  }

  private static let rs256 = "eyJhbGciOiJSUzI1NiJ9.\(payload).\(rsaSignature)"
  private static let es256 = "eyJhbGciOiJFUzI1NiJ9.\(payload).\(ecSignature)"

  @Test("the signatures of RFC 7515, A.2 and A.3, are right, and none with a bit changed is")
  func vectors() throws {
    #expect(try claims(Self.rs256, ecKey, rsaKey)["iss"] == "joe")
    #expect(try claims(Self.es256, rsaKey, ecKey)["iss"] == "joe")
    for token in [Self.rs256, Self.es256] {
      for place in stride(from: 25, to: token.utf8.count, by: 7) {
        var bytes = Array(token.utf8)
        bytes[place] = bytes[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        if bytes == Array(token.utf8) { continue }
        #expect(throws: ProviderFault.self) { try claims(String(decoding: bytes, as: UTF8.self), rsaKey, ecKey) }
      }
    }
    // Another key of the same kind.
    let other = rsaKey.with("n", rsaKey["n"]?.string.map { .string("p" + $0.dropFirst()) })
    #expect(throws: ProviderFault("the ID token's signature is wrong")) { try claims(Self.rs256, other) }
  }

  @Test("no signature, a shared secret, an unknown algorithm and critical parts are refused")
  func algorithms() {
    for (header, words) in [
      (#"{"alg":"none"}"#, "signed by none"), (#"{"alg":"HS256"}"#, "signed by HS256"), (#"{"alg":"RS512"}"#, "signed by RS512"),
      (#"{"alg":"rs256"}"#, "signed by rs256"), ("{}", "signed by nothing"), (#"{"alg":"RS256","crit":["exp"]}"#, "critical"),
      (#"{"alg":"RS256","alg":"none"}"#, "no signed JSON web token"), ("[]", "signed by nothing"),
    ] {
      #expect(throws: (any Error).self) { try claims(unsigned(validClaims, header: header), rsaKey) }
      do throws(ProviderFault) { _ = try IDToken(unsigned(validClaims, header: header)) } catch {
        #expect(error.description.contains(words), "\(error)")
      }
    }
    let head = #"{"alg":"RS256"}"#
    for token in [
      "", "a.b", "\(base64url(head)).\(payload).", "\(base64url(head)).\(payload).a=", "\(base64url(head)).\(payload).a.b", "...",
    ] {
      #expect(throws: ProviderFault.self) { try IDToken(token) }
    }
    // None of an RSA key for ECDSA, and the reverse.
    #expect(throws: ProviderFault.self) { try claims(Self.es256, rsaKey) }
    #expect(throws: ProviderFault.self) { try claims(Self.rs256, ecKey) }
  }

  @Test("a key that is for something else, too short, or not on its curve, is none") func keys() throws {
    let short = rsaKey.with("n", rsaKey["n"]?.string.map { .string(String($0.dropLast(100))) })
    for key in [
      rsaKey.with("use", "enc"), rsaKey.with("alg", "RS512"), rsaKey.with("e", "AA"), rsaKey.with("e", "Ag"), rsaKey.with("e", "AQ"),
      rsaKey.with("n", "n"), short, rsaKey.with("kty", "oct"), rsaKey.with("n", nil),
    ] {
      #expect(throws: ProviderFault.self) { try claims(Self.rs256, key) }
    }
    #expect(throws: ProviderFault.self) { try claims(Self.es256, ecKey.with("x", ecKey["y"])) }
    #expect(throws: ProviderFault.self) { try claims(Self.es256, ecKey.with("crv", "P-384")) }
    // By name: that of the token, or a key without one.
    let named = unsigned(validClaims, header: #"{"alg":"RS256","kid":"b"}"#)
    let token = try IDToken(named)
    func used(_ keys: JSON...) -> Bool {
      (try? token.claims(signedBy: JSONWebKey.keys(of: ["keys": .array(keys)])) { _, _, _ in true }) != nil
    }
    #expect(used(rsaKey.with("kid", "b")) && used(rsaKey) && !used(rsaKey.with("kid", "a")))
  }

  private func identity(_ claims: JSON, _ change: (inout OpenIDClient) -> Void = { _ in }) throws -> OpenIDIdentity {
    var client = try sampleClient()
    change(&client)
    return try IDTokenCheck(client, begun: 1_000_000, now: 1_000_010).identity(of: claims)
  }

  @Test("each claim that a person is believed by is checked") func checks() throws {
    #expect(try identity(validClaims) == OpenIDIdentity(subject: "s-1", name: "alice", groups: [0]))
    let wrong: [(String, JSON?)] = [
      ("iss", "https://other.example"), ("iss", .string(issuer + "/")), ("iss", nil), ("aud", "another"), ("aud", nil), ("aud", []),
      ("aud", ["roamward", "another"]), ("aud", 7), ("azp", "another"), ("exp", 999_800), ("exp", nil), ("exp", "soon"), ("iat", nil),
      ("iat", 1_000_200), ("iat", 999_800), ("nbf", 1_000_200), ("nbf", "x"), ("sub", nil), ("sub", ""), ("sub", 7), ("sub", "a\nb"),
      ("sub", .string(String(repeating: "s", count: 256))), ("preferred_username", nil), ("preferred_username", ""),
      ("preferred_username", ["alice"]), ("preferred_username", .string(String(repeating: "a", count: 257))),
    ]
    for (key, value) in wrong {
      #expect(throws: ProviderFault.self, "\(key) \(value?.text() ?? "missing")") { try identity(validClaims.with(key, value)) }
    }
    // Within the difference that clocks may have.
    for (key, value) in [("exp", 999_900), ("iat", 1_000_100), ("iat", 999_900), ("nbf", 1_000_100)] as [(String, Int64)] {
      _ = try identity(validClaims.with(key, .integer(value)))
    }
    _ = try identity(validClaims.with("aud", ["roamward"]))
    _ = try identity(validClaims.with("aud", ["roamward", "another"]).with("azp", "roamward"))
    _ = try identity(validClaims.with("exp", 1_000_300.5))
  }

  @Test("names and groups come from the configured claims; an address counts only if it was verified") func names() throws {
    let mail = validClaims.with("email", "alice@example.com")
    #expect(throws: ProviderFault.self) { try identity(mail) { $0.userClaim = "email" } }
    #expect(throws: ProviderFault.self) { try identity(mail.with("email_verified", false)) { $0.userClaim = "email" } }
    #expect(try identity(mail.with("email_verified", true)) { $0.userClaim = "email" }.name == "alice@example.com")
    #expect(try identity(validClaims.with("groups", "VPN admins")).groups == [1])
    #expect(try identity(validClaims.with("groups", ["VPN admins", 7, "Engineering"])).groups == [0, 1])
    #expect(try identity(validClaims.with("groups", nil)).groups.isEmpty)
    let nested = validClaims.with("realm_access", ["roles": ["Engineering"]])
    #expect(try identity(nested) { $0.groupsClaim = "realm_access.roles" }.groups == [0])
    let odd = validClaims.with("https://corp.example/groups", ["VPN admins"])
    #expect(try identity(odd) { $0.groupsClaim = "https://corp.example/groups" }.groups == [1])
  }
}
