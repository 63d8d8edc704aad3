import ControlProtocol
import JSON
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

@Suite struct MessageTests {
  @Test(
    "requests survive the wire",
    arguments: [
      Request.status, .metrics, .network, .monitor(), .monitor(snapshots: true), .override(tunnel: "corp", OverrideRequest(wantsUp: true)),
      .override(
        tunnel: "corp",
        OverrideRequest(wantsUp: false, until: .seconds(60), reason: "printer", sessions: ["192.0.2.7", "2001:db8::7"].map(Sample.address))),
      .override(tunnel: "corp", OverrideRequest(wantsUp: false, until: .time(.milliseconds(1500)))),
      .override(tunnel: "corp", OverrideRequest(wantsUp: false, until: .resume)), .resume(tunnel: nil), .resume(tunnel: "corp"), .reload,
      .release(ReleaseRequest(isPortal: true, programs: "/a", until: .resume, reason: "hotel")), .confirm, .revert,
      .guard(GuardRequest(program: "openvpn", namespace: 1)),
      .guard(
        GuardRequest(
          program: "openvpn", endpoints: ["203.0.113.10:1194"], link: "tun0", namespace: 4_026_531_840,
          sessions: [Sample.address("192.0.2.7")])),
      .apply(ApplyRequest(files: [.init(name: "10-corp.yaml", text: "version: 1\n")], confirmWithin: .seconds(60))),
      .start(
        tunnel: "corp", OverrideRequest(wantsUp: true),
        StartOptions(options: [.init(name: "routes", value: "10.0.0.0/8")], password: "s3cr3t")),
    ])
  func requests(request: Request) throws { #expect(try Request(JSON(parsing: request.json.text().utf8)) == request) }

  @Test("nothing that prints a request shows the password of a start; its limits are checked") func password() throws {
    let request = Request.start(
      tunnel: "corp", OverrideRequest(wantsUp: true), StartOptions(options: [.init(name: "user", value: "v4lue")], password: "s3cr3t"))
    var dumped = ""
    dump(request, to: &dumped)
    for text in ["\(request)", String(reflecting: request), dumped] {
      #expect(!text.contains("s3cr3t") && !text.contains("v4lue"), "\(text)")
    }
    let long = StartOptions(password: String(repeating: "x", count: 4097))
    let many = StartOptions(options: Array(repeating: .init(name: "a", value: "b"), count: 65))
    for start in [long, many, StartOptions(password: "")] {
      let json = Request.start(tunnel: "corp", OverrideRequest(wantsUp: true), start).json
      #expect(throws: RequestError.self) { try Request(json) }
    }
  }

  @Test("the form of a request") func form() {
    let request = Request.override(tunnel: "corp", OverrideRequest(wantsUp: false, until: .seconds(60), reason: "printer"))
    #expect(
      request.json.text()
        == #"{"version":2,"request":{"override":{"tunnel":"corp","override":{"up":false,"until":{"lifetime":"time","after-ms":60000},"reason":"printer","sessions":[]}}}}"#
    )
    #expect(Request.status.json.text() == #"{"version":2,"request":{"status":{}}}"#)
  }

  @Test(
    "what is no request is refused, and why is said",
    arguments: [
      (#"{"version":2}"#, "there is no `request`"), (#"{"version":2,"request":{"fly":{}}}"#, "request"),
      (#"{"version":2,"request":{}}"#, "request"),
      (#"{"version":2,"request":{"override":{"tunnel":"corp"}}}"#, "request.override: there is no `override`"),
      (#"{"version":2,"request":{"override":{"override":{}}}}"#, "request.override: there is no `tunnel`"),
      (#"{"version":2,"request":{"release":{"suspension":{"portal":true,"until":{"lifetime":"time","after-ms":0}}}}}"#, "at most a year"),
      (
        #"{"version":2,"request":{"release":{"suspension":{"portal":true,"until":{"lifetime":"time","after-ms":31622400001}}}}}"#,
        "at most a year"
      ),
      (#"{"version":2,"request":{"guard":{"program":{"program":"","endpoints":[],"namespace":1,"sessions":[]}}}}"#, "name of a program"),
      (
        #"{"version":2,"request":{"guard":{"program":{"program":"a","endpoints":[],"link":"a/b","namespace":1,"sessions":[]}}}}"#,
        "no name of a link"
      ),
      (#"{"version":2,"request":{"resume":{"tunnel":7}}}"#, "request.resume.tunnel: expected a text"),
      (#"{"version":2,"request":{"apply":{"policies":{"files":[],"sessions":[]}}}}"#, "`files` must list"),
      (
        #"{"version":2,"request":{"apply":{"policies":{"files":[{"name":"../a","text":""}],"sessions":[]}}}}"#,
        "not a valid policy file name"
      ),
      (
        #"{"version":2,"request":{"apply":{"policies":{"files":[{"name":"a","text":""}],"sessions":[],"confirm-within-ms":86400001}}}}"#,
        "at most a day"
      ),
    ])
  func badRequests(text: String, message: String) throws {
    let json = try JSON(parsing: text.utf8)
    let error = #expect(throws: RequestError.self) { try Request(json) }
    #expect(error?.code == .badRequest && error?.message.contains(message) == true, "\(error as Any)")
  }

  @Test(
    "a request of another version is refused with both versions",
    arguments: [
      (#"{"command":"status"}"#, "no protocol version"), (#"{"version":1,"request":{"status":{}}}"#, "protocol version 1"),
      (#"{"version":3,"request":{"status":{}}}"#, "protocol version 3"), ("[]", "no protocol version"),
    ])
  func otherVersion(text: String, words: String) throws {
    let json = try JSON(parsing: text.utf8)
    let error = #expect(throws: RequestError.self) { try Request(json) }
    #expect(
      error?.code == .otherVersion && error?.message.contains("the request has \(words)") == true
        && error?.message.contains("version 2") == true)
  }

  @Test("replies survive the wire, and one of another version is told") func replies() throws {
    for reply in [Reply.done(["a": 1]), .done([:]), .refused(RequestError(code: .notAllowed, message: "no"))] {
      #expect(try Reply(JSON(parsing: reply.json.text().utf8)) == reply)
    }
    let old = #expect(throws: JSONMismatch.self) { try Reply(["version": 1, "result": [:]]) }
    #expect(old?.description.contains("version 1") == true && old?.description.contains("systemctl restart roamwardd") == true)
    #expect(throws: JSONMismatch.self) { try Reply(["version": 2]) }
  }

  @Test("a document of another version is not taken for this one") func otherDocument() {
    let members = (JSON(encoding: Golden.status).members ?? []).map { $0.key == "version" ? JSON.Member(key: "version", value: 2) : $0 }
    let error = #expect(throws: JSONMismatch.self) { try JSON.object(members).decoded(as: StatusReport.self) }
    #expect(error?.description == "version: expected version 1, not 2")
  }

  @Test("an event that nobody knows is told by its name") func unknownEvent() {
    let json: JSON = ["version": 1, "time": "2026-11-22T14:03:07.412Z", "code": .null, "event": "party"]
    let error = #expect(throws: JSONMismatch.self) { try json.decoded(as: EventReport.self) }
    #expect(error?.description == "event: unknown event \"party\"")
  }

  @Test("one line for people of each event") func lines() {
    let lines = Golden.events.map(\.line)
    #expect(
      lines == [
        "corp: connect (rule 2 \"abroad\": ssid is \"Cafe\")",
        "lab: a look-up of box.lab.example by user 1000 in /user.slice/app-firefox.scope starts it",
        "corp: 203.0.113.7, 2001:db8::7 of git.corp.example: through it", "lab: 203.0.113.9 of video.example: outside it",
        "lab: warning: handshake: the server's clock is 3 minutes late", "lab: peer-joined {\"name\":\"alpha\"}",
        "lab: asks: One-time code for alice (`roamward answer lab`)",
        "corp: disconnected -> connecting (rule 2 \"abroad\": ssid is \"Cafe\")",
        "corp: failed (the peer did not answer within 15 s)", "corp: manual override (down) for 30 min",
        "corp: manual override ended",
        "corp: tries again in 2.5 s",
        "corp: disconnect cancelled", "network: wifi wlan0, ssid \"Cafe\"", "network: none", "policy: set 3 is active",
        "policy: 2 errors; the last known good stays active", Golden.firewall.text,
        "corp: drift repaired (link-changed, 2 times)",
        "drift repaired (rules-changed, 1 times)", "warning: corp: its name servers are not applied",
        "network: observed",
      ])
  }

  @Test("a snapshot's JSON says what is known to be absent by silence, and what is unknown by name") func snapshots() {
    var link = Sample.wifi("Cafe")
    link.gatewayMAC = .unknown(reason: "no neighbour entry yet")
    let json = Sample.network(link).json
    #expect(
      json.text()
        == #"{"version":1,"primary":"wlan0","links":{"wlan0":{"type":"wifi","ssid":"Cafe","addresses":["192.0.2.23/24"],"gateways":["192.0.2.1"],"mtu":1500,"unknown":["gateway-mac"]}}}"#
    )
  }
}
