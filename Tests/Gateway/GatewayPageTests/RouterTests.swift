import GatewayCore
import KernelModel
import LoginProtocol
import NetworkTypes
import PageProtocol
import SeededRandom
import Testing

@Suite("Requests of the page") struct RouterTests {
  private static let router = PageRouter(hosts: ["10.77.0.1", "[fd77::1]", "gateway.corp.example"])

  private static func head(
    _ method: String, _ path: String, _ arguments: [String: String] = [:], host: String? = "10.77.0.1",
    fields: [String: String] = ["X-Roamward-Page": "1", "Origin": "http://10.77.0.1"]
  ) -> PageHead {
    PageHead(
      method, path, arguments: arguments.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) },
      fields: (host.map { [.init("Host", $0)] } ?? []) + fields.map { .init($0.key, $0.value) })
  }

  private static func status(_ head: PageHead) -> UInt16? {
    if case .refuse(let status, _) = router.route(head) { status } else { nil }
  }

  @Test("files and questions") func routes() throws {
    let laptop = try name("laptop")
    let text = base64(try key(9).bytes)
    let expected: [(PageHead, PageRoute)] = [
      (Self.head("GET", "/", fields: [:]), .file(.document)), (Self.head("HEAD", "/page.js", fields: [:]), .file(.script)),
      (Self.head("GET", "/page.css", host: "[FD77::1]", fields: [:]), .file(.style)), (Self.head("GET", "/api/me"), .ask(.me)),
      (Self.head("POST", "/api/devices", ["name": "Laptop"]), .ask(.addDevice(laptop, publicKey: nil))),
      (Self.head("POST", "/api/devices", ["name": "laptop", "key": text]), .ask(.addDevice(laptop, publicKey: try key(9)))),
      (Self.head("DELETE", "/api/devices", ["name": "laptop"]), .ask(.removeDevice(laptop))),
      (Self.head("GET", "/api/admin/devices", ["search": "ali"]), .ask(.devices(search: "ali"))),
      (Self.head("GET", "/api/admin/devices", ["connected": "1"]), .ask(.devices(search: "", isConnected: true))),
      (Self.head("GET", "/api/admin/devices"), .ask(.devices(search: ""))),
      (Self.head("GET", "/api/admin/groups"), .ask(.groups(search: ""))),
      (Self.head("GET", "/api/admin/groups", ["search": "ali"]), .ask(.groups(search: "ali"))),
      (Self.head("GET", "/api/admin/rules"), .ask(.rules)), (Self.head("GET", "/api/link"), .ask(.link)),
      (Self.head("POST", "/api/admin/invitations", ["user": "Carol"]), .ask(.invite(try name("carol")))),
      (
        Self.head("POST", "/api/admin/locks", ["user": "bob", "reason": "laptop ü stolen"]),
        .ask(.lock(try name("bob"), reason: "laptop ü stolen"))
      ), (Self.head("POST", "/api/admin/locks", ["user": "bob"]), .ask(.lock(try name("bob"), reason: ""))),
      (Self.head("DELETE", "/api/admin/locks", ["user": "bob"]), .ask(.unlock(try name("bob")))),
      (Self.head("GET", "/api/admin/audit"), .ask(.audit)),
      (Self.head("DELETE", "/api/admin/sessions", ["device": "bob/laptop"]), .ask(.endSession(try path("bob/laptop")))),
      (
        Self.head("GET", "/api/admin/access", ["user": "alice", "to": "10.20.1.2:443"]),
        .ask(.access(user: try name("alice"), destination: try address("10.20.1.2"), transport: .tcp, port: 443))
      ),
      (
        Self.head("GET", "/api/admin/access", ["user": "alice", "to": "fd20::1", "protocol": "udp"]),
        .ask(.access(user: try name("alice"), destination: try address("fd20::1"), transport: .udp, port: nil))
      ),
    ]
    for (head, route) in expected { #expect(Self.router.route(head) == route, "\(head)") }
  }

  @Test("another name of the page's address is refused, whatever is asked", arguments: ["/", "/page.js", "/api/me", "/nothing"])
  func rebinding(path: String) {
    for host in [nil, "", "evil.example", "10.77.0.1:8080", "10.77.0.1.evil.example", "gateway.corp.example.", "fd77::1"] {
      #expect(Self.status(Self.head("GET", path, host: host)) == 421, "\(host ?? "none")")
    }
    var twice = Self.head("GET", path)
    twice.fields.append(.init("host", "10.77.0.1"))
    #expect(Self.status(twice) == 421)
  }

  @Test("a change needs the page's own script and origin", arguments: ["POST", "DELETE"]) func forgery(method: String) {
    let mark = ["X-Roamward-Page": "1"]
    func status(_ fields: [String: String]) -> UInt16? {
      Self.status(Self.head(method, "/api/devices", ["name": "laptop"], fields: fields))
    }
    #expect(status([:]) == 403 && status(mark) == 403 && status(["Origin": "http://10.77.0.1"]) == 403)
    for origin in ["null", "http://evil.example", "https://10.77.0.1", "http://10.77.0.1.evil.example", "http://gateway.corp.example"] {
      #expect(status(mark.merging(["Origin": origin]) { $1 }) == 403, "\(origin)")
    }
    for site in ["cross-site", "same-site", "none"] {
      #expect(status(mark.merging(["Origin": "http://10.77.0.1", "Sec-Fetch-Site": site]) { $1 }) == 403, "\(site)")
    }
    #expect(status(mark.merging(["Origin": "http://10.77.0.1", "Sec-Fetch-Site": "same-origin"]) { $1 }) == nil)
    #expect(Self.status(Self.head("DELETE", "/api/admin/sessions", ["device": "bob/laptop"], fields: mark)) == 403)
    for path in ["/api/admin/locks", "/api/admin/invitations"] {
      #expect(Self.status(Self.head("POST", path, ["user": "bob"], fields: mark)) == 403)
    }
    // Neither does another site read anything: the question before it is refused as well.
    #expect(Self.status(Self.head("GET", "/api/me", fields: [:])) == 403)
    #expect(Self.status(Self.head("OPTIONS", "/api/devices")) == 405)
  }

  @Test("bodies, other methods, and arguments of another form are refused") func malformed() {
    for fields in [["Content-Length": "1"], ["Transfer-Encoding": "chunked"], ["Content-Length": "x"]] {
      #expect(Self.status(Self.head("POST", "/api/devices", ["name": "laptop"], fields: fields)) == 413)
    }
    for method in ["PUT", "TRACE", "get", ""] { #expect(Self.status(Self.head(method, "/api/me")) == 405) }
    #expect(Self.status(Self.head("POST", "/")) == 405 && Self.status(Self.head("GET", "/api/devices")) == 405)
    for path in ["", "//", "/../", "/api", "/api/me/", "/page.html", "*"] { #expect(Self.status(Self.head("GET", path)) == 404, "\(path)") }
    for arguments in [
      [:], ["name": ""], ["name": "bob/laptop"], ["name": "a b"], ["name": String(repeating: "a", count: 65)],
      ["name": "laptop", "key": "short"], ["name": "\u{0}"],
    ] { #expect(Self.status(Self.head("POST", "/api/devices", arguments)) == 400, "\(arguments)") }
    for arguments in [
      ["user": "alice"], ["user": "alice", "to": "intranet.example:443"], ["user": "alice", "to": "10.0.0.1", "protocol": "any"],
      ["user": "alice", "to": "10.0.0.1:0x1bb"],
    ] { #expect(Self.status(Self.head("GET", "/api/admin/access", arguments)) == 400, "\(arguments)") }
    for arguments in [[:], ["device": "bob"], ["device": "bob/laptop/x"]] {
      #expect(Self.status(Self.head("DELETE", "/api/admin/sessions", arguments)) == 400, "\(arguments)")
    }
    #expect(Self.status(Self.head("POST", "/api/admin/sessions", ["device": "bob/laptop"])) == 405)
    for arguments in [[:], ["user": ""], ["user": "bob/laptop"], ["user": "a b"]] {
      for (method, path) in [("POST", "invitations"), ("POST", "locks"), ("DELETE", "locks")] {
        #expect(Self.status(Self.head(method, "/api/admin/\(path)", arguments)) == 400, "\(method) \(path) \(arguments)")
      }
    }
    for reason in ["a\nb", "\u{1b}[1m", String(repeating: "ü", count: 101)] {
      #expect(Self.status(Self.head("POST", "/api/admin/locks", ["user": "bob", "reason": reason])) == 400)
    }
    for search in ["\u{0}", "a\tb", String(repeating: "a", count: 65)] {
      for path in ["devices", "groups"] { #expect(Self.status(Self.head("GET", "/api/admin/\(path)", ["search": search])) == 400) }
    }
    for path in ["link", "admin/rules"] { #expect(Self.status(Self.head("POST", "/api/\(path)")) == 405) }
    #expect(Self.status(Self.head("DELETE", "/api/admin/invitations", ["user": "bob"])) == 405)
    var twice = Self.head("DELETE", "/api/devices", ["name": "laptop"])
    twice.arguments.append(.init("name", "phone"))
    #expect(Self.status(twice) == 400)
    #expect(Self.status(Self.head("GET", "/api/admin/devices", ["connected": "yes"])) == 400)
    #expect(Self.status(Self.head("GET", "/api/admin/devices", ["search": String(repeating: "a", count: 65)])) == 400)
  }

  @Test("messages between the two processes are read as they were written") func roundTrip() throws {
    let requests: [PageRequest] = [
      .hello(trouble: nil), .hello(trouble: "no memory"), .ended(connection: 7), .ask(number: .max, connection: 1, .me),
      .ask(number: 1, connection: 2, .addDevice(try name("a"), publicKey: nil)),
      .ask(number: 1, connection: 2, .addDevice(try name("a"), publicKey: try key(3))),
      .ask(number: 1, connection: 2, .removeDevice(try name("a"))), .ask(number: 1, connection: 2, .devices(search: "ü")),
      .ask(number: 1, connection: 2, .devices(search: "", isConnected: true)),
      .ask(number: 1, connection: 2, .endSession(try path("a/b"))), .ask(number: 1, connection: 2, .groups(search: "ü")),
      .ask(number: 1, connection: 2, .link), .ask(number: 1, connection: 2, .rules),
      .ask(number: 1, connection: 2, .invite(try name("a"))), .ask(number: 1, connection: 2, .lock(try name("a"), reason: "")),
      .ask(number: 1, connection: 2, .lock(try name("a"), reason: String(repeating: "ü", count: 100))),
      .ask(number: 1, connection: 2, .unlock(try name("a"))),
      .ask(number: 1, connection: 2, .audit),
      .ask(number: 1, connection: 2, .access(user: try name("a"), destination: try address("fd77::1"), transport: .udp, port: 65535)),
      .ask(number: 1, connection: 2, .access(user: try name("a"), destination: try address("10.0.0.1"), transport: .icmp, port: nil)),
    ]
    for request in requests { #expect(try PageRequest(LoginFrame(body: request.frame.bytes.dropFirst(2))) == request) }
    let replies: [PageReply] = [
      .start(hosts: ["10.77.0.1", "[fd77::1]:8080"]), .connection(9),
      .answer(number: 3, status: 503, body: String(repeating: "x", count: PageReply.bodyLimit)),
    ]
    for reply in replies { #expect(try PageReply(LoginFrame(body: reply.frame.bytes.dropFirst(2))) == reply) }
  }

  @Test("any question that a browser can have asked is read by the gateway as it was meant") func fromBrowser() throws {
    var random = SplitMix64(seed: 40)
    let letters = Array("aZ09-._@/ :ü😀\u{0}\u{7}\n\t\u{7f}\u{85}[]").map(String.init)
    let good = [
      "name": ["alice"], "key": [base64(try key(3).bytes)], "user": ["alice"], "device": ["bob/laptop"], "reason": ["stolen", "ü"],
      "search": ["ali"], "connected": ["1"], "to": ["10.0.0.1:443", "fd77::1"], "protocol": ["udp", "icmp"],
    ]
    let names = ["devices", "groups", "rules", "audit", "access", "invitations", "locks", "sessions"]
    let paths = ["me", "link", "devices"] + names.map { "admin/" + $0 }
    var kinds: Set<UInt8> = []
    for _ in 0..<12_000 {
      let arguments = good.sorted { $0.key < $1.key }.filter { _ in random.chance(0.5) }.map { key, values in
        let text = (0..<Int(random.next() % 90)).map { _ in random.pick(letters) }.joined()
        return (key, random.chance(0.7) ? random.pick(values) : text)
      }
      let head = Self.head(random.pick(["GET", "POST", "DELETE"]), "/api/" + random.pick(paths), Dictionary(arguments) { $1 })
      guard case .ask(let question) = Self.router.route(head) else { continue }
      let frame = PageRequest.ask(number: 1, connection: 2, question).frame
      let read = try? PageRequest(LoginFrame(body: frame.bytes.dropFirst(2)))
      if read != .ask(number: 1, connection: 2, question) { Issue.record("\(head)") }
      kinds.insert(frame.kind)
    }
    #expect(kinds == Set(3...15), "\(kinds.sorted())")
  }

  @Test("frames of each kind with random fields are an error, or a request that is written as it was read") func randomFrames() throws {
    var random = SplitMix64(seed: 41)
    var kinds: Set<UInt8> = []
    for _ in 0..<12_000 {
      var frame = LoginFrame(UInt8(random.next() % 18))
      for tag in UInt8(1)...6 where tag < 3 || random.chance(0.7) {
        let length = tag < 3 ? 4 : random.pick([0, 1, 2, 4, 4, 16, 65, 201])
        let letters = random.pick([Array("abc".utf8), Array("a/b.1".utf8), [UInt8](0...255)])
        frame.add(tag, tag == 5 && random.chance(0.7) ? Array("tcp".utf8) : (0..<length).map { _ in random.pick(letters) })
      }
      guard let request = try? PageRequest(frame) else { continue }
      kinds.insert(frame.kind)
      if (try? PageRequest(request.frame)) != request { Issue.record("\(frame)") }
    }
    #expect(kinds == Set(1...15), "\(kinds.sorted())")
  }

  @Test("other bytes are an error, or a request that is written as it was read", arguments: 1...20) func nonsense(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var bytes = PageRequest.ask(
      number: 1, connection: 2, .access(user: try name("alice"), destination: try address("10.0.0.1"), transport: .tcp, port: 443)
    ).frame.bytes.dropFirst(2).map { $0 }
    for _ in 0..<2000 {
      bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
      guard let frame = try? LoginFrame(body: bytes[...]), let request = try? PageRequest(frame) else { continue }
      #expect(try PageRequest(request.frame) == request)
    }
  }
}
