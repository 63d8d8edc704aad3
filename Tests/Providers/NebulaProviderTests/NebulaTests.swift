import JSON
import NebulaProvider
import NetworkTypes
import ProviderProtocol
import RoamwardProvider
import RoamwardProviderTesting
import SeededRandom
import Testing

/// nebula(1) in memory: a test speaks for it.
final class FakeNebula: NebulaRunner {
  nonisolated(unsafe) static weak var last: FakeNebula?
  nonisolated(unsafe) static var printed: Result<String, NebulaFailure> = .success("")
  nonisolated(unsafe) static var invalid: NebulaFailure?
  private(set) var asked: [String] = []
  private(set) var verified: [String] = []
  private(set) var files: [String: String] = [:]
  private(set) var done: [String] = []
  private var said: (NebulaLine) -> Void = { _ in }
  /// The ends of its processes, the first first; `nil`: it has ended.
  private(set) var processes: [((Int32) -> Void)?] = []
  /// Whether it was told to end, and has not ended.
  private(set) var isTold = false

  init(host: ProviderHost) { Self.last = self }

  func printCertificates(_ text: String, then: @escaping (Result<String, NebulaFailure>) -> Void) {
    asked.append(text)
    then(Self.printed)
  }

  func verify(_ certificate: String, by authorities: String, then: @escaping (NebulaFailure?) -> Void) {
    verified.append("\(certificate)by \(authorities)")
    then(Self.invalid)
  }

  func start(_ files: [String: [UInt8]], said: @escaping (NebulaLine) -> Void, ended: @escaping (Int32) -> Void) -> String? {
    self.files = files.mapValues { String(decoding: $0, as: UTF8.self) }
    self.said = said
    processes.append(ended)
    return nil
  }

  func forgetFiles() { done.append("forget") }
  func terminate() {
    done.append("terminate")
    tell()
  }
  func kill() { tell() }

  func say(_ lines: String...) { for line in lines { said(NebulaLine(line[...])) } }
  func end(_ code: Int32) { end(code, process: processes.count - 1) }

  func end(_ code: Int32, process: Int) {
    guard processes.indices.contains(process), let ended = processes[process] else { return }
    processes[process] = nil
    if process == processes.count - 1 { isTold = false }
    ended(code)
  }

  private func tell() { isTold = processes.last ?? nil != nil }
}

private let active = #"{"build":"1.6.1","interface":"test","level":"info","msg":"Nebula interface is active","network":"10.96.0.2/24"}"#
private let sent = #"{"level":"info","msg":"Handshake message sent","vpnIp":"10.96.0.1"}"#
private let received = #"{"level":"info","msg":"Handshake message received","vpnIp":"10.96.0.1"}"#
private let dead = #"{"level":"info","msg":"Tunnel status","tunnelCheck":{"method":"active","state":"dead"},"vpnIp":"10.96.0.1"}"#
private let pem = "-----BEGIN NEBULA CERTIFICATE-----\nCk==\n-----END NEBULA CERTIFICATE-----\n"
private let host = """
  {"details":{"ips":["10.96.0.2/24"],"isCa":false,"name":"laptop","notBefore":"2026-01-01T01:00:00.5+01:00",\
  "notAfter":"2027-01-01T00:00:00Z"}}
  """
private let authority = #"{"details":{"ips":[],"isCa":true,"name":"ca","notAfter":"2028-02-29T22:30:00-01:30"}}"#
private let hosts = "static_host_map: { 10.96.0.1: ['192.0.2.1:4242'] }\n"

/// The provider's conversation with nebula, in memory; `serialized`, because a double is found by its type.
@Suite(.serialized) struct NebulaTests {
  typealias Host = MemoryHost<Nebula<FakeNebula>>

  private func start(
    _ options: JSON = [:],
    _ credentials: [Word: [UInt8]] = [
      "config": Array("pki:\n  cert: |\n    \(pem.split(separator: "\n").joined(separator: "\n    "))\n\(hosts)".utf8)
    ]
  ) throws -> (Host, FakeNebula) {
    FakeNebula.printed = .success("\(host)\n\(authority)\n")
    let host = Host(Nebula<FakeNebula>.self)
    host.start(options, credentials: credentials)
    return (host, try #require(FakeNebula.last))
  }

  @Test("it is ready with a host that answers, reasserts when none does, and ends as asked") func life() throws {
    let (host, nebula) = try start(["mtu": 1280, "routes": [["to": "10.20.0.0/16", "via": "10.96.0.9"]]])
    #expect(
      nebula.files["2-roamward.yml"]?.contains("  mtu: 1280\n  disabled: \"no\"\n  unsafe_routes:\n    - route: 10.20.0.0/16\n") == true)
    nebula.say(active, sent)
    host.advance(by: .seconds(3))
    #expect(host.state == .starting && nebula.done == ["forget"])
    #expect(host.settings?.addresses.map(\.description) == ["10.96.0.2/24"] && host.settings?.mtu == 1280)
    #expect(host.settings?.includedRoutes.map(\.description) == ["10.96.0.0/24", "10.20.0.0/16"])
    nebula.say(received)
    host.advance(by: .zero)
    #expect(host.state == .connected)
    nebula.say(dead)
    host.advance(by: .zero)
    #expect(host.state == .reasserting)
    nebula.say(received)
    host.advance(by: .zero)
    #expect(host.state == .connected)
    host.stop(.person)
    #expect(nebula.done == ["forget", "terminate"])
    nebula.end(0)
    host.advance(by: .zero)
    #expect(host.ends == [.stopped(inTime: true)] && host.violations.isEmpty)
  }

  @Test("a run that has failed is over: the end of its process means nothing to the next run") func late() throws {
    let (host, nebula) = try start()
    nebula.say(active, sent)
    host.advance(by: .seconds(31))
    #expect(host.ends.count == 1)
    host.start([:], credentials: ["config": Array(hosts.utf8), "cert": Array(pem.utf8), "ca": Array(pem.utf8), "key": [75]])
    nebula.end(137, process: 0)
    nebula.say(active, received)
    host.advance(by: .zero)
    #expect(host.state == .connected && host.ends.count == 1 && host.violations.isEmpty)
  }

  @Test("random lives: each start has one end, and no message is out of order", arguments: 0..<60 as Range<UInt64>)
  func random(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let (host, nebula) = try start()
    var starts = 1
    for _ in 0..<300 {
      switch random.next() % 8 {
      case 0 where host.state == .idle:
        host.settingsRefusal = random.chance(0.1) ? Refusal(code: "refused", text: "no") : nil
        host.start([:], credentials: ["config": Array(hosts.utf8), "cert": Array(pem.utf8), "ca": Array(pem.utf8), "key": [75]])
        starts += 1
      case 1 where host.state != .idle && random.chance(0.3): host.stop(.person)
      case 2: nebula.end(Int32(random.next() % 3), process: Int(random.next() % UInt64(max(1, nebula.processes.count))))
      case 3:
        // It has not long to end.
        if nebula.isTold { nebula.end(0) }
        host.advance(by: .milliseconds(Int64(random.next() % 4000)))
      default: nebula.say(random.pick([active, active, sent, received, dead, "panic"]))
      }
      host.advance(by: .zero)
      #expect(host.violations.isEmpty && host.ends.count == starts - (host.state == .idle ? 0 : 1))
    }
    let failures = host.ends.compactMap { if case .failed(let failure) = $0 { failure } else { nil } }
    #expect(failures.filter { $0.code == "provider-error" } == [])
    #expect(starts > 3)
  }

  @Test("without a host that it wants to reach it is ready by itself") func alone() throws {
    let (host, nebula) = try start()
    nebula.say(active)
    host.advance(by: .seconds(1))
    #expect(host.state == .starting)
    host.advance(by: .seconds(2))
    #expect(host.state == .connected)
  }

  @Test("credentials override the file's, and the host's certificate is found in them") func credentials() throws {
    let (host, nebula) = try start(
      [:],
      ["config": Array(hosts.utf8), "cert": Array(pem.utf8), "ca": Array(pem.utf8), "key": Array("KEY".utf8)])
    #expect(
      host.validities == [
        Validity("the certificate laptop", from: 1_767_225_600, until: 1_798_761_600), Validity("the authority ca", until: 1_835_481_600),
      ])
    #expect(nebula.asked == [pem + pem] && nebula.verified == ["\(pem)by \(pem)"])
    let text = nebula.files["2-roamward.yml"] ?? ""
    #expect(text.contains("pki:\n  ca: |\n    -----BEGIN NEBULA") && text.contains("\n  key: |\n    KEY\n"))
  }

  @Test(
    "failures say who can help",
    arguments: [
      (
        1, #"{"level":"error","msg":"Failed to start","error":"nebula certificate for this host is expired"}"#, "expired",
        TunnelFailure.Help.person
      ),
      (1, #"{"level":"error","msg":"Failed to get a tun/tap device","error":"device or resource busy"}"#, "busy", .time),
      (1, #"{"level":"error","msg":"Failed to start","error":"failed to set tun netmask"}"#, "netmask", .time),
      (
        1, #"{"level":"fatal","msg":"failed to set mtu 1300 on the default route 10.96.0.0/24; invalid argument"}"#, "default route", .time
      ), (1, #"{"level":"fatal","msg":"failed to bring the tun device up: no such device"}"#, "bring", .time),
      (2, "panic: runtime error", "panic", .time),
    ])
  func failures(code: Int32, line: String, word: String, help: TunnelFailure.Help) throws {
    let (host, nebula) = try start()
    nebula.say(line)
    nebula.end(code)
    host.advance(by: .zero)
    guard case .failed(let failure) = host.ends.first else { throw Refusal(code: "no-failure", text: "\(host.ends)") }
    #expect(failure.help == help && failure.text.contains(word))
  }

  @Test("a certificate that the authorities do not vouch for needs a person, and nebula is not started") func invalid() throws {
    FakeNebula.invalid = NebulaFailure("its certificate is not valid: could not find ca for the certificate")
    defer { FakeNebula.invalid = nil }
    let (host, nebula) = try start(
      [:], ["config": Array(hosts.utf8), "cert": Array(pem.utf8), "ca": Array(pem.utf8), "key": Array("KEY".utf8)])
    guard case .failed(let failure) = host.ends.first else { throw Refusal(code: "no-failure", text: "\(host.ends)") }
    #expect(failure.code == "invalid-certificate" && failure.help == .person && nebula.files.isEmpty)
  }

  @Test("where no host answers in time it has failed, which time may mend") func silence() throws {
    let (host, nebula) = try start()
    nebula.say(active, sent)
    host.advance(by: .seconds(31))
    guard case .failed(let failure) = host.ends.first else { throw Refusal(code: "no-failure", text: "\(host.ends)") }
    #expect(failure.code == "no-host" && failure.help == .time)
  }

  @Test(
    "a configuration that names files, or has no certificate, is told with the cure",
    arguments: [
      ("pki:\n  cert: /etc/nebula/host.crt\n", "invalid-config", "line 2 of the credential `config`: `pki.cert`: it names a file"),
      ("pki: { key: a }\n", "invalid-config", "`credentials: { key: FILE }`"),
      ("sshd: { enabled: true }\n", "invalid-config", "line 1 of the credential `config`: `sshd`: it opens a shell"),
      (hosts + "cipher: aes\n", "no-certificate", "`credentials: { ca: …, cert: …, key: … }`"),
    ] as [(String, Word, String)]) func files(config: String, code: Word, words: String) throws
  {
    let (host, _) = try start([:], ["config": Array(config.utf8)])
    guard case .failed(let failure) = host.ends.first else { throw Refusal(code: "no-failure", text: "\(host.ends)") }
    #expect(failure.code == code && failure.text.contains(words) && failure.help == .person, "\(failure)")
  }

  @Test("whatever it prints is read") func total() {
    var random = SplitMix64(seed: 96)
    let pieces = ["{", "}", "\"msg\":", "\"Tunnel status\"", "\"vpnIp\"", ":", ",", "[", "]", "1", "\u{0}", "ü", "null", "\"ips\":[\"x\"]"]
    for _ in 0..<50_000 {
      let text = (0..<Int(random.next() % 12)).map { _ in random.pick(pieces) }.joined()
      _ = NebulaLine(text[...])
      _ = NebulaCertificate(printed: text, of: [text])
      _ = NebulaCertificate.blocks(in: text)
    }
  }

  @Test(
    "a configuration that can reach no host needs a person; a lighthouse is found by others",
    arguments: ["", "# nothing\n", "lighthouse: {}\n", "static_host_map: {}\nlighthouse: { hosts: [10.96.0.1], am_lighthouse: no }\n"])
  func alone(config: String) throws {
    let credentials: [Word: [UInt8]] = ["cert": Array(pem.utf8), "ca": Array(pem.utf8), "key": Array("KEY".utf8)]
    let (host, nebula) = try start([:], credentials.merging(["config": Array(config.utf8)]) { $1 })
    guard case .failed(let failure) = host.ends.first else { throw Refusal(code: "no-failure", text: "\(host.ends)") }
    #expect(failure.code == "no-hosts" && failure.help == .person && nebula.files.isEmpty)
    let (_, lighthouse) = try start([:], credentials.merging(["config": Array("lighthouse: { am_lighthouse: yes }\n".utf8)]) { $1 })
    #expect(!lighthouse.files.isEmpty)
  }

  @Test("moments of certificates are read as the clock has them, in any zone") func moments() {
    var random = SplitMix64(seed: 71)
    for _ in 0..<2000 {
      let seconds = Int64.random(in: 100_000...200_000_000_000, using: &random)
      let offset = Int64.random(in: -14 * 60...14 * 60, using: &random)
      let local = String(Timestamp(seconds: seconds + offset * 60).description.prefix(19))
      let (hours, minutes) = (abs(offset) / 60, abs(offset) % 60)
      let zone = "\(offset < 0 ? "-" : "+")\(hours < 10 ? "0" : "")\(hours):\(minutes < 10 ? "0" : "")\(minutes)"
      #expect(NebulaCertificate.seconds(local + (random.next().isMultiple(of: 2) ? ".123456789" : "") + zone) == seconds)
    }
    for text in ["", "2027-01-01", "2027-01-01T00:00:00", "2027-01-01T00:00:00+1", "2027-13-01T00:00:00Z", "2027-01-01T00:00:00ZZ", "é"] {
      #expect(NebulaCertificate.seconds(text) == nil)
    }
  }
}
