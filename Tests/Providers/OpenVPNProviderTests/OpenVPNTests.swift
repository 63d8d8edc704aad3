import JSON
import NetworkTypes
import OpenVPNProvider
import ProviderProtocol
import RoamwardProvider
import RoamwardProviderTesting
import SeededRandom
import Testing

/// openvpn(8) in memory: a test speaks for it.
final class FakeOpenVPN: OpenVPNRunner {
  nonisolated(unsafe) static weak var last: FakeOpenVPN?
  private(set) var configuration = ""
  private(set) var commands: [String] = []
  private var line: (ManagementLine) -> Void = { _ in }
  /// The ends of its processes, the first first; `nil`: it has ended.
  private(set) var processes: [((Int32) -> Void)?] = []
  /// Whether it was told to end, and has not ended.
  private(set) var isTold = false

  init(host: ProviderHost) { Self.last = self }

  func start(
    _ configuration: String, device: String, line: @escaping (ManagementLine) -> Void, ended: @escaping (Int32) -> Void
  ) -> String? {
    (self.configuration, self.line) = (configuration, line)
    processes.append(ended)
    return nil
  }

  func send(_ command: String) {
    commands.append(command)
    if command == "signal SIGTERM" { tell() }
  }

  func kill() { tell() }

  func say(_ lines: String...) { for text in lines { line(ManagementLine(text[...])) } }
  func end(_ code: Int32 = 0) { end(code, process: processes.count - 1) }

  func end(_ code: Int32, process: Int) {
    guard processes.indices.contains(process), let ended = processes[process] else { return }
    processes[process] = nil
    if process == processes.count - 1 { isTold = false }
    ended(code)
  }

  private func tell() { isTold = processes.last ?? nil != nil }

  /// Prints the lines that openvpn prints after `status`.
  func count(_ received: Int, _ sent: Int) {
    say(
      "OpenVPN STATISTICS", "Updated,2026-11-28 15:00:00", "TUN/TAP read bytes,1", "TUN/TAP write bytes,2",
      "TCP/UDP read bytes,\(received)", "TCP/UDP write bytes,\(sent)", "Auth read bytes,3", "END")
  }

  func takeCommands() -> [String] {
    defer { commands = [] }
    return commands
  }
}

/// The provider's conversation with openvpn, in memory; `serialized`, because a double is found by its type.
@Suite(.serialized) struct OpenVPNTests {
  static let config = Array("client\nremote vpn.example 1194\n".utf8)

  func start(
    _ options: JSON = [:], credentials: [Word: [UInt8]] = ["config": config]
  ) throws -> (MemoryHost<OpenVPN<FakeOpenVPN>>, FakeOpenVPN) {
    let host = MemoryHost(OpenVPN<FakeOpenVPN>.self)
    host.start(options, credentials: credentials)
    return (host, try #require(FakeOpenVPN.last))
  }

  func connect(_ host: MemoryHost<OpenVPN<FakeOpenVPN>>, _ openvpn: FakeOpenVPN) {
    openvpn.say(">HOLD:Waiting for hold release:0")
    host.advance(by: .zero)
    openvpn.say(
      ">UPDOWN:UP", ">UPDOWN:ENV,dev=tun0", ">UPDOWN:ENV,ifconfig_local=10.8.0.6", ">UPDOWN:ENV,ifconfig_netmask=255.255.255.0",
      ">UPDOWN:ENV,END", ">STATE:1,CONNECTED,SUCCESS,10.8.0.6,192.0.2.1,1194,,")
    host.advance(by: .zero)
  }

  private func code(_ host: MemoryHost<OpenVPN<FakeOpenVPN>>) -> Word? {
    if case .failed(let failure) = host.ends.first { failure.code } else { nil }
  }

  @Test(
    "a certificate that the clock makes wrong, one of another server, and a name without an address are told as such",
    arguments: [
      ("VERIFY ERROR: depth=0, error=certificate is not yet valid: CN=vpn.example, serial=1", "certificate-not-yet-valid"),
      ("VERIFY ERROR: depth=1, error=certificate has expired: CN=Example CA, serial=2", "certificate-expired"),
      ("VERIFY ERROR: depth=1, error=self-signed certificate in certificate chain: CN=Other", "server-untrusted"),
      ("VERIFY X509NAME ERROR: CN=other.example, must be vpn.example", "server-untrusted"),
      ("RESOLVE: Cannot resolve host address: vpn.example:1194 (Name or service not known)", "unresolved"),
    ], [1, 2])
  func known(_ found: (line: String, code: Word), servers: Int) throws {
    let file = "client\n" + (0..<servers).map { "remote vpn\($0).example 1194\n" }.joined()
    let (host, openvpn) = try start(credentials: ["config": Array(file.utf8)])
    host.advance(by: .zero)
    for _ in 0..<servers {
      openvpn.say(">HOLD:Waiting for hold release:0")
      host.advance(by: .seconds(2))
      #expect(code(host) == nil, "another server may be well")
      openvpn.say(">LOG:1,N,\(found.line)", ">STATE:1,RECONNECTING,tls-error,,,,,")
    }
    openvpn.say(">HOLD:Waiting for hold release:5")
    host.advance(by: .zero)
    #expect(code(host) == found.code)
  }

  @Test("what was told before a connection is no reason for its end") func forgotten() throws {
    let (host, openvpn) = try start()
    host.advance(by: .zero)
    openvpn.say(">LOG:1,N,VERIFY ERROR: depth=0, error=certificate is not yet valid: CN=vpn.example")
    connect(host, openvpn)
    openvpn.end(1)
    host.advance(by: .zero)
    #expect(code(host) == "openvpn-ended")
  }

  @Test("it is ready when openvpn is connected and the settings are applied; it reasserts, and is ready again") func life() throws {
    let (host, openvpn) = try start()
    connect(host, openvpn)
    #expect(host.state == .connected && openvpn.takeCommands() == ["hold release"])
    #expect(host.settings?.addresses.map(\.description) == ["10.8.0.6/24"])
    openvpn.say(">STATE:2,RECONNECTING,ping-restart,,,,,")
    host.advance(by: .zero)
    #expect(host.state == .reasserting && host.reassertion == "reconnecting")
    openvpn.say(">STATE:3,CONNECTED,SUCCESS,10.8.0.6,192.0.2.1,1194,,")
    host.advance(by: .zero)
    #expect(host.state == .connected && openvpn.takeCommands().isEmpty)
    host.stop(.person)
    #expect(openvpn.takeCommands() == ["signal SIGTERM"])
    openvpn.end()
    host.advance(by: .zero)
    #expect(host.state == .idle && host.violations.isEmpty)
  }

  @Test("a run that has failed is over: its process ends late, and its words are for the log alone") func late() throws {
    let (host, openvpn) = try start()
    connect(host, openvpn)
    openvpn.say(">FATAL:no more")
    host.advance(by: .zero)
    #expect(code(host) == "openvpn-failed")
    openvpn.say(">STATE:2,RECONNECTING,ping-restart,,,,,", ">LOG:1,N,closing")
    host.start([:], credentials: ["config": Self.config])
    openvpn.end(137, process: 0)
    connect(host, openvpn)
    #expect(host.state == .connected && host.ends.count == 1 && host.violations.isEmpty && host.log.map(\.text).contains("closing"))
  }

  @Test("random lives: each start has one end, and no message is out of order", arguments: 0..<60 as Range<UInt64>)
  func random(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let options: JSON = ["username": "alice"]
    let (host, openvpn) = try start(options)
    var starts = 1
    host.answers = { $0.kind == .password ? .secret(Array("pw".utf8)) : nil }
    let lines = [
      ">HOLD:Waiting for hold release:0", ">STATE:3,CONNECTED,SUCCESS,10.8.0.6,192.0.2.1,1194,,", ">STATE:2,RECONNECTING,tls-error,,,,,",
      ">UPDOWN:UP", ">UPDOWN:ENV,dev=tun0", ">UPDOWN:ENV,ifconfig_local=10.8.0.6", ">UPDOWN:ENV,END", ">STATE:9,EXITING,SIGTERM,,,,,",
      ">PASSWORD:Need 'Auth' username/password", ">PASSWORD:Need 'Auth' username/password SC:0,Enter PIN",
      ">PASSWORD:Verification Failed: 'Auth' ['CRV1:R:state:YWxpY2U=:Code']", "TCP/UDP read bytes,1", "TCP/UDP write bytes,2",
    ]
    for _ in 0..<400 {
      switch random.next() % 16 {
      case 0 where host.state == .idle:
        host.settingsRefusal = random.chance(0.1) ? Refusal(code: "refused", text: "no") : nil
        host.start(options, credentials: ["config": Self.config])
        starts += 1
      case 1 where host.state != .idle && random.chance(0.3): host.stop(.person)
      case 2: openvpn.end(Int32(random.next() % 3), process: Int(random.next() % UInt64(max(1, openvpn.processes.count))))
      case 3:
        // It has not long to end.
        if openvpn.isTold { openvpn.end(0) }
        host.advance(by: .milliseconds(Int64(random.next() % 9000)))
      case 4: if let open = host.questions.first { host.answer(open.id, random.chance(0.8) ? .secret([49]) : .outcome(.declined)) }
      case 5 where random.chance(0.1): openvpn.say(">FATAL:no more")
      case 6: host.networkChanged(random.chance(0.5) ? nil : NetworkPath(interface: "eth0", kind: .ethernet))
      default:
        let line = random.pick(lines)
        // It asks one question at a time.
        if !line.hasPrefix(">PASSWORD") || host.questions.isEmpty { openvpn.say(line) }
      }
      if random.chance(0.7) { host.advance(by: .zero) }
      #expect(host.violations.isEmpty)
    }
    host.advance(by: .zero)
    #expect(host.ends.count == starts - (host.state == .idle ? 0 : 1) && starts > 3)
    let failures = host.ends.compactMap { if case .failed(let failure) = $0 { failure } else { nil } }
    #expect(failures.filter { $0.code == "provider-error" } == [])
  }

  @Test(
    "a server that answers no more is told within 25 s of the first packet, and asked to connect anew",
    arguments: [nil, "ping 10,ping-restart 60", "ping 1,ping-restart 240", "ping 30,ping-restart 120"] as [String?])
  func silent(pushed: String?) throws {
    let (host, openvpn) = try start()
    if let pushed { openvpn.say(">LOG:1,,PUSH: Received control message: 'PUSH_REPLY,\(pushed)'") }
    connect(host, openvpn)
    _ = openvpn.takeCommands()
    // Each second a packet goes out, and for a while one comes back.
    var (received, sent, told) = (0, 0, 0)
    var commands: Set<String> = []
    for second in 1...120 {
      sent += 100
      if second <= 33 { received += 100 }
      host.advance(by: .seconds(1))
      let asked = openvpn.takeCommands()
      if asked.contains("status") { openvpn.count(received, sent) }
      commands.formUnion(asked)
      if told == 0, host.state == .reasserting { told = second }
    }
    #expect(host.reassertion == "peer-timeout" && commands == ["status", "signal SIGUSR1"])
    #expect((33...58).contains(told), "\(told)")
  }

  /// Ten minutes of a connection: the bytes at each second. Returns the number of its losses and of its looks.
  private func live(_ pushed: String, _ bytes: (Int) -> (received: Int, sent: Int)) throws -> (losses: Int, looks: Int) {
    let (host, openvpn) = try start()
    openvpn.say(">LOG:1,,PUSH: Received control message: 'PUSH_REPLY,\(pushed)'")
    connect(host, openvpn)
    var (losses, looks) = (0, 0)
    for second in 1...600 {
      host.advance(by: .seconds(1))
      let commands = openvpn.takeCommands()
      if commands.contains("status") {
        looks += 1
        openvpn.count(bytes(second).received, bytes(second).sent)
      }
      host.advance(by: .zero)
      guard host.state == .reasserting else { continue }
      losses += 1
      openvpn.say(">STATE:2,RECONNECTING,SIGUSR1,,,,,", ">STATE:3,CONNECTED,SUCCESS,10.8.0.6,192.0.2.1,1194,,")
      host.advance(by: .zero)
    }
    return (losses, looks)
  }

  @Test("pings of the server alone, no traffic, and packets that want no answer are no silence") func answered() throws {
    let pings = "ping 10,ping-restart 60"
    #expect(try live(pings) { ($0 / 10 * 40, $0 / 10 * 40) }.losses == 0)
    #expect(try live(pings) { ($0 / 10 * 40, $0 * 100) }.losses == 0)
    let idle = try live("topology subnet") { _ in (1000, 1000) }
    #expect(idle.losses == 0 && idle.looks <= 61)
    // If no pings were promised, such packets cost ever fewer connections.
    #expect((1...5).contains(try live("topology subnet") { (1000, $0 * 100) }.losses))
    // A pause, and packets after it.
    #expect(try live("topology subnet") { ($0 < 300 ? 1000 : $0, $0 < 295 ? 1000 : $0) }.losses == 0)
  }

  @Test("holds are released after pauses that grow, not in a storm") func holds() throws {
    let (host, openvpn) = try start()
    var releases: [Int] = []
    for second in 0..<40 {
      if second == 0 || !openvpn.takeCommands().isEmpty {
        if second > 0 { releases.append(second) }
        openvpn.say(">HOLD:Waiting for hold release:0")
      }
      host.advance(by: .seconds(1))
    }
    #expect(releases == [1, 3, 7, 15, 31])
  }

  @Test("a refused password needs a person, whatever the exit code") func refused() throws {
    let (host, openvpn) = try start(["username": "alice"], credentials: ["config": Self.config, "password": Array("secret\n".utf8)])
    #expect(openvpn.configuration.hasPrefix("auth-user-pass\n"))
    openvpn.say(">PASSWORD:Need 'Auth' username/password")
    host.advance(by: .zero)
    #expect(openvpn.takeCommands() == ["username \"Auth\" \"alice\"", "password \"Auth\" \"secret\""])
    openvpn.say(">PASSWORD:Verification Failed: 'Auth'")
    openvpn.end(0)
    host.advance(by: .zero)
    guard case .failed(let failure) = host.ends.first else {
      Issue.record("\(host.ends)")
      return
    }
    #expect(failure.code == "auth-failed" && failure.help == .person && host.ends.count == 1)
  }

  @Test("a static challenge and a dynamic one are asked, and answered in their forms") func challenges() throws {
    let (host, openvpn) = try start(["username": "alice"], credentials: ["config": Self.config, "password": Array("pw".utf8)])
    host.answers = { $0.prompt.contains("PIN") ? .secret(Array("1234".utf8)) : .secret(Array("987".utf8)) }
    openvpn.say(">PASSWORD:Need 'Auth' username/password SC:0,Enter PIN")
    host.advance(by: .zero)
    #expect(openvpn.takeCommands() == ["username \"Auth\" \"alice\"", "password \"Auth\" \"SCRV1:cHc=:MTIzNA==\""])
    openvpn.say(">PASSWORD:Verification Failed: 'Auth' ['CRV1:R:state:YWxpY2U=:Code']")
    host.advance(by: .zero)
    openvpn.say(">PASSWORD:Need 'Auth' username/password")
    host.advance(by: .zero)
    #expect(openvpn.takeCommands() == ["hold release", "username \"Auth\" \"alice\"", "password \"Auth\" \"CRV1::state::987\""])
  }

  @Test(
    "without its file, or with a wrong one, it says what to do",
    arguments: [
      (nil, "test: the credential `config` is missing: name the client's file, such as `config: corp.ovpn`"),
      (
        "verb 3\nplugin x",
        "test: line 2 of the credential `config`: the option `plugin` is not allowed; remove it if the tunnel works without it"
      ),
    ] as [(String?, String)]) func configuration(text: String?, reason: String) throws
  {
    let (host, _) = try start(credentials: text.map { ["config": Array($0.utf8)] } ?? [:])
    guard case .failed(let failure) = host.ends.first else {
      Issue.record("\(host.ends)")
      return
    }
    #expect(failure.text == reason && failure.help == .person)
  }

  @Test("an end that nothing announced is a failure that time may mend") func end() throws {
    let (host, openvpn) = try start()
    connect(host, openvpn)
    openvpn.say(">STATE:9,EXITING,SIGTERM,,,,,")
    openvpn.end(1)
    host.advance(by: .zero)
    guard case .failed(let failure) = host.ends.first else {
      Issue.record("\(host.ends)")
      return
    }
    #expect(failure.text == "test: openvpn ended (SIGTERM); see its log" && failure.help == .time)
  }
}
