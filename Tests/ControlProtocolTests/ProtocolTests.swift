import ControlProtocol
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

@Suite struct JSONTests {
  @Test(
    "text and value are one another's inverse",
    arguments: [
      JSON.null, true, false, 0, -9_223_372_036_854_775_808, "", "a \"quoted\"\n\u{1}\u{0} text ✓", [], [1, [2, .null]], [:],
      ["b": 1, "a": ["c": "d"]],
    ])
  func roundTrip(value: JSON) throws {
    #expect(try JSON(parsing: Array(value.text().utf8)) == value)
    #expect(try JSON(parsing: Array(value.text(indented: true).utf8)) == value)
  }

  @Test("members keep their order") func order() { #expect((["b": 1, "a": 2] as JSON).text() == #"{"b":1,"a":2}"#) }

  @Test("what is not JSON is refused with its place", arguments: ["", "{", "{\"a\":1,\"a\":2}", "[1,]", "nul", "\"\\ud800\"", "1 2"])
  func refused(text: String) { #expect(throws: JSONError.self) { try JSON(parsing: Array(text.utf8)) } }

  @Test("no bytes make it trap") func garbage() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
      _ = try? JSON(parsing: bytes)
    }
    #expect(throws: JSONError.self) { try JSON(parsing: Array(repeating: UInt8(ascii: "["), count: 100_000)) }
  }
}

@Suite struct MessageTests {
  @Test(
    "requests survive the wire",
    arguments: [
      Request.status, .monitor(), .monitor(snapshots: true), .hold(tunnel: "corp", HoldRequest(wantsUp: true)),
      .hold(tunnel: "corp", HoldRequest(wantsUp: false, until: .seconds(60), reason: "printer")),
      .hold(tunnel: "corp", HoldRequest(wantsUp: false, until: .resume)), .resume(tunnel: nil), .resume(tunnel: "corp"), .reload,
    ])
  func requests(request: Request) throws { #expect(try Request(request.json) == request) }

  @Test("what is no request is refused", arguments: [["command": "fly"], ["command": "up"], [:], ["command": 7]] as [JSON])
  func badRequests(json: JSON) { #expect(throws: RequestError.self) { try Request(json) } }

  @Test("replies survive the wire") func replies() {
    for reply in [Reply.done(["a": 1]), .refused(RequestError(code: .notAllowed, message: "no"))] { #expect(Reply(reply.json) == reply) }
  }

  @Test("reports survive the wire") func reports() {
    let tunnel = StatusReport.Tunnel(
      name: "corp", state: "connected", since: 12, isEnabled: true, decision: "connect",
      rule: .init(index: 2, name: nil, file: "/etc/10-corp.yaml", line: 22), because: "wifi", hold: "up", holdSince: 13, link: "corp",
      engine: "kernel", endpoint: "203.0.113.10:51820", lastHandshake: 14, receivedBytes: 15, sentBytes: 16, failure: nil, notes: ["note"])
    let report = StatusReport(
      time: 1, process: 2, generation: 3, policyFiles: 4, problems: [.init(file: "f", line: 5, column: 6, severity: "error", message: "m")],
      primary: .init(link: "wlan0", type: "wifi", ssid: nil), tunnels: [tunnel], notes: ["n"])
    #expect(StatusReport(report.json) == report)
  }

  @Test("a snapshot's JSON says what is known to be absent by silence, and what is unknown by name") func snapshots() {
    var link = Sample.wifi("Cafe")
    link.gatewayMAC = .unknown(because: "no neighbour entry yet")
    let json = Sample.network(link).json
    #expect(
      json.text()
        == #"{"version":1,"primary":"wlan0","links":{"wlan0":{"type":"wifi","ssid":"Cafe","addresses":["192.0.2.23/24"],"gateways":["192.0.2.1"],"mtu":1500,"unknown":["gateway-mac"]}}}"#
    )
  }

  @Test("JSON has nothing in it that steers a terminal, and means the same")
  func escapes() throws {
    let texts = ["\u{1b}[31m", "\u{9b}31m", "\u{7f}", "\u{202e}", "\u{200b}", "\u{2028}", "\u{e0041}", "é \u{1f600} \\ \"", "a\nb\t\u{0}"]
    let value = JSON.object([.init(key: "\u{9b}k", value: JSON(texts))])
    for text in [value.text(), value.text(indented: true)] {
      #expect(!text.unicodeScalars.contains { $0.isUnprintable && $0 != "\n" })
      #expect(try JSON(parsing: text.utf8) == value)
    }
  }
}
