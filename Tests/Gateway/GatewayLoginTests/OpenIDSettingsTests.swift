import GatewayCore
import GatewayLogin
import LoginProtocol
import Testing

@Suite("Settings of an OpenID provider, and what its process is told")
struct OpenIDSettingsTests {
  private func sample() throws -> OpenIDSettings {
    var settings = OpenIDSettings(issuer: "https://login.example.com/realms/corp", clientID: "roamward gateway")
    settings.secretFile = "/etc/roamward/openid secret"
    settings.authorityFile = "/etc/ssl/corp.pem"
    settings.userClaim = "email"
    settings.groupsClaim = "realm_access.roles"
    settings.scopes = ["openid", "profile", "email"]
    settings.groups = [.init(group: try #require(GatewayName("staff")), value: "VPN users of Zürich")]
    settings.createsUsers = true
    return settings
  }

  @Test("the file is read as it was written; comments and empty lines do not count") func file() throws {
    let settings = try sample()
    #expect(try OpenIDSettings(parsing: settings.text) == settings)
    let plain = OpenIDSettings(issuer: "https://a.example", clientID: "x")
    #expect(try OpenIDSettings(parsing: "# a\n\nissuer https://a.example\nclient-id x\n") == plain)
  }

  @Test(
    "mistakes in the file are told, with the line or the key",
    arguments: [
      ("", "the issuer `` is no https URL"), ("issuer http://a.example\nclient-id x", "is no https URL"),
      ("issuer https://a.example?x\nclient-id x", "is no https URL"), ("issuer https://u@a.example\nclient-id x", "is no https URL"),
      ("issuer https://\nclient-id x", "is no https URL"), ("issuer https://a.example", "the client ID is missing"),
      ("issuer https://a.example\nclient-id x\nsecret-file s", "`s` is no absolute path"),
      ("issuer https://a.example\nclient-id x\nuser-claim", "a claim cannot be named ``"),
      ("issuer https://a.example\nclient-id x\nscope profile", "`openid` among them"),
      ("issuer https://a.example\nclient-id x\nscope openid\nscope a b", "16 words at most"),
      ("issuer https://a.example\nclient-id x\ngroup staff", "openid, line 3: `group` needs"),
      ("issuer https://a.example\nclient-id x\ngroup st/ff x", "openid, line 3: `group` needs"),
      ("issuer https://a.example\nclient-id x\ngroup staff x\ngroup staff y", "each once"),
      ("issuer https://a.example\nclient-id x\ncreate-users maybe", "`create-users` is `yes` or `no`"),
      ("issuer https://a.example\nissuer https://b.example", "openid, line 2: a second `issuer`"),
      ("issuer https://a.example\ncolour red", "openid, line 2: there is no key `colour`"),
    ])
  func mistakes(text: String, words: String) {
    do throws(GatewayError) {
      _ = try OpenIDSettings(parsing: text)
      Issue.record("accepted: \(text)")
    } catch { #expect(error.description.contains(words), "\(error)") }
  }

  @Test("the two processes read what the other writes, and nothing else") func messages() throws {
    var client = OpenIDClient(try sample(), secret: "s", authorities: String(repeating: "x", count: 40_000))
    client.groups.append("b")
    for order in [OpenIDOrder.configure(client), .begin(number: 1), .check(number: 70_000), .cancel(number: 3)] {
      #expect(try OpenIDOrder(LoginFrame(body: order.frame.bytes.dropFirst(2))) == order)
    }
    let plain = OpenIDClient(OpenIDSettings(issuer: "https://a.example", clientID: "x"), secret: nil, authorities: nil)
    #expect(try OpenIDOrder(LoginFrame(body: OpenIDOrder.configure(plain).frame.bytes.dropFirst(2))) == .configure(plain))
    let reports: [OpenIDReport] = [
      .hello(trouble: nil), .hello(trouble: "no"), .page(number: 1, page),
      .identity(number: 2, OpenIDIdentity(subject: "a b", name: "älice", groups: [0, 63])), .denied(number: 3), .expired(number: 4),
      .failed(number: 5, "it is away"), .checked(number: 6),
    ]
    for report in reports { #expect(try OpenIDReport(LoginFrame(body: report.frame.bytes.dropFirst(2))) == report) }
    for identity in [
      OpenIDIdentity(subject: "a\nb", name: "alice"), OpenIDIdentity(subject: "", name: "alice"), .init(subject: "a", name: ""),
    ] {
      let frame = OpenIDReport.identity(number: 1, identity).frame
      #expect(throws: LoginFrameError.field) { try OpenIDReport(LoginFrame(body: frame.bytes.dropFirst(2))) }
    }
    let long = OpenIDReport.failed(number: 1, String(repeating: "x", count: 5000)).frame
    _ = try OpenIDReport(LoginFrame(body: long.bytes.dropFirst(2)))
  }

  @Test("no page but one that may be shown to a person is read") func pages() throws {
    let limit = SignInPage.urlLimit
    let long = "https://a.example/" + String(repeating: "x", count: limit)
    #expect(SignInPage(url: long, completeURL: nil, code: "A", seconds: 1) == nil)
    #expect(SignInPage(url: String(long.prefix(limit)), completeURL: long, code: "A", seconds: 1)?.completeURL == nil)
    for (url, code) in [
      ("http://a.example/", "A"), ("https://a.example/ä", "A"), ("https://a.example/", "\u{7}"), ("https://a.example/", ""),
    ] {
      var frame = LoginFrame(0x82)
      frame.add(1, [6])
      frame.add(2, "")
      frame.add(3, url)
      frame.add(4, code)
      frame.add(5, [0, 9])
      #expect(throws: LoginFrameError.field) { try GatewayMessage(frame) }
    }
    let whole = GatewayMessage.visit(
      try #require(
        SignInPage(
          url: String(long.prefix(limit)), completeURL: String(long.prefix(limit)),
          code: String(repeating: "A", count: SignInPage.codeLimit),
          seconds: 900)))
    #expect(whole.frame.bytes.count - 2 <= LoginFrame.limit)
  }
}
