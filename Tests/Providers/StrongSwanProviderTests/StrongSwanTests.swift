import JSON
import NetworkTypes
import ProviderProtocol
import RoamwardProvider
import RoamwardProviderTesting
import SeededRandom
import StrongSwanProvider
import Testing
import VICI

/// charon in memory: it answers by vici, in bytes, and a test says how.
final class FakeCharon: CharonRunner {
  nonisolated(unsafe) static weak var last: FakeCharon?
  private(set) var commands: [String] = []
  private(set) var loaded: [VICIMessage] = []
  private(set) var done: [String] = []
  /// Commands that it refuses, with the reason.
  var refuses: [String: String] = [:]
  private var events: (CharonEvent) -> Void = { _ in }
  /// The events of its processes, the first first; `nil`: it has ended.
  private(set) var processes: [((CharonEvent) -> Void)?] = []
  /// Whether it was told to end, and has not ended.
  private(set) var isTold = false
  private var reader = VICIReader()

  static var authorities: [UInt8]? { Array("# of the machine\n\(ca)\(ca)".utf8) }

  init(host: ProviderHost) { Self.last = self }

  func start(on link: XFRMLink, events: @escaping (CharonEvent) -> Void) -> String? {
    self.events = events
    processes.append(events)
    return nil
  }

  func send(_ packet: VICIPacket) {
    // As it would come out of the stream.
    guard let bytes = try? packet.encoded() else { return }
    reader.append(bytes)
    switch try? reader.next() {
    case .register(let name): commands.append("register \(name)")
    case .request(let name, let message):
      commands.append(name)
      loaded.append(message)
    default: commands.append("?")
    }
  }

  func terminate() {
    done.append("terminate")
    tell()
  }

  func kill() {
    done.append("kill")
    tell()
  }

  func connect() { events(.connected) }

  /// Answers what waits, until `initiate`.
  func answerAll() {
    while let command = commands.last, command != "initiate" {
      let count = commands.count
      answer()
      if commands.count == count { return }
    }
  }

  func answer() {
    guard let command = commands.last else { return }
    if command.hasPrefix("register") { return receive(.confirmed) }
    if let reason = refuses[command] {
      return receive(.response(VICIMessage([.text("success", "no"), .text("errmsg", reason)])))
    }
    receive(.response(VICIMessage([.text("success", "yes")])))
  }

  func receive(_ packet: VICIPacket) {
    var reader = VICIReader()
    guard let bytes = try? packet.encoded() else { return }
    reader.append(bytes)
    if let read = try? reader.next() { events(.packet(read)) }
  }

  func say(_ lines: String...) { for line in lines { events(.line(CharonLine(line[...]))) } }
  func end(_ code: Int32) { end(code, process: processes.count - 1) }

  func end(_ code: Int32, process: Int) {
    guard processes.indices.contains(process), let events = processes[process] else { return }
    processes[process] = nil
    if process == processes.count - 1 { isTold = false }
    events(.ended(code))
  }

  private func tell() { isTold = processes.last ?? nil != nil }

  func child(_ tunnel: String, up: Bool, routes: [String] = ["10.0.0.0/8"]) {
    let child: [VICIMessage.Element] = [.text("name", tunnel), .texts("remote-ts", routes)]
    let ike: [VICIMessage.Element] = [
      .text("remote-host", "198.51.100.1"), .texts("local-vips", ["10.9.0.2", "2001:db8:9::2"]),
      .section("child-sas", [.section("\(tunnel)-1", child)]),
    ]
    receive(.event("child-updown", VICIMessage((up ? [.text("up", "yes")] : []) + [.section(tunnel, ike)])))
  }
}

private let tunnel = "test"
private let ca = "-----BEGIN CERTIFICATE-----\nQQ==\n-----END CERTIFICATE-----\n"

/// The provider's conversation with charon, in memory; `serialized`, because a double is found by its type.
@Suite(.serialized) struct StrongSwanTests {
  typealias Host = MemoryHost<StrongSwan<FakeCharon>>

  private func start(
    _ options: JSON = ["server": "198.51.100.1"], _ credentials: [Word: [UInt8]] = ["psk": Array("secret\n".utf8)]
  ) throws -> (Host, FakeCharon) {
    let host = Host(StrongSwan<FakeCharon>.self)
    host.start(options, credentials: credentials)
    return (host, try #require(FakeCharon.last))
  }

  private func failure(_ host: Host) throws -> TunnelFailure {
    host.advance(by: .zero)
    guard case .failed(let failure) = host.ends.last else { throw Refusal(code: "no-failure", text: "\(host.ends)") }
    return failure
  }

  @Test("it is ready with what the server has sent, reasserts while it is silent, and ends as asked") func life() throws {
    let (host, charon) = try start()
    charon.connect()
    charon.answerAll()
    #expect(charon.commands == ["register ike-updown", "register child-updown", "load-shared", "load-conn", "initiate"])
    charon.say("07[IKE] installing DNS server 10.0.0.53 to /tmp/x")
    charon.child(tunnel, up: true, routes: ["10.0.0.0/8", "192.0.2.0/24[tcp/80]"])
    charon.answer()
    host.advance(by: .zero)
    #expect(host.state == .connected)
    #expect(host.settings?.addresses.map(\.description) == ["10.9.0.2/32", "2001:db8:9::2/128"])
    #expect(host.settings?.includedRoutes.map(\.description) == ["10.0.0.0/8"] && host.settings?.overhead == 88)
    #expect(host.settings?.dns?.servers.map(\.description) == ["10.0.0.53"])
    charon.say("05[IKE] retransmit 2 of request with message ID 3")
    host.advance(by: .zero)
    #expect(host.state == .reasserting)
    charon.say("05[ENC] parsed INFORMATIONAL response 3 [ ]")
    host.advance(by: .zero)
    #expect(host.state == .connected)
    host.stop(.person)
    charon.end(0)
    host.advance(by: .zero)
    #expect(charon.done == ["terminate"] && host.ends == [.stopped(inTime: true)] && host.violations.isEmpty)
  }

  @Test("a run that has failed is over: charon says goodbye, and its end means nothing to the next run") func late() throws {
    let (host, charon) = try start()
    charon.refuses = ["initiate": "establishing CHILD_SA failed"]
    charon.connect()
    charon.answerAll()
    charon.answer()
    #expect(try failure(host).code == "ike-failed" && charon.done == ["terminate"])
    charon.say("05[IKE] giving up after 3 retransmits", "05[IKE] last words")
    host.start(["server": "198.51.100.1"], credentials: ["psk": Array("secret".utf8)])
    charon.end(0, process: 0)
    charon.refuses = [:]
    charon.connect()
    charon.answerAll()
    charon.child(tunnel, up: true)
    host.advance(by: .zero)
    #expect(host.state == .connected && host.ends.count == 1 && host.violations.isEmpty)
    #expect(host.log.contains { $0.text.contains("last words") } && host.log.contains { $0.level == .warning })
  }

  @Test("the next address of a server is tried when one does not answer, and the same after it did") func addresses() throws {
    let host = Host(StrongSwan<FakeCharon>.self)
    let addresses = ["198.51.100.1", "198.51.100.2", "198.51.100.3"].compactMap { IPAddress($0) }
    host.names = [try #require(DomainName("vpn.example")): addresses]
    let charon = try #require(FakeCharon.last)
    charon.refuses = ["initiate": "establishing CHILD_SA failed"]
    var tried: [String?] = []
    for run in 0..<5 {
      host.start(["server": "vpn.example"], credentials: ["psk": Array("secret".utf8)])
      charon.connect()
      charon.answerAll()
      let connection = try #require(charon.loaded.compactMap { $0.section(tunnel) }.last)
      tried.append(connection.texts("remote_addrs").first)
      if run == 3 { charon.child(tunnel, up: true) }
      host.advance(by: .zero)
      charon.answer()
      _ = try failure(host)
      charon.end(0)
    }
    #expect(tried == ["198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.1", "198.51.100.2"])
  }

  @Test("random lives: each start has one end, and no message is out of order", arguments: 0..<60 as Range<UInt64>)
  func random(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let (host, charon) = try start()
    var starts = 1
    let lines = [
      "05[IKE] retransmit 2 of request", "05[ENC] parsed INFORMATIONAL response 3 [ ]", "06[IKE] received AUTHENTICATION_FAILED notify",
      "06[IKE] giving up after 3 retransmits", "07[IKE] installing DNS server 10.0.0.53 to /tmp/x", "05[IKE] words",
    ]
    for _ in 0..<400 {
      switch random.next() % 12 {
      case 0 where host.state == .idle:
        host.settingsRefusal = random.chance(0.1) ? Refusal(code: "refused", text: "no") : nil
        charon.refuses = random.chance(0.1) ? ["load-conn": "no"] : random.chance(0.3) ? ["initiate": "no"] : [:]
        host.start(["server": "198.51.100.1"], credentials: ["psk": Array("secret".utf8)])
        starts += 1
      case 1 where host.state != .idle && random.chance(0.3): host.stop(.person)
      case 2 where random.chance(0.3):
        charon.end(Int32(random.next() % 3), process: Int(random.next() % UInt64(max(1, charon.processes.count))))
      case 3:
        // It has not long to end.
        if charon.isTold { charon.end(0) }
        host.advance(by: .milliseconds(Int64(random.next() % 9000)))
      case 4: charon.connect()
      case 5, 6: charon.answer()
      case 7: charon.child(tunnel, up: random.chance(0.8))
      default: charon.say(random.pick(lines))
      }
      if random.chance(0.7) { host.advance(by: .zero) }
      #expect(host.violations.isEmpty)
    }
    host.advance(by: .zero)
    #expect(host.ends.count == starts - (host.state == .idle ? 0 : 1) && starts > 3)
    let failures = host.ends.compactMap { if case .failed(let failure) = $0 { failure } else { nil } }
    #expect(failures.filter { $0.code == "provider-error" } == [])
  }

  @Test("charon gets the networks of the policy") func routes() throws {
    let (host, charon) = try start(["server": "198.51.100.1", "routes": ["10.20.0.0/16"]])
    charon.connect()
    charon.answerAll()
    let connection = try #require(charon.loaded.compactMap { $0.section(tunnel) }.first)
    #expect(connection.section("children")?.section(tunnel)?.texts("remote_ts") == ["10.20.0.0/16"])
    #expect(host.violations.isEmpty)
  }

  @Test("charon is told of the key without its line feed, the interface, the mark, and ESP in UDP") func connection() throws {
    let (host, charon) = try start(["server": "198.51.100.1", "esp-proposals": ["aes256gcm16-ecp384"]])
    charon.connect()
    charon.answerAll()
    #expect(charon.loaded.first?.text("data") == "secret")
    let connection = try #require(charon.loaded.compactMap { $0.section(tunnel) }.first)
    let child = try #require(connection.section("children")?.section(tunnel))
    #expect(connection.text("encap") == "yes" && connection.section("remote")?.text("id") == "198.51.100.1")
    #expect(
      child.text("if_id_in") == "7" && child.text("if_id_out") == "7" && child.text("reqid") == "7"
        && child.text("set_mark_out") == "1375731712/4278190080")
    #expect(child.texts("esp_proposals") == ["aes256gcm16-ecp384"] && child.texts("remote_ts") == ["0.0.0.0/0", "::/0"])
    #expect(host.violations.isEmpty)
  }

  @Test("words of a policy stay values, and the configuration has none of them") func words() throws {
    let evil = "x }\ninclude /etc/shadow\ncharon { load = \"evil\""
    let (host, charon) = try start([
      "server": "198.51.100.1", "local-id": .string(evil), "remote-id": .string(evil), "proposals": [.string(evil)],
    ])
    charon.connect()
    charon.answerAll()
    let connection = try #require(charon.loaded.compactMap { $0.section(tunnel) }.first)
    #expect(connection.section("remote")?.text("id") == evil && connection.section("local")?.text("id") == evil)
    #expect(connection.texts("proposals") == [evil])
    let link = XFRMLink(interface: "office", identifier: 7, mark: 1, mask: 1)
    #expect(host.violations.isEmpty)
    #expect(!CharonConfiguration(folder: "/tmp/x", link: link).text.contains("include"))
  }

  @Test("a password is asked for, a certificate and its authorities are sent") func logins() throws {
    let credentials: [Word: [UInt8]] = ["ca": Array((ca + ca).utf8)]
    let host = Host(StrongSwan<FakeCharon>.self)
    host.answers = { _ in .secret(Array("pass".utf8)) }
    host.start(["server": "198.51.100.1", "username": "alice"], credentials: credentials)
    let charon = try #require(FakeCharon.last)
    charon.connect()
    charon.answerAll()
    #expect(charon.commands.filter { $0 == "load-cert" }.count == 2 && charon.commands.contains("load-shared"))
    let shared = try #require(charon.loaded.first { $0.text("type") == "EAP" })
    #expect(shared.text("data") == "pass" && shared.texts("owners") == ["alice"])
    let (another, other) = try start(
      ["server": "198.51.100.1"], ["ca": Array(ca.utf8), "certificate": Array(ca.utf8), "key": Array("KEY".utf8)])
    other.connect()
    other.answerAll()
    #expect(other.commands.contains("load-key") && another.violations.isEmpty && host.violations.isEmpty)
  }

  @Test("an identity in one file is sent as its parts, and the machine's authorities are those that vouch") func identity() throws {
    let (host, charon) = try start(
      ["server": "198.51.100.1", "authorities": "system"],
      ["identity": PKCS12Tests.identity, "identity-password": PKCS12Tests.password + [10]])
    charon.connect()
    charon.answerAll()
    let flags = charon.loaded.compactMap { $0.text("flag") }
    // Two of the machine, and the identity's own way to its authority.
    #expect(flags == ["CA", "CA", "NONE"] && charon.commands.contains("load-key") && host.violations.isEmpty)
    let parts = try PKCS12Identity(PKCS12Tests.identity, password: PKCS12Tests.password)
    #expect(charon.loaded.contains { $0.elements.contains(.init("data", .value(parts.key))) })
    let (wrong, _) = try start(["server": "198.51.100.1", "authorities": "system"], ["identity": PKCS12Tests.identity])
    #expect(try failure(wrong).code == "identity-unreadable" && failure(wrong).help == .person)
  }

  @Test(
    "failures say who can help",
    arguments: [
      ("06[IKE] received AUTHENTICATION_FAILED notify error", "auth-failed", TunnelFailure.Help.person),
      ("06[IKE] received NO_PROPOSAL_CHOSEN notify error", "no-proposal", .nobody),
      ("06[IKE] received TS_UNACCEPTABLE notify, no CHILD_SA built", "routes-refused", .nobody),
      ("06[IKE] giving up after 3 retransmits", "peer-timeout", .time),
      ("06[CFG] constraint check failed: identity 'a' required", "server-untrusted", .person),
      ("06[IKE] nothing that is known", "ike-failed", .time),
    ])
  func failures(line: String, code: Word, help: TunnelFailure.Help) throws {
    let (host, charon) = try start()
    charon.refuses = ["initiate": "establishing CHILD_SA failed"]
    charon.connect()
    charon.answerAll()
    charon.say(line)
    charon.answer()
    let failure = try failure(host)
    #expect(failure.code == code && failure.help == help, "\(failure)")
  }

  @Test("what charon cannot read needs a person; a server that ends the connection, and a charon that dies, need time") func ends() throws {
    let (host, charon) = try start(["server": "198.51.100.1", "proposals": ["nonsense"]])
    charon.refuses = ["load-conn": "invalid value for: proposals"]
    charon.connect()
    charon.answerAll()
    #expect(try failure(host).help == .person)
    for ending in ["down", "death"] {
      let (host, charon) = try start()
      charon.connect()
      charon.answerAll()
      charon.child(tunnel, up: true)
      host.advance(by: .zero)
      if ending == "down" { charon.child(tunnel, up: false) } else { charon.end(9) }
      #expect(try failure(host).help == .time)
    }
  }

  @Test(
    "what is missing is told with the cure",
    arguments: [
      (["server": "198.51.100.1"], [], "no-authority"), (["server": "198.51.100.1"], ["ca"], "no-login"),
      (["server": "198.51.100.1"], ["ca", "certificate"], "no-key"), (["server": "a b"], ["psk"], "invalid-server"),
    ] as [(JSON, [Word], Word)])
  func missing(options: JSON, names: [Word], code: Word) throws {
    let (host, _) = try start(options, Dictionary(uniqueKeysWithValues: names.map { ($0, Array(ca.utf8)) }))
    #expect(try failure(host).code == code)
  }

  @Test("whatever charon and the server say is read") func total() {
    var random = SplitMix64(seed: 4500)
    let pieces = [
      "05[IKE] ", "received ", "AUTHENTICATION_FAILED", "installing DNS server ", "\u{0}", "ü", "retransmit ", "] ", "10.0.0.1", "%s",
    ]
    for _ in 0..<20_000 {
      let text = (0..<Int(random.next() % 8)).map { _ in random.pick(pieces) }.joined()
      _ = CharonLine(text[...])
      let message = VICIMessage([.text("up", "yes"), .section("a", [.texts("local-vips", [text]), .text("remote-host", text)])])
      #expect(EstablishedChild(message, name: "a")?.addresses.allSatisfy { $0.address.description == text } ?? false)
    }
  }
}
