import LoginProtocol
import NetworkTypes
import SeededRandom
import Testing

/// Gateways as people give them, and the links of administrators.
@Suite struct LoginTargetTests {
  static let pin = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
  static let token = "rw1-abcdefghijklmnopqrstuvwxyz234567"
  static let inLink = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"

  @Test("a pin has one written form, and another one in links") func pins() throws {
    let pin = try #require(GatewayPin(Self.pin))
    #expect(pin.description == Self.pin && pin.inLink == Self.inLink && GatewayPin(inLink: Self.inLink) == pin)
    for text in [
      "", "sha256//", String(Self.pin.dropLast()), Self.pin + "=", Self.pin + " ", " " + Self.pin, Self.inLink,
      "SHA256" + Self.pin.dropFirst(6),
      // The last digit has bits beyond the hash.
      Self.pin.replacing("SuFU=", with: "SuFV="),
    ] {
      #expect(GatewayPin(text) == nil, "\(text)")
    }
    for text in ["", Self.inLink + "=", String(Self.inLink.dropLast()), Self.inLink.replacing("-", with: "+"), Self.pin] {
      #expect(GatewayPin(inLink: text) == nil, "\(text)")
    }
  }

  @Test(
    "a name or an address, with a user and a port or without",
    arguments: [
      ("vpn.example.com", "vpn.example.com:51820", nil), ("alice@VPN.example.com:443", "vpn.example.com:443", "alice"),
      ("192.0.2.1", "192.0.2.1:51820", nil), ("2001:db8::1", "[2001:db8::1]:51820", nil),
      ("bob@[2001:db8::1]:51821", "[2001:db8::1]:51821", "bob"),
      ("alice@corp.example@vpn.example.com", "vpn.example.com:51820", "alice@corp.example"),
    ] as [(String, String, String?)])
  func names(text: String, server: String, user: String?) throws {
    let target = try LoginTarget(text)
    #expect(target.server.description == server && target.user == user && target.pin == nil && target.link == nil)
  }

  /// Users whose names need each kind of character, and servers.
  private static func random(_ random: inout SplitMix64) throws -> LoginTarget {
    let letters = Array("aZ09-._~@ %&=+/?#\"'äß€😀").map(String.init)
    let user = (0..<Int(1 + random.next() % 12)).map { _ in random.pick(letters) }.joined()
    let host = random.pick(["vpn.example.com", "192.0.2.1", "[2001:db8::1]", "gate"])
    let port = random.pick([1, 443, 51820, 65535])
    let hash = (0..<32).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    let server = try #require(Endpoint("\(host):\(port)"))
    let pin = try #require(GatewayPin("sha256//" + base64(hash)))
    let isNamed = random.chance(0.7)
    let token = LoginToken(random: (0..<LoginToken.length).map { _ in UInt8(truncatingIfNeeded: random.next()) })
    return try #require(
      LoginTarget(server: server, user: isNamed ? user : nil, pin: pin, token: isNamed && random.chance(0.5) ? token : nil))
  }

  @Test("a link is read as it was written, and is safe in a terminal, a mail and single quotes", arguments: 1...20)
  func roundTrip(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<100 {
      let target = try Self.random(&random)
      let link = try #require(target.link)
      #expect(try LoginTarget(link) == target, "\(link)")
      #expect(link.utf8.allSatisfy { (0x21...0x7e).contains($0) && !"'\"<>\\^`{|}".utf8.contains($0) }, "\(link)")
    }
  }

  @Test("a mutated link is refused, or means what it is written as", arguments: 1...20) func mutations(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for _ in 0..<200 {
      var bytes = Array(try #require(try Self.random(&random).link).utf8)
      for _ in 0...random.next() % 3 {
        let place = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 3 {
        case 0: bytes[place] = UInt8(random.next() % 128)
        case 1: bytes.remove(at: place)
        default: bytes.insert(UInt8(random.next() % 128), at: place)
        }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      guard let target = try? LoginTarget(text), let link = target.link else { continue }
      #expect(try LoginTarget(link) == target, "\(text)")
    }
  }

  @Test(
    "what names no gateway is refused with the reason",
    arguments: [
      ("", "no name or address"), ("vpn example", "no name or address"), ("vpn.example.com:0", "no name or address"),
      ("vpn.example.com:65536", "no name or address"), ("192.0.2.300", "no name or address"), ("@vpn.example.com", "a user's name"),
      ("a\u{1b}b@vpn.example.com", "a user's name"), (String(repeating: "a", count: 65) + "@vpn.example.com", "a user's name"),
      (String(repeating: "a", count: 601), "longer than 600 bytes"), ("https://vpn.example.com", "begins with `roamward://`"),
      ("roamward://vpn.example.com", "a link is"), ("roamward://vpn.example.com/", "a link is"),
      ("roamward://vpn.example.com/path?pin=\(inLink)", "a link is"), ("roamward:///?pin=\(inLink)", "no name or address"),
      ("roamward://alice@vpn.example.com/?pin=\(inLink)", "no name or address"),
      ("roamward://2001:db8::1/?pin=\(inLink)", "no name or address"), ("roamward://vpn.example.com/?user=alice", "no `pin=`"),
      ("roamward://vpn.example.com/?pin=", "is not whole"), ("roamward://vpn.example.com/?pin=\(inLink)x", "is not whole"),
      ("roamward://vpn.example.com/?pin=\(inLink)&pin=\(inLink)", "`pin=` twice"),
      ("roamward://vpn.example.com/?pin=\(inLink)&route=0.0.0.0/0", "alone"), ("roamward://vpn.example.com/?pin=\(inLink)&", "alone"),
      ("roamward://vpn.example.com/?pin=\(inLink)&user=", "a user's name"),
      ("roamward://vpn.example.com/?pin=\(inLink)&user=a%0ab", "a user's name"),
      ("roamward://vpn.example.com/?pin=\(inLink)&user=a%zz", "a user's name"),
      ("roamward://vpn.example.com/?pin=\(inLink)&user=%ff", "a user's name"),
      ("roamward://vpn.example.com/?pin=\(inLink)#x", "is not whole"),
      ("roamward://vpn.example.com/?token=\(token)&pin=\(inLink)", "a token, and no `user=`"),
      ("roamward://vpn.example.com/?user=a&token=&pin=\(inLink)", "token is not whole"),
      ("roamward://vpn.example.com/?user=a&token=\(token)a&pin=\(inLink)", "token is not whole"),
      ("roamward://vpn.example.com/?user=a&token=\(token.uppercased())&pin=\(inLink)", "token is not whole"),
      ("roamward://vpn.example.com/?user=a&token=\(token)&token=\(token)&pin=\(inLink)", "`token=` twice"),
      // A shell without quotes ends the command at the first `&`.
      ("roamward://vpn.example.com/?user=a", "no `pin=`"),
    ])
  func refused(text: String, reason: String) {
    let fault = #expect(throws: LoginTargetFault.self) { try LoginTarget(text) }
    #expect(fault?.description.contains(reason) == true, "\(fault?.description ?? "")")
  }

  @Test("a token has one written form; an invitation names its user, and no link without it is written") func tokens() throws {
    #expect(LoginToken(random: [UInt8](repeating: 0xff, count: 20)).description == "rw1-" + String(repeating: "7", count: 32))
    var random = SplitMix64(seed: 40)
    for _ in 0..<100 {
      let token = LoginToken(random: (0..<LoginToken.length).map { _ in UInt8(truncatingIfNeeded: random.next()) })
      #expect(LoginToken(token.description) == token && token.bytes == Array(token.description.utf8))
    }
    for text in ["", "rw1-", Self.token + " ", Self.token.dropLast() + "1", "RW1-" + Self.token.dropFirst(4), "x" + Self.token] {
      #expect(LoginToken(String(text)) == nil, "\(text)")
    }
    let (server, pin) = (try #require(Endpoint("vpn.example.com:51820")), try #require(GatewayPin(Self.pin)))
    let token = try #require(LoginToken(Self.token))
    let link = "roamward://vpn.example.com/?user=alice&token=\(token)&pin=\(Self.inLink)"
    #expect(LoginTarget(server: server, user: "alice", pin: pin, token: token)?.link == link)
    #expect(LoginTarget(server: server, pin: pin, token: token) == nil)
    #expect(try LoginTarget("alice@vpn.example.com").token == nil)
  }

  @Test(
    "base 32 is that of RFC 4648, without padding",
    arguments: [
      ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"), ("foobar", "MZXW6YTBOI"),
    ])
  func base32OfRFC(text: String, expected: String) { #expect(base32(Array(text.utf8)) == expected) }

  @Test("a reading of a pin is one line, and no other bytes are one") func readings() throws {
    let pin = try #require(GatewayPin(Self.pin))
    let all: [PinReading] = [.pin(pin), .noAddress("no such name"), .noConnection("refused"), .noTLS, .failed("x y")]
    for reading in all { #expect(PinReading(Array((reading.line + "\n").utf8)) == reading) }
    for text in [
      "", "\n", "pin \(Self.pin)", "pin \(Self.pin) \n", "pin x\n", "no-tls x\n", "no-tls\nno-tls\n", "failed \u{1b}[1m\n", "other\n",
      "failed \(String(repeating: "x", count: 600))\n",
    ] {
      #expect(PinReading(Array(text.utf8)) == nil, "\(text)")
    }
  }
}
