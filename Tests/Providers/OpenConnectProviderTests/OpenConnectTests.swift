import JSON
import NetworkTypes
import OpenConnectProvider
import ProviderProtocol
import RoamwardProvider
import RoamwardProviderTesting
import SeededRandom
import Testing

/// openconnect(8) in memory: a test speaks for it.
final class FakeOpenConnect: OpenConnectRunner {
  nonisolated(unsafe) static weak var last: FakeOpenConnect?
  private(set) var commands: [OpenConnectCommand] = []
  private(set) var done: [String] = []
  private var said: (OpenConnectWord) -> Void = { _ in }
  /// The ends of its processes, the first first; `nil`: it has ended.
  private(set) var processes: [((Int32) -> Void)?] = []
  /// Whether it was told to end, and has not ended.
  private(set) var isTold = false

  init(host: ProviderHost) { Self.last = self }

  func start(
    _ command: OpenConnectCommand, said: @escaping (OpenConnectWord) -> Void, ended: @escaping (Int32) -> Void
  ) -> String? {
    commands.append(command)
    self.said = said
    processes.append(ended)
    return nil
  }

  func answer(_ text: String) { done.append("answer \(text)") }
  func reconnect() { done.append("reconnect") }

  func leave() {
    done.append("leave")
    tell()
  }

  func pause() {
    done.append("pause")
    tell()
  }

  func kill() { tell() }

  func say(_ words: OpenConnectWord...) { for word in words { said(word) } }
  func end(_ code: Int32 = 0) { end(code, process: processes.count - 1) }

  func end(_ code: Int32, process: Int) {
    guard processes.indices.contains(process), let ended = processes[process] else { return }
    processes[process] = nil
    if process == processes.count - 1 { isTold = false }
    ended(code)
  }

  private func tell() { isTold = processes.last ?? nil != nil }

  func takeDone() -> [String] {
    defer { done = [] }
    return done
  }
}

/// The provider's conversation with openconnect, in memory; `serialized`, because a double is found by its type.
@Suite(.serialized) struct OpenConnectTests {
  typealias Host = MemoryHost<OpenConnect<FakeOpenConnect>>
  static let options: JSON = ["server": "vpn.example", "username": "alice", "group": "staff"]

  private func start(
    _ options: JSON = options, _ credentials: [Word: [UInt8]] = ["password": Array("secret\n".utf8)]
  ) throws -> (Host, FakeOpenConnect) {
    let host = Host(OpenConnect<FakeOpenConnect>.self)
    host.start(options, credentials: credentials)
    return (host, try #require(FakeOpenConnect.last))
  }

  private func letIn(_ host: Host, _ openconnect: FakeOpenConnect) {
    openconnect.say(
      .result("COOKIE='c00k1e'"), .result("HOST='192.0.2.1'"), .result("CONNECT_URL='https://vpn.example:443/'"),
      .result("FINGERPRINT='pin-sha256:abc='"), .result("RESOLVE='vpn.example:192.0.2.1'"))
    openconnect.end()
    host.advance(by: .zero)
  }

  @Test("the sign-in has the protocol and the server's certificate of the policy") func kinds() throws {
    let (_, openconnect) = try start(["server": "vpn.example", "protocol": "gp", "server-certificate": "pin-sha256:AAAA"])
    let arguments = try #require(openconnect.commands.last).arguments
    for words in [["--protocol", "gp"], ["--servercert", "pin-sha256:AAAA"]] {
      #expect(arguments.indices.contains { arguments[$0...].starts(with: words) }, "\(arguments)")
    }
  }

  @Test("no word of a policy or a server becomes an option of its own") func words() throws {
    let evil = "--script=/bin/sh"
    let (host, openconnect) = try start([
      "server": .string(evil), "username": .string(evil), "group": .string(evil), "user-agent": .string(evil),
    ])
    let first = try #require(openconnect.commands.last).arguments
    #expect(first.suffix(2) == ["--", evil])
    for (number, word) in first.dropLast(2).enumerated() where word == evil {
      #expect(["--user", "--authgroup", "--useragent"].contains(first[number - 1]), "\(first)")
    }
    openconnect.say(
      .result("COOKIE='a'"), .result("HOST='\(evil)'"), .result("CONNECT_URL='\(evil)'"), .result("FINGERPRINT='\(evil)'"),
      .result("RESOLVE='\(evil)'"))
    openconnect.end()
    host.advance(by: .zero)
    let second = openconnect.commands.dropFirst().last?.arguments ?? []
    for (number, word) in second.enumerated() where word == evil {
      #expect(["--servercert", "--resolve", "--useragent", "--"].contains(second[number - 1]), "\(second)")
    }
    // The words of the provider itself.
    #expect(second.count { $0.hasPrefix("--script") && $0 != evil } <= 1)
  }

  private let values = [
    "reason": "connect", "INTERNAL_IP4_ADDRESS": "10.8.0.6", "INTERNAL_IP4_NETMASKLEN": "24", "INTERNAL_IP4_MTU": "1400",
    "CISCO_SPLIT_INC": "1", "CISCO_SPLIT_INC_0_ADDR": "10.0.0.0", "CISCO_SPLIT_INC_0_MASKLEN": "8", "VPNGATEWAY": "192.0.2.1",
  ]

  private func failure(_ host: Host) throws -> TunnelFailure {
    guard host.ends.count == 1, case .failed(let failure) = host.ends.first else {
      throw Refusal(code: "no-failure", text: "\(host.ends)")
    }
    return failure
  }

  @Test("it signs in, connects with the cookie, is ready with the settings, reasserts, and leaves") func life() throws {
    let (host, openconnect) = try start()
    #expect(
      openconnect.commands[0].arguments == [
        "--authenticate", "--timestamp", "--protocol", "anyconnect", "--user", "alice", "--authgroup", "staff", "--", "vpn.example",
      ])
    openconnect.say(.prompt("Password:"))
    #expect(openconnect.takeDone() == ["answer secret"])
    letIn(host, openconnect)
    let second = openconnect.commands[1]
    #expect(second.input == "c00k1e\n" && !second.arguments.contains { $0.contains("c00k1e") })
    let end = [
      "--servercert", "pin-sha256:abc=", "--force-dpd", "10", "--resolve", "vpn.example:192.0.2.1", "--", "https://vpn.example:443/",
    ]
    #expect(second.arguments.suffix(8) == end[...])
    openconnect.say(.script(values))
    host.advance(by: .zero)
    #expect(host.state == .connected)
    #expect(host.settings?.addresses.map(\.description) == ["10.8.0.6/32"] && host.settings?.mtu == 1400)
    #expect(host.settings?.includedRoutes.map(\.description) == ["10.0.0.0/8"])
    openconnect.say(.script(["reason": "attempt-reconnect"]))
    host.advance(by: .zero)
    #expect(host.state == .reasserting)
    openconnect.say(.script(values.merging(["reason": "reconnect"]) { $1 }))
    host.advance(by: .zero)
    #expect(host.state == .connected)
    host.stop(.person)
    #expect(openconnect.takeDone() == ["leave"])
    openconnect.end()
    host.advance(by: .zero)
    #expect(host.state == .idle && host.violations.isEmpty && host.ends == [.stopped(inTime: true)])
  }

  @Test("a run that has failed is over: the end of its process means nothing to the next run") func late() throws {
    let (host, openconnect) = try start()
    openconnect.say(.prompt("Password:"), .line("Login failed."), .prompt("Password:"))
    host.advance(by: .zero)
    #expect(try failure(host).code == "auth-failed")
    host.start(Self.options, credentials: ["password": Array("other".utf8)])
    openconnect.end(1, process: 0)
    letIn(host, openconnect)
    openconnect.say(.script(values))
    host.advance(by: .zero)
    #expect(host.state == .connected && host.ends.count == 1 && host.violations.isEmpty)
  }

  @Test("random lives: each start has one end, and no message is out of order", arguments: 0..<60 as Range<UInt64>)
  func random(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let (host, openconnect) = try start()
    var starts = 1
    let ticket = ["COOKIE='c00k1e'", "HOST='192.0.2.1'", "FINGERPRINT='pin-sha256:abc='"].map { OpenConnectWord.result($0) }
    let words: [OpenConnectWord] = [
      .prompt("Password:"), .prompt("Password:"), .prompt("Code:"), .line("Login failed."), .line("Please enter your password."),
      .line("Cookie was rejected by server; exiting."), .line("Failed to connect to host vpn.example"), .script(values), .script(values),
      .script(values.merging(["reason": "reconnect"]) { $1 }), .script(["reason": "attempt-reconnect"]),
    ]
    for _ in 0..<400 {
      switch random.next() % 12 {
      case 0 where host.state == .idle:
        host.settingsRefusal = random.chance(0.1) ? Refusal(code: "refused", text: "no") : nil
        host.start(Self.options, credentials: random.chance(0.5) ? ["password": Array("pw".utf8)] : [:])
        starts += 1
      case 1 where host.state != .idle && random.chance(0.3): host.stop(random.pick(StopReason.allCases))
      case 2:
        if random.chance(0.5) { for word in ticket { openconnect.say(word) } }
        openconnect.end(Int32(random.next() % 3), process: openconnect.processes.count - 1 - Int(random.next() % 2))
      case 3:
        // It has not long to end.
        if openconnect.isTold { openconnect.end(0) }
        host.advance(by: .milliseconds(Int64(random.next() % 9000)))
      case 4: if let open = host.questions.first { host.answer(open.id, random.chance(0.8) ? .secret([49]) : .outcome(.declined)) }
      case 5: host.networkChanged(random.chance(0.5) ? nil : NetworkPath(interface: "eth0", kind: .ethernet))
      default:
        let word = random.pick(words)
        // It asks one question at a time.
        if case .prompt = word, !host.questions.isEmpty { break }
        openconnect.say(word)
      }
      if random.chance(0.7) { host.advance(by: .zero) }
      #expect(host.violations.isEmpty)
    }
    host.advance(by: .zero)
    #expect(host.ends.count == starts - (host.state == .idle ? 0 : 1) && starts > 3)
    let failures = host.ends.compactMap { if case .failed(let failure) = $0 { failure } else { nil } }
    #expect(failures.filter { $0.code == "provider-error" } == [])
  }

  @Test("a wrong password needs a person, and is given once") func refused() throws {
    let (host, openconnect) = try start()
    openconnect.say(.prompt("Password:"), .line("Login failed."), .prompt("Password:"))
    host.advance(by: .zero)
    #expect(openconnect.takeDone() == ["answer secret"])
    let failure = try failure(host)
    #expect(failure.code == "auth-failed" && failure.help == .person)
  }

  @Test("without a password, and for a second one, a person is asked with the server's words") func asked() throws {
    let (host, openconnect) = try start(Self.options, [:])
    var prompts: [Question] = []
    host.answers = {
      prompts.append($0)
      return .secret(Array(prompts.count == 1 ? "pw".utf8 : "123456".utf8))
    }
    openconnect.say(.line("[2026-11-24 02:50:00] POST https://vpn.example/"), .line("Please enter your password."), .prompt("Password:"))
    host.advance(by: .zero)
    openconnect.say(.line("Please enter the code."), .prompt("Verification code:"))
    host.advance(by: .zero)
    #expect(openconnect.takeDone() == ["answer pw", "answer 123456"])
    #expect(prompts.map(\.kind) == [.password, .code])
    #expect(prompts.map(\.prompt) == ["Please enter your password. Password (test)", "Please enter the code. Verification code (test)"])
  }

  @Test("a server that asks for a group, a name or a certificate gets none that the policy does not have")
  func missing() throws {
    let (first, group) = try start(["server": "vpn.example"])
    group.say(.prompt("GROUP: [staff|guests]:"))
    first.advance(by: .zero)
    #expect(
      try failure(first).text == "test: the server asks for a group: add `group:` to the options, one of staff, guests")
    let (second, name) = try start(["server": "vpn.example"])
    name.say(.prompt("Username:"))
    second.advance(by: .zero)
    #expect(try failure(second).code == "no-username")
    let (third, certificate) = try start()
    certificate.say(
      .line("    --servercert pin-sha256:abc="), .prompt("Enter 'yes' to accept, 'no' to abort; anything else to view: "))
    third.advance(by: .zero)
    let unknown = try failure(third)
    #expect(unknown.code == "certificate-unknown" && unknown.text.contains("add `server-certificate: pin-sha256:abc=`"))
    #expect(certificate.takeDone() == [])
  }

  @Test("a session that the server has ended is begun anew once, and time mends the second end") func session() throws {
    let (host, openconnect) = try start()
    letIn(host, openconnect)
    openconnect.say(.script(values))
    host.advance(by: .zero)
    #expect(host.state == .connected)
    openconnect.say(.line("Cookie was rejected by server; exiting."))
    openconnect.end(2)
    host.advance(by: .zero)
    #expect(host.state == .reasserting && openconnect.commands.count == 3)
    letIn(host, openconnect)
    openconnect.say(.line("Cookie was rejected by server; exiting."))
    openconnect.end(2)
    host.advance(by: .zero)
    #expect(openconnect.commands.count == 5)
    letIn(host, openconnect)
    openconnect.say(.line("Cookie was rejected by server; exiting."))
    openconnect.end(2)
    host.advance(by: .zero)
    #expect(try failure(host).help == .time)
  }

  @Test("a change of network makes it connect again, and a stop while it signs in ends it") func moves() throws {
    let (host, openconnect) = try start()
    host.networkChanged(NetworkPath(interface: "wlan0", kind: .wifi))
    #expect(openconnect.takeDone() == [])
    letIn(host, openconnect)
    host.networkChanged(NetworkPath(interface: "eth0", kind: .ethernet))
    #expect(openconnect.takeDone() == ["reconnect"])
    let (other, another) = try start()
    other.stop(.rule)
    another.end(137)
    other.advance(by: .zero)
    #expect(other.ends == [.stopped(inTime: true)])
  }

  private func connected(_ kept: [UInt8] = []) throws -> (Host, FakeOpenConnect) {
    let host = Host(OpenConnect<FakeOpenConnect>.self)
    host.kept = kept
    host.start(Self.options, credentials: [:])
    let openconnect = try #require(FakeOpenConnect.last)
    if kept.isEmpty { letIn(host, openconnect) }
    openconnect.say(.script(values))
    host.advance(by: .zero)
    return (host, openconnect)
  }

  @Test(
    "a connection that is lost is resumed without a person; one that is not wanted any more is signed out", arguments: StopReason.allCases)
  func resumed(reason: StopReason) throws {
    let (host, openconnect) = try connected()
    #expect(host.state == .connected && !host.kept.isEmpty)
    host.stop(reason)
    openconnect.end()
    host.advance(by: .zero)
    let isLater = [StopReason.failed, .timeout, .settingsFailed, .noNetwork, .networkChanged].contains(reason)
    #expect(openconnect.takeDone() == [isLater ? "pause" : "leave"] && host.kept.isEmpty == !isLater)
    guard isLater else { return }
    let (again, second) = try connected(host.kept)
    #expect(again.state == .connected && second.commands.map(\.input) == ["c00k1e\n"])
    #expect(!second.commands[0].arguments.contains("--resolve"), "the server may have moved")
  }

  @Test("a ticket that the server refuses, or that is another person's, leads to a sign-in; a dead server does not")
  func refusedTicket() throws {
    let (host, _) = try connected()
    for line in ["Cookie was rejected by server; exiting.", "Unexpected 404 result from server"] {
      let other = Host(OpenConnect<FakeOpenConnect>.self)
      other.kept = host.kept
      other.start(Self.options, credentials: [:])
      let openconnect = try #require(FakeOpenConnect.last)
      openconnect.say(.line(line))
      openconnect.end(2)
      other.advance(by: .zero)
      #expect(openconnect.commands.count == 2 && openconnect.commands[1].arguments.first == "--authenticate" && other.kept.isEmpty)
    }
    let dead = Host(OpenConnect<FakeOpenConnect>.self)
    dead.kept = host.kept
    dead.start(Self.options, credentials: [:])
    try #require(FakeOpenConnect.last).say(.line("Failed to connect to host vpn.example"))
    try #require(FakeOpenConnect.last).end(1)
    dead.advance(by: .zero)
    #expect(try failure(dead).code == "unreachable" && dead.kept == host.kept)
    let others: [JSON] = [
      ["server": "vpn.example", "username": "bob", "group": "staff"], ["server": "other.example", "username": "alice", "group": "staff"],
      ["server": "vpn.example", "username": "alice", "group": "guests"],
    ]
    for options in others {
      let other = Host(OpenConnect<FakeOpenConnect>.self)
      other.kept = host.kept
      other.start(options, credentials: [:])
      #expect(try #require(FakeOpenConnect.last).commands.first?.arguments.first == "--authenticate")
    }
  }
}
