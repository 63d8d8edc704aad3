import GatewayCore
import GatewayLogin
import GatewayOpenID
import Glibc
import LinuxIO
import LoginProtocol
import NetworkTypes
import TestSupport
import Testing

private let script = "\(#filePath)".split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 } + "/issuer.py"
private let canRun = (try? shell("command -v python3 openssl")) != nil

/// A provider on loopback (issuer.py), for as long as the value is kept.
final class Provider {
  let folder: TemporaryFolder
  let port: UInt16
  private let process: Int32

  init() throws {
    folder = try TemporaryFolder()
    process = try SpawnedProgram(
      "/usr/bin/env", ["env", "python3", script, folder.path], environment: ["PATH=/usr/bin:/bin"],
      descriptors: [.nothing, .nothing, .nothing], company: .group
    ).start()
    let end = Moment.now + .seconds(600)
    var found: UInt16?
    while found == nil, Moment.now < end {
      usleep(20_000)
      found = (try? TextFile.read(folder.path + "/port")).flatMap { UInt16(String(decoding: $0, as: UTF8.self)) }
    }
    port = try #require(found, "the provider does not begin")
  }

  deinit {
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }

  var certificate: String { (try? TextFile.read(folder.path + "/tls.pem")).map { String(decoding: $0, as: UTF8.self) } ?? "" }

  func client(_ behaviour: String, _ change: (inout OpenIDClient) -> Void = { _ in }) -> OpenIDClient {
    let settings = OpenIDSettings(issuer: "https://127.0.0.1:\(port)/\(behaviour)", clientID: "roamward")
    var client = OpenIDClient(settings, secret: "s3cret/+ä", authorities: certificate)
    client.groups = ["Engineering", "VPN admins"]
    change(&client)
    return client
  }
}

/// A running `roamward-gateway-oidc`.
private final class Worker {
  private let channel: MessageChannel
  private let process: Int32

  init(_ client: OpenIDClient) throws {
    let (ours, theirs) = try MessageChannel.pair()
    channel = ours
    let program = Worker.folder + "/roamward-gateway-oidc"
    process = try SpawnedProgram(
      program, [program, "--at-work"], environment: [], descriptors: [.nothing, .nothing, .nothing, .open(theirs)], company: .group
    ).start()
    try send(.configure(client))
  }

  deinit {
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }

  func send(_ order: OpenIDOrder) throws { try channel.send(order.frame.bytes) }

  /// The next report besides the hello; `nil`: it has ended.
  func next() throws -> OpenIDReport? {
    while channel.wait(atMost: .seconds(60)) {
      switch try channel.receive() {
      case .nothing: continue
      case .ended: return nil
      case .message(let bytes, _):
        let report = try OpenIDReport(LoginFrame(body: bytes.dropFirst(2)))
        if report == .hello(trouble: nil) { continue }
        return report
      }
    }
    return nil
  }

  /// Whether a line of its status in /proc begins so.
  func hasStatus(_ line: String) throws -> Bool {
    String(decoding: try TextFile.read("/proc/\(process)/status"), as: UTF8.self).split(separator: "\n").contains { $0 == line }
  }

  private static let folder: String = {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
  }()
}

@Suite("roamward-gateway-oidc at a provider on loopback", .enabled(if: canRun, "needs python3 and openssl"))
struct ProviderTests {
  /// The end of a sign-in at a provider of each behaviour: the last report without its number, or words of its failure.
  private enum End {
    case identity
    case denied
    case expired
    case failed(String)
  }

  private static let ends: [(String, End)] = [
    ("ok", .identity), ("es256", .identity), ("post", .identity), ("slow", .identity), ("away", .identity), ("denied", .denied),
    ("expired", .expired), ("expired-there", .expired), ("wrong-signature", .failed("signature is wrong")),
    ("altered", .failed("no signed JSON web token")), ("unknown-key", .failed("has no key")), ("none", .failed("signed by none")),
    ("hs256", .failed("signed by HS256")), ("critical", .failed("critical")),
    ("wrong-audience", .failed("is for another client: \"another\"")),
    ("more-audiences", .failed("made for another client")), ("wrong-issuer", .failed("of another issuer")), ("old", .failed("has ended")),
    ("replayed", .failed("older than the sign-in")), ("early", .failed("not valid yet")), ("no-name", .failed("preferred_username")),
    ("no-token", .failed("gives no ID token")), ("impostor", .failed("says that it is https://other.example")),
    ("huge", .failed("longer than")), ("huge-keys", .failed("longer than")), ("huge-header", .failed("longer than")),
    ("no-json", .failed("no JSON object")), ("deep", .failed("no JSON object")), ("moved", .failed("HTTP status 302")),
    ("no-device", .failed("offers no sign-in of devices")), ("plain", .failed("token_endpoint is no https URL")),
    ("no-scope", .failed("check the scopes")), ("script", .failed("no code with an https page")), ("silent", .failed("timed out")),
  ]

  @Test("a good provider names a person; one that lies, is away or is silent does not, and says why")
  func behaviours() throws {
    let provider = try Provider()
    // Many at once, for some take seconds; not all, for a busy provider would not answer the last of them in time.
    var workers: [Worker] = []
    func begin(upTo count: Int) throws {
      while workers.count < min(count, Self.ends.count) {
        let worker = try Worker(provider.client(Self.ends[workers.count].0))
        try worker.send(.begin(number: 7))
        workers.append(worker)
      }
    }
    for (place, (behaviour, end)) in Self.ends.enumerated() {
      try begin(upTo: place + 12)
      let worker = workers[place]
      var report = try worker.next()
      if case .page(7, let page) = report {
        #expect(page.url.hasPrefix("https://127.0.0.1:") && page.completeURL?.hasSuffix(page.code) == true, "\(behaviour)")
        report = try worker.next()
      }
      switch (end, report) {
      case (.identity, .identity(7, let identity)):
        #expect(identity == OpenIDIdentity(subject: "248289761001", name: "alice", groups: [0]), "\(behaviour)")
      case (.denied, .denied(7)), (.expired, .expired(7)): break
      case (.failed(let words), .failed(7, let text)):
        #expect(text.contains(words), "\(behaviour): \(text)")
        #expect(text.utf8.allSatisfy { (0x20...0x7e).contains($0) })
      default: Issue.record("\(behaviour): \(report.map { "\($0)" } ?? "nothing")")
      }
    }
  }

  @Test("the provider's certificate has to be right, its secret too, and it has to be there")
  func connections() throws {
    let provider = try Provider()
    let cases: [(OpenIDClient, String)] = [
      (provider.client("ok") { $0.authorities = nil }, "certificate"),
      // Its certificate has no such name.
      (provider.client("ok") { $0.issuer = "https://localhost:\(provider.port)/ok" }, "no alternative certificate subject name matches"),
      (provider.client("ok") { $0.secret = "wrong" }, "invalid_client (who?[31m?); check the client ID and the secret"),
      (provider.client("ok") { $0.issuer = "https://127.0.0.1:9/ok" }, "check the issuer and the network"),
    ]
    for (client, words) in cases {
      let worker = try Worker(client)
      try worker.send(.begin(number: 1))
      guard case .failed(1, let text) = try worker.next() else {
        Issue.record("\(client.issuer): accepted")
        continue
      }
      #expect(text.contains(words), "\(text)")
    }
  }

  @Test("one sign-in that waits holds up no other; a cancelled one says nothing; the process has no power")
  func several() throws {
    let provider = try Provider()
    let worker = try Worker(provider.client("person"))
    for number in UInt32(1)...3 { try worker.send(.begin(number: number)) }
    var pages: [UInt32: SignInPage] = [:]
    while pages.count < 3 {
      guard case .page(let number, let page) = try worker.next() else {
        Issue.record("no page")
        return
      }
      pages[number] = page
    }
    for line in ["CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] where geteuid() == 0 {
      #expect(try worker.hasStatus(line), "\(line)")
    }
    try worker.send(.cancel(number: 1))
    let base = "https://127.0.0.1:\(provider.port)/person"
    func visit(_ path: String, _ number: UInt32) throws {
      try shell("curl --silent --fail --cacert '\(provider.folder.path)/tls.pem' '\(base)/\(path)&code=\(pages[number]?.code ?? "")'")
    }
    try visit("approve?sub=1", 1)
    try visit("deny?", 2)
    try visit("approve?sub=3&name=carol&groups=Sales,VPN%20admins", 3)
    var ends: Set<OpenIDReport> = []
    for _ in 0..<2 { if let report = try worker.next() { ends.insert(report) } }
    #expect(ends == [.denied(number: 2), .identity(number: 3, OpenIDIdentity(subject: "3", name: "carol", groups: [1]))])
    try worker.send(.check(number: 9))
    #expect(try worker.next() == .checked(number: 9))
    for number in UInt32(100)..<UInt32(100 + SignInLimits.flows) { try worker.send(.begin(number: number)) }
    try worker.send(.begin(number: 999))
    var refused = false
    for _ in 0...SignInLimits.flows where !refused {
      if case .failed(999, let text) = try worker.next() { refused = text == "too many sign-ins are under way" }
    }
    #expect(refused)
  }
}
