import ClientProvider
import GatewayCredentials
import JSON
import KeyMemory
import LoginProtocol
import NetworkTypes
import ProviderProtocol
import RoamwardProviderTesting
import Testing

@Suite("The client of our gateway", .serialized)
struct ClientTests {
  private func host() throws -> (Host, MemoryEngine) {
    let host = Host(GatewayClient<MemoryEngine>.self, tunnel: "corp")
    return (host, try #require(MemoryEngine.last))
  }

  /// A start with a password, up to the answer to the hello.
  private func greeted(_ host: Host) throws -> MemoryGateway {
    let gateway = try #require(MemoryGateway(host.sockets.last))
    let hello = gateway.messages()
    guard case .hello(let first) = hello.first else { throw Failure.noHello }
    #expect(first.device == "laptop" && first.publicKey.count == 32)
    gateway.say(.welcome(version: 1, methods: [.password, .token]))
    return gateway
  }

  private enum Failure: Error { case noHello }

  private func failure(_ host: Host) -> TunnelFailure? {
    if case .failed(let failure) = host.ends.last { failure } else { nil }
  }

  @Test("a first start logs in by the password, applies what is pushed, and is ready with the handshake") func firstLogin() throws {
    let (host, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    host.start(options, credentials: ["password": Array("correct horse\n".utf8)])
    let gateway = try greeted(host)
    #expect(gateway.messages() == [.password(user: "alice", password: Array("correct horse".utf8))])
    #expect(gateway.socket.transport == .tcp && engine.interface == nil)
    gateway.say(.done(grant))
    #expect(gateway.socket.isClosed && host.state == .starting)
    host.advance(by: .milliseconds(100))
    #expect(host.state == .connected && host.violations.isEmpty)
    #expect(host.settings?.addresses.map(\.description) == ["10.77.0.2/32", "fd77::2/128"])
    #expect(host.settings?.includedRoutes.map(\.description) == ["10.20.0.0/16"] && host.settings?.mtu == 1380)
    #expect(host.settings?.dns?.servers.map(\.description) == ["10.20.0.53"])
    #expect(host.settings?.dns?.matchDomains.map(\.text) == ["corp.example"])
    #expect(engine.field("public_key") == String(repeating: "07", count: 32))
    #expect(engine.requests.last?.contains("persistent_keepalive_interval=0") == true)
  }

  @Test("a later start connects by the kept key without a login, also in another process") func laterStart() throws {
    let (first, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    first.start(options, credentials: ["password": [112]])
    try greeted(first).say(.done(grant))
    first.advance(by: .seconds(1))
    let key = engine.field("private_key")
    let (second, other) = try host()
    other.answering = engine.answering
    second.kept = first.kept
    second.start(options)
    second.advance(by: .seconds(1))
    #expect(second.state == .connected && second.sockets.isEmpty && second.questions.isEmpty)
    #expect(other.field("private_key") == key && key?.count == 64)
    second.stop()
    #expect(other.interface == nil && second.state == .idle)
    second.start(options)
    second.advance(by: .seconds(1))
    #expect(second.state == .connected && second.sockets.isEmpty)
  }

  @Test("an answer is seen soon; the engine begins, and link and device are asked for, at once") func soon() throws {
    let (first, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    first.start(options, credentials: ["password": [112]])
    #expect(engine.isPrepared)
    try greeted(first).say(.done(grant))
    first.advance(by: .seconds(1))
    let (second, known) = try host()
    known.answering = engine.answering
    second.kept = first.kept
    second.start(options)
    #expect(known.isPrepared && second.flow != nil && second.settings?.mtu == 1380 && second.state == .starting)
    second.advance(by: .milliseconds(1))
    #expect(second.state == .connected)
    // Later the looks are fewer, so that a silent gateway costs little.
    let (other, silent) = try host()
    other.kept = first.kept
    other.start(options)
    other.advance(by: .seconds(5))
    #expect((50...120).contains(silent.reads))
  }

  @Test("a gateway that does not answer the kept key is asked for a login; other options are another login") func forgotten() throws {
    let (host, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(grant))
    host.advance(by: .seconds(1))
    host.stop()
    engine.answering = []
    host.start(options)
    host.advance(by: .seconds(6))
    #expect(host.sockets.count == 1)
    host.advance(by: .seconds(2))
    #expect(host.sockets.count == 2)
    _ = try greeted(host)
    #expect(host.questions.map(\.question.kind) == [.password])
    host.stop()
    host.start(["server": "203.0.113.10:51820", "pin": .string(MemoryGateway.pin), "username": "bob", "device": "laptop"])
    #expect(host.sockets.count == 3 && engine.interface == nil)
  }

  @Test("without a file the password is asked only once the gateway has answered, then code, new password and banner")
  func questions() throws {
    let (host, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    host.start(options)
    #expect(host.questions.isEmpty)
    let first = try greeted(host)
    #expect(first.socket.isClosed && host.questions.first?.question.prompt == "Password of alice at 203.0.113.10:51820")
    host.advance(by: .seconds(200))
    host.answer(try #require(host.questions.first?.id), .secret([112, 119]))
    let gateway = try greeted(host)
    #expect(gateway.messages() == [.password(user: "alice", password: [112, 119])])
    gateway.say(.more(.code, text: ""))
    #expect(host.questions.map(\.question.kind) == [.code])
    // It waits for the person, not for the gateway.
    host.advance(by: .seconds(100))
    host.answer(try #require(host.questions.first?.id), .secret(Array("123456".utf8)))
    #expect(gateway.messages() == [.answer(.code, Array("123456".utf8))])
    gateway.say(.more(.newPassword, text: "too old"))
    host.answer(try #require(host.questions.first?.id), .secret(Array("another staple".utf8)))
    #expect(gateway.messages() == [.answer(.newPassword, Array("another staple".utf8))])
    gateway.say(.more(.banner, text: "Company use only."))
    #expect(host.questions.first?.question == Question(kind: .confirm, prompt: "Company use only."))
    host.answer(try #require(host.questions.first?.id), .outcome(.answered))
    #expect(gateway.messages() == [.answer(.banner, [])])
    gateway.say(.done(grant))
    host.advance(by: .seconds(1))
    #expect(host.state == .connected)
    #expect(host.log.contains { $0.text.contains("the password was changed") })
  }

  @Test("questions of the service that checks the password are put to the person, visible ones as such; not without end")
  func prompts() throws {
    let (host, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    host.start(options, credentials: ["password": [112, 119]])
    var gateway = try greeted(host)
    #expect(gateway.messages().count == 1)
    for (text, echo) in [("Colour?", true), ("Token?", false)] {
      gateway.say(.prompt(text: text, echo: echo))
      #expect(host.questions.map(\.question) == [Question(kind: echo ? .text : .code, prompt: "\(text)\nAnswer for 203.0.113.10:51820")])
      host.advance(by: .seconds(100))
      host.answer(try #require(host.questions.first?.id), .secret(Array(text.utf8)))
      #expect(gateway.messages() == [.answer(.prompt, Array(text.utf8))])
    }
    gateway.say(.done(grant))
    host.advance(by: .seconds(1))
    #expect(host.state == .connected && host.violations.isEmpty)
    host.stop()
    host.kept = []
    host.start(options, credentials: ["password": [112, 119]])
    gateway = try greeted(host)
    for _ in 0..<16 {
      gateway.say(.prompt(text: "More?", echo: false))
      host.answer(try #require(host.questions.first?.id), .secret([110]))
    }
    gateway.say(.prompt(text: "More?", echo: false))
    #expect(failure(host)?.code == "format" && host.questions.isEmpty)
  }

  /// A start without a name, up to the page of the OpenID provider.
  private func visiting(_ host: Host) throws -> MemoryGateway {
    host.start(["server": "203.0.113.10:51820", "pin": .string(MemoryGateway.pin), "device": "laptop"])
    let gateway = try #require(MemoryGateway(host.sockets.last))
    _ = gateway.messages()
    gateway.say(.welcome(version: 1, methods: [.password, .token, .openID]))
    #expect(gateway.messages() == [.begin(.openID)])
    let page = SignInPage(
      url: "https://login.example/enter", completeURL: "https://login.example/enter?code=WDJB-MJHT", code: "WDJB-MJHT", seconds: 300)
    gateway.say(.visit(try #require(page)))
    return gateway
  }

  @Test("without a name and a token the person signs in at the gateway's OpenID provider, with a code") func openID() throws {
    let (host, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    var gateway = try visiting(host)
    let question = try #require(host.questions.first)
    #expect(
      question.question
        == Question(
          kind: .url, prompt: "Sign in for 203.0.113.10:51820 with the code WDJB-MJHT, at https://login.example/enter",
          url: "https://login.example/enter?code=WDJB-MJHT"))
    host.advance(by: .seconds(200))
    host.answer(question.id, .outcome(.answered))
    // The gateway learns the rest from the provider.
    #expect(gateway.messages().isEmpty && host.state == .starting)
    gateway.say(.more(.code, text: ""))
    host.answer(try #require(host.questions.first?.id), .secret(Array("123456".utf8)))
    #expect(gateway.messages() == [.answer(.code, Array("123456".utf8))])
    gateway.say(.done(grant))
    host.advance(by: .seconds(1))
    #expect(host.state == .connected && host.violations.isEmpty)
    // Signed in by another device, while the question is open.
    host.stop()
    host.kept = []
    gateway = try visiting(host)
    gateway.say(.done(grant))
    host.advance(by: .seconds(1))
    #expect(host.questions.isEmpty && host.state == .connected && host.violations.isEmpty)
  }

  @Test("a sign-in that is refused, declined or too late says so; without a provider the options lack a name") func openIDRefused() throws {
    let (host, _) = try host()
    try visiting(host).say(.failed(.wrong, retryAfter: 0))
    #expect(failure(host)?.code == "auth-failed" && failure(host)?.text.contains("this person") == true && host.questions.isEmpty)
    _ = try visiting(host)
    host.answer(try #require(host.questions.first?.id), .outcome(.declined))
    #expect(failure(host)?.code == "no-answer-of-person" && host.questions.isEmpty)
    let gateway = try visiting(host)
    host.advance(by: .seconds(359))
    #expect(host.state == .starting)
    host.advance(by: .seconds(2))
    #expect(failure(host)?.code == "sign-in-timeout" && gateway.socket.isClosed && host.questions.isEmpty)
    host.start(["server": "203.0.113.10:51820", "pin": .string(MemoryGateway.pin), "device": "laptop"])
    _ = try greeted(host)
    #expect(failure(host)?.code == "no-user" && failure(host)?.help == .person)
    // A page that was not asked for.
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.visit(try #require(SignInPage(url: "https://a.example", completeURL: nil, code: "A", seconds: 9))))
    #expect(failure(host)?.code == "format" && host.questions.isEmpty)
  }

  @Test("a token stands for name and password") func token() throws {
    let (host, _) = try host()
    host.start(
      ["server": "203.0.113.10:51820", "pin": .string(MemoryGateway.pin), "device": "laptop"], credentials: ["token": Array("rw1-x\n".utf8)]
    )
    let gateway = try greeted(host)
    #expect(gateway.messages() == [.token(Array("rw1-x".utf8))])
    gateway.say(.failed(.wrong, retryAfter: 0))
    #expect(failure(host)?.code == "auth-failed" && failure(host)?.text.contains("token") == true)
  }

  @Test(
    "each refusal says who can help",
    arguments: [
      (LoginFailure.wrong, "auth-failed", TunnelFailure.Help.person), (.later, "too-many-logins", .time),
      (.unsupported, "unsupported", .nobody), (.version, "no-common-version", .nobody), (.device, "device-refused", .person),
      (.unavailable, "gateway-unavailable", .time), (.format, "format", .nobody), (.timeout, "sign-in-timeout", .person),
      (.deviceLimit, "too-many-devices", .person),
    ]) func refusals(refusal: LoginFailure, code: String, help: TunnelFailure.Help) throws
  {
    let (host, engine) = try host()
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.failed(refusal, retryAfter: refusal == .later ? 300 : 0))
    let failure = try #require(self.failure(host))
    #expect(failure.code.description == code && failure.help == help && failure.text.hasPrefix("corp: the "))
    #expect(failure.retryAfter == (refusal == .later ? .seconds(300) : nil))
    #expect(engine.interface == nil && !host.kept.isEmpty)
  }

  @Test("a gateway of another key gets nothing") func otherKey() throws {
    let (host, _) = try host()
    host.start(options, credentials: ["password": [112]])
    let gateway = try #require(MemoryGateway(host.sockets.last, identity: LoginIdentity.make() ?? ""))
    #expect(gateway.messages().isEmpty)
    #expect(failure(host)?.code == "other-key" && failure(host)?.help == .time && gateway.socket.isClosed)
  }

  @Test("what is no gateway, silent, unreachable or ends fails with time") func noGateway() throws {
    let (host, _) = try host()
    host.start(options, credentials: ["password": [112]])
    host.sockets.last?.deliver([Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)])
    #expect(failure(host)?.code == "no-tls")
    host.start(options, credentials: ["password": [112]])
    host.advance(by: .seconds(20))
    #expect(failure(host)?.code == "sign-in-timeout" && failure(host)?.help == .time)
    host.start(options, credentials: ["password": [112]])
    host.sockets.last?.end(reason: "reset")
    #expect(failure(host)?.code == "connection-ended")
    host.unreachable = ["203.0.113.10"].compactMap { IPAddress($0) }.reduce(into: []) { $0.insert($1) }
    host.start(options, credentials: ["password": [112]])
    #expect(failure(host)?.code == "unreachable" && host.questions.isEmpty)
    #expect(host.ends.count == 4)
  }

  @Test("a network that lets no UDP pass does not cost a login each time") func noUDP() throws {
    let (host, _) = try host()
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(grant))
    host.advance(by: .seconds(8))
    #expect(failure(host)?.code == "peer-timeout" && failure(host)?.text.contains("though it takes logins") == true)
    for start in 1...6 {
      host.start(options, credentials: ["password": [112]])
      host.advance(by: .seconds(8))
      #expect(host.sockets.count == (start > 5 ? 2 : 1))
    }
  }

  @Test("the gateway's word that the session has ended fails the run, and the next start logs in; a forged or old one does nothing")
  func endedSession() throws {
    let (host, engine) = try host()
    let gateway = try #require(SecretKey(bytes: 1...32))
    engine.answering = ["203.0.113.10:51820"]
    var first = grant
    first.gatewayKey = try #require(gateway.publicBytes)
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(first))
    host.advance(by: .milliseconds(100))
    #expect(host.state == .connected)
    engine.push(10, first, from: gateway)
    engine.end(10, from: gateway)
    engine.end(11, from: try #require(SecretKey(bytes: 2...33)))
    engine.end(12, from: gateway, label: SettingsPush.label)
    host.advance(by: .zero)
    #expect(host.state == .connected && host.ends.isEmpty)
    engine.end(13, from: gateway)
    host.advance(by: .zero)
    let failure = try #require(self.failure(host))
    #expect(failure.code == "session-ended" && failure.help == .time && failure.text.contains("203.0.113.10:51820 has ended the session"))
    let logins = host.sockets.count
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(first))
    host.advance(by: .milliseconds(100))
    #expect(host.sockets.count == logins + 1 && host.state == .connected && host.violations.isEmpty)
  }

  @Test("settings that the gateway changes are applied at once, without another session; forged, old and useless ones are not")
  func changedSettings() throws {
    let (host, engine) = try host()
    let gateway = try #require(SecretKey(bytes: 1...32))
    engine.answering = ["203.0.113.10:51820", "203.0.113.11:51820"]
    var first = grant
    first.gatewayKey = try #require(gateway.publicBytes)
    first.gatewayAddresses = ["10.77.0.1", "fd77::1"].compactMap { IPAddress($0) }
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(first))
    host.advance(by: .zero)
    // Not connected yet: the changed ones are applied then.
    var second = first
    second.routes = ["10.20.0.0/16", "10.30.0.0/16"].compactMap { IPPrefix($0) }
    engine.push(10, second, from: gateway)
    #expect(host.settings?.includedRoutes.map(\.description) == ["10.20.0.0/16", "10.77.0.1/32", "fd77::1/128"])
    host.advance(by: .milliseconds(100))
    #expect(
      host.state == .connected && engine.listening?.at.description == "10.77.0.2" && engine.greeted.map(\.description) == ["10.77.0.1"])
    #expect(host.settings?.includedRoutes.map(\.description) == ["10.20.0.0/16", "10.30.0.0/16", "10.77.0.1/32", "fd77::1/128"])
    let count = engine.requests.count
    var third = second
    third.mtu = 1300
    third.keepalive = 20
    engine.push(11, third, from: gateway)
    host.advance(by: .zero)
    #expect(host.settings?.mtu == 1300 && host.state == .connected && host.violations.isEmpty)
    #expect(engine.requests.count == count + 1 && engine.requests.last?.contains("persistent_keepalive_interval=20") == true)
    let kept = host.kept
    // Older, of another key, or of no use.
    engine.push(9, first, from: gateway)
    engine.push(11, first, from: gateway)
    engine.push(12, first, from: try #require(SecretKey(bytes: 2...33)))
    var useless = first
    useless.addresses = []
    engine.push(13, useless, from: gateway)
    useless = first
    useless.gatewayKey = gatewayKey
    engine.push(14, useless, from: gateway)
    for bytes in [[], [0], Array(repeating: 0x85, count: 100), Array(repeating: 0, count: 2000)] as [[UInt8]] {
      engine.listening?.take(bytes)
    }
    host.advance(by: .zero)
    #expect(host.settings?.mtu == 1300 && host.kept == kept && engine.requests.count == count + 1)
    // Another address and endpoint.
    third.addresses = ["10.77.0.9"].compactMap { IPAddress($0) }
    third.endpoint = "203.0.113.11:51820"
    engine.push(15, third, from: gateway)
    host.advance(by: .milliseconds(100))
    #expect(engine.listening?.at.description == "10.77.0.9" && engine.field("endpoint") == "203.0.113.11:51820")
    #expect(host.state == .connected && host.violations.isEmpty)
    // The next start has them.
    host.stop()
    host.start(options)
    host.advance(by: .seconds(1))
    #expect(host.settings?.mtu == 1300 && host.sockets.count == 1 && host.state == .connected)
  }

  @Test("the gateway is greeted while data comes, and rarely otherwise") func greetings() throws {
    let (host, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    var first = grant
    first.gatewayAddresses = ["10.77.0.1"].compactMap { IPAddress($0) }
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(first))
    host.advance(by: .seconds(300))
    // Keepalives are no data.
    engine.reading?.received += 124
    host.advance(by: .seconds(30))
    #expect(engine.greeted.count == 1)
    for _ in 1...3 {
      engine.reading?.received += 1000
      host.advance(by: .seconds(15))
    }
    #expect(engine.greeted.count == 4)
    // Each 600 s, and at the next look after that, which is up to 20 s later.
    host.advance(by: .seconds(1860))
    #expect(engine.greeted.count == 7)
  }

  @Test("another network makes a new session; a gateway that is silent there is sought on, then the start fails") func networks() throws {
    let (host, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(grant))
    host.advance(by: .seconds(1))
    let count = engine.requests.count
    host.networkChanged(NetworkPath(interface: "eth0", kind: .ethernet))
    host.advance(by: .seconds(1))
    #expect(engine.requests.count > count && host.state == .connected && host.violations.isEmpty)
    host.networkChanged(nil)
    #expect(host.state == .reasserting && host.reassertion == "no-network")
    host.networkChanged(NetworkPath(interface: "wlan0", kind: .wifi))
    host.advance(by: .seconds(1))
    #expect(host.state == .connected && host.violations.isEmpty)
    engine.answering = []
    host.networkChanged(NetworkPath(interface: "eth0", kind: .ethernet))
    host.advance(by: .seconds(8))
    #expect(host.state == .reasserting && host.reassertion == "peer-timeout")
    host.advance(by: .seconds(31))
    #expect(failure(host)?.code == "peer-timeout" && failure(host)?.help == .time)
    #expect(host.sockets.count == 1)
  }

  @Test("data without any answer means that the gateway is lost; keepalives do not") func loss() throws {
    let (host, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(grant))
    host.advance(by: .seconds(1))
    engine.answering = []
    engine.reading = EngineReading(handshake: 1, received: 92, sent: 148)
    for _ in 1...8 {
      engine.reading?.sent += 32
      host.advance(by: .seconds(25))
    }
    #expect(host.state == .connected)
    engine.reading?.sent += 1000
    host.advance(by: .seconds(25))
    #expect(host.state == .reasserting && host.reassertion == "peer-timeout" && host.transport == "tries UDP to 203.0.113.10:51820")
    engine.reading = EngineReading(handshake: 1, received: 92, sent: 148)
    host.advance(by: .seconds(1))
    #expect(host.state == .connected && host.violations.isEmpty)
  }

  @Test(
    "a gateway that dies while packets are sent: doubted within 25 s, failed within 60 s, and never called one that answers after that",
    arguments: [0, 1, 2, 3, 4, 5])
  func dies(second: Int) throws {
    let (host, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(grant))
    host.advance(by: .seconds(1))
    engine.reading = EngineReading(handshake: 1, received: 92, sent: 148)
    host.advance(by: .seconds(second))
    engine.answering = []
    var doubted: Int?
    var failed: Int?
    for second in 1...70 where failed == nil {
      // One ping a second, and the gateway's own initiations, which answer nothing.
      engine.reading?.sent += 128
      if second % 5 == 0 { engine.reading?.received += 148 }
      host.advance(by: .seconds(1))
      if host.state != .connected, doubted == nil { doubted = second }
      if doubted != nil { #expect(!host.transport.contains("which answers")) }
      if failure(host) != nil { failed = second }
    }
    #expect(doubted.map { $0 <= 25 } == true && failed.map { $0 <= 60 } == true, "\(doubted ?? 0) \(failed ?? 0)")
    #expect(host.violations.isEmpty)
  }

  @Test("another network where the gateway is silent is told within 6 s") func silentNetwork() throws {
    let (host, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(grant))
    host.advance(by: .seconds(1))
    engine.answering = []
    host.networkChanged(NetworkPath(interface: "eth0", kind: .ethernet))
    host.advance(by: .seconds(6))
    #expect(host.state == .reasserting && host.transport == "tries UDP to 203.0.113.10:51820")
    engine.answering = ["203.0.113.10:51820"]
    host.networkChanged(NetworkPath(interface: "wlan0", kind: .wifi))
    host.advance(by: .seconds(3))
    #expect(host.state == .connected && host.transport.contains("which answers"))
  }

  @Test("all addresses of the name are tried; an engine that ends or is missing is said") func addresses() throws {
    let (host, engine) = try host()
    engine.answering = ["203.0.113.11:51820"]
    var named = grant
    named.endpoint = "vpn.example:51820"
    host.names = [try #require(DomainName("vpn.example")): ["203.0.113.10", "203.0.113.11"].compactMap { IPAddress($0) }]
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(named))
    host.advance(by: .seconds(8))
    #expect(host.state == .connected && engine.field("endpoint") == "203.0.113.11:51820")
    engine.crash()
    host.advance(by: .zero)
    #expect(failure(host)?.code == "engine-ended" && failure(host)?.help == .time)
    engine.trouble = EngineTrouble("busy", isBusy: true)
    host.start(options)
    host.advance(by: .seconds(1))
    engine.trouble = nil
    host.advance(by: .seconds(8))
    #expect(host.state == .connected)
    host.stop()
    engine.trouble = EngineTrouble("busy", isBusy: true)
    host.start(options)
    host.advance(by: .seconds(4))
    #expect(failure(host)?.code == "device-busy" && failure(host)?.help == .time)
    engine.trouble = EngineTrouble("roamward-wireguard is not installed")
    host.start(options)
    host.advance(by: .zero)
    #expect(failure(host)?.code == "no-engine" && failure(host)?.help == .person)
  }

  @Test("a stop during a question takes it back") func stopped() throws {
    let (host, _) = try host()
    host.start(options)
    _ = try greeted(host)
    #expect(host.questions.count == 1)
    host.stop()
    #expect(host.questions.isEmpty && host.state == .idle && host.violations.isEmpty)
    host.start(options, mayAsk: false)
    _ = try greeted(host)
    #expect(failure(host)?.code == "no-answer-of-person" && failure(host)?.help == .person)
  }

  @Test("an application sees who is logged in") func status() throws {
    let (host, engine) = try host()
    engine.answering = ["203.0.113.10:51820"]
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(grant))
    host.advance(by: .seconds(1))
    let number = host.send(.typed("status", .null))
    guard case .success(.typed(_, let value)) = host.replies[number] else {
      Issue.record("no status")
      return
    }
    #expect(value["user"] == "alice" && value["connected"] == true && value["endpoint"] == "203.0.113.10:51820")
    #expect(!value.text().contains("private"))
  }

  @Test("the gateway is asked what becomes of a packet, by sealed datagrams; its answer is told, and its silence too")
  func explained() throws {
    let (host, engine) = try host()
    let gateway = try #require(SecretKey(bytes: 1...32))
    let own = try #require(gateway.publicBytes)
    var first = grant
    first.gatewayKey = own
    first.gatewayAddresses = ["10.77.0.1", "fd77::1"].compactMap { IPAddress($0) }
    engine.answering = ["203.0.113.10:51820"]
    host.start(options, credentials: ["password": [112]])
    try greeted(host).say(.done(first))
    let question = MessageContent.typed("explain", ["address": "10.20.1.2", "protocol": "tcp", "port": 443])
    func refusal(_ number: UInt32) -> String? {
      if case .failure(let refusal)? = host.replies[number] { refusal.code.description } else { nil }
    }
    func steps(_ number: UInt32) -> [String] {
      guard case .success(.typed("explain", let value)?)? = host.replies[number] else { return [] }
      return (value["steps"]?.array ?? []).map { step in
        "\(step["verdict"]?.string ?? "") \(step["place"]?.string ?? ""): \(step["text"]?.string ?? "")"
      }
    }
    #expect(refusal(host.send(question)) == "not-connected")
    host.advance(by: .milliseconds(100))
    #expect(host.state == .connected)
    let device = try #require(engine.field("private_key").flatMap { SecretKey(hexadecimal: $0)?.publicBytes })
    func seal(_ bytes: [UInt8], _ label: ([UInt8], [UInt8]) -> [UInt8]) -> [UInt8]? {
      gateway.seal(bytes, with: device, label: label(own, device))
    }
    func answer(_ answer: PacketAnswer, by label: ([UInt8], [UInt8]) -> [UInt8] = PacketAnswer.label) {
      engine.listening?.take(answer.datagram { seal($0, label) } ?? [])
    }
    let second = host.send(question)
    let asked = try #require(engine.told.last.flatMap { PacketQuestion($0) { seal($0, PacketQuestion.label) } })
    #expect(asked == PacketQuestion(number: asked.number, to: try #require(IPAddress("10.20.1.2")), transport: 6, port: 443))
    // Of another number, or under the key of another kind.
    answer(PacketAnswer(number: asked.number &+ 1))
    answer(PacketAnswer(number: asked.number), by: PacketQuestion.label)
    #expect(host.replies[second] == nil)
    answer(PacketAnswer(number: asked.number, rule: "web", link: "eth1", nextHop: IPAddress("10.20.0.1"), isTranslated: true))
    host.advance(by: .zero)
    #expect(
      steps(second) == [
        "pass gateway access: allowed by rule web",
        "pass gateway route: by 10.20.0.1 on eth1, with the gateway's own address (masquerade)",
      ])
    let count = engine.told.count
    let third = host.send(question)
    host.advance(by: .seconds(3))
    #expect(refusal(third) == "no-answer" && engine.told.count == count + 3 && Set(engine.told.suffix(3)).count == 1)
    #expect(refusal(host.send(.typed("explain", ["address": "nowhere"]))) == "bad-value")
    let last = host.send(question)
    host.stop()
    #expect(refusal(last) == "not-connected" && host.violations.isEmpty)
  }

  @Test("strangers' bytes end the login and nothing else", arguments: 0..<20) func nonsense(seed: Int) throws {
    let (host, _) = try host()
    host.start(options, credentials: ["password": [112]])
    let bytes = (0..<200).map { UInt8(truncatingIfNeeded: ($0 &* 31 &+ seed) &* (seed &+ 7)) }
    host.sockets.last?.deliver([bytes])
    host.advance(by: .seconds(30))
    #expect(failure(host) != nil && host.violations.isEmpty && host.state == .idle)
  }
}
