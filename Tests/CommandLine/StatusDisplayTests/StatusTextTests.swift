import ControlProtocol
import JSON
import NetworkTypes
import RoamwardCore
import StatusDisplay
import Testing

@Suite("The text of a status") struct StatusTextTests {
  @Test("of a connected tunnel has addresses, routes, names, MTU, transfer and the last handshake") func connected() {
    #expect(
      Sample.lines(Sample.report()).rendered() == """
        corp is connected since 1795348897 (1 min), because rule 2: ssid "Cafe" is "Cafe"
        network: wifi wlan0, ssid "Cafe"

        corp: connected for 1 min
          because: rule 2: ssid "Cafe" is "Cafe"  (corp.yaml:22)
          link:    corp, kernel to 203.0.113.10:51820, MTU 1420
          address: 10.77.0.2/32, 2001:db8:77::2/128
          routes:  10.77.0.0/16
          names:   10.77.0.1 for corp.example
          peer:    last handshake 32 s ago; received 1.5 MiB, sent 300 B

        """)
  }

  @Test("and its JSON tell each cause of a failure", arguments: ReasonCode.failures) func causes(_ code: ReasonCode) throws {
    var tunnel = Sample.tunnel("corp", "connecting", failure: "what \(code.rawValue) says")
    tunnel.failureCode = code
    let report = Sample.report([tunnel])
    #expect(Sample.lines(report).rendered().contains("  failure: what \(code.rawValue) says\n"))
    let text = JSON(encoding: report).text(indented: false)
    #expect(text.contains(#""failure-code":"\#(code.rawValue)""#) || text.contains(#""failure-code": "\#(code.rawValue)""#))
  }

  @Test("of many routes has the first ones and their number") func manyRoutes() {
    var tunnel = Sample.tunnel()
    tunnel.routes = (0..<100).map { "10.\($0).0.0/16" }
    tunnel.routeCount = 20_000
    tunnel.domains = []
    let text = Sample.lines(Sample.report([tunnel])).rendered()
    #expect(text.contains("routes:  10.0.0.0/16, 10.1.0.0/16, 10.2.0.0/16, 10.3.0.0/16, 10.4.0.0/16, 10.5.0.0/16 and 19994 more\n"))
    #expect(text.contains("names:   10.77.0.1 for all names\n"))
  }

  @Test("begins with trouble: policies, blocked traffic, failures, then the machine; what works follows") func troubleFirst() {
    let failing = Sample.tunnel("zz", "connecting", failure: "the peer did not answer within 15 s")
    let report = Sample.report([Sample.tunnel(), failing]) {
      $0.policy.problems = [.init(file: "/etc/roamward/policies/a.yaml", line: 5, column: 9, severity: "error", message: "unknown key")]
      $0.firewall = Sample.blocking(["zz"])
      $0.notes = [
        RemarkReport(.conflict, "the rule is not Roamward's"), RemarkReport(.unsupported, "a proxy is not set"),
      ]
    }
    let lines = Sample.lines(report).map(\.text)
    let beginnings = [
      "policy: 1 error; the last known good stays active", "  /etc/roamward/policies/a.yaml:5:9: error: unknown key",
      "blocked: the kill switch blocks traffic, because zz is not up", "zz is connecting; the last attempt failed: the peer did not answer",
      "note: the rule is not Roamward's", "corp is connected since", "network: ",
    ]
    for (line, beginning) in zip(lines, beginnings) { #expect(line.hasPrefix(beginning), "\(lines)") }
    #expect(lines.last == "note: a proxy is not set")
    let sections = lines.filter { $0.hasPrefix("zz: ") || $0.hasPrefix("corp: ") }
    #expect(sections == ["zz: connecting for 1 min", "corp: connected for 1 min"])
  }

  @Test(
    "says `just now` for what is younger than a second, and never `for 0 s` or `0 s ago`", arguments: [0, 1, 400, 999, 1000, 1001, 4000])
  func justNow(milliseconds: Int64) {
    let moment = Sample.noon - .milliseconds(milliseconds)
    for state in ["connected", "connecting", "disconnected", "reasserting"] {
      var tunnel = Sample.tunnel("corp", state, failure: state == "connecting" ? "the peer did not answer" : nil)
      (tunnel.since, tunnel.override, tunnel.overrideSince) = (moment, "up", moment)
      if tunnel.lastHandshake != nil { tunnel.lastHandshake = moment }
      let guarded = StatusReport.Guard(
        process: 7, program: "openvpn", since: moment, endpoints: [], link: nil, links: ["tun0"], lastLinkBefore: 0,
        group: .init(number: 1, level: 1))
      let text = Sample.lines(Sample.report([tunnel]) { $0.guards = [guarded] }).rendered()
      let age = milliseconds < 1000 ? "just now" : "for \(milliseconds / 1000) s"
      for line in ["corp: \(state) \(age)\n", "override (up) \(age), ", "(process 7) \(age)\n"] {
        #expect(text.contains(line), "\(line) is not in \(text)")
      }
      #expect(!text.contains(" 0 s"), "\(text)")
    }
  }

  @Test("names a network's number as its identity, of either family") func identity() {
    for family in [\StatusReport.Primary.network.v4, \.network.v6] {
      let text = Sample.lines(Sample.report { $0.primary[keyPath: family] = "93797ef4" }).rendered()
      #expect(text.contains("network: wifi wlan0, ssid \"Cafe\", identity 93797ef4\n"), "\(text)")
    }
  }

  @Test("has ages of a later moment than the report's") func later() {
    var tunnel = Sample.tunnel("corp", "connecting")
    tunnel.timers = [.init(what: "give-up", at: Sample.noon + .seconds(10))]
    let text = Sample.lines(Sample.report([tunnel]), at: Sample.noon + .seconds(4)).rendered()
    #expect(text.contains("corp: connecting for 1 min") && text.contains("gives this attempt up in 6 s"), "\(text)")
  }

  @Test("of one tunnel is its section; there is none without a policy") func one() {
    let text = StatusText(Sample.report([Sample.tunnel(), Sample.tunnel("lab", "disconnected")]), localTime: \.description)
    #expect(text.lines(ofTunnel: "lab")?.first?.text == "lab: disconnected for 1 min")
    #expect(text.lines(ofTunnel: "nosuch") == nil)
  }
}

@Suite("Lines for a terminal") struct StyledLineTests {
  /// A report with everything that may be long.
  static let long: StatusReport = {
    var tunnel = Sample.tunnel()
    tunnel.reason = String(repeating: "the rule says that the machine is on a network ", count: 8)
    tunnel.addresses = (0..<9).map { "2001:db8:1234:5678:9abc:def0:1234:\($0)/128" }
    tunnel.routes = (0..<9).map { "2001:db8:\($0)::/48" }
    tunnel.routeCount = 9
    tunnel.notes = [RemarkReport(.dnsLimited, of: "corp", String(repeating: "x", count: 300))]
    return Sample.report([tunnel]) { $0.primary.ssid = String(repeating: "喫茶店", count: 20) }
  }()

  @Test("fit the width, and lose nothing but spaces", arguments: [40, 72, 80, 132]) func widths(width: Int) {
    let lines = Sample.lines(Self.long)
    let rows = lines.rendered(width: width).split(separator: "\n", omittingEmptySubsequences: false)
    for row in rows { #expect(row.reduce(0) { $0 + ($1.isASCII ? 1 : 2) } <= width, "\(row)") }
    let isKept = { (character: Character) in !character.isWhitespace }
    #expect(rows.joined().filter(isKept) == lines.map(\.text).joined().filter(isKept))
    #expect(rows.count > lines.count)
  }

  @Test("a broken line continues below its text") func hang() {
    let line = StyledLine("  because: ", hang: 11).adding("one two three four five")
    #expect(line.rendered(width: 20) == "  because: one two\n           three\n           four five")
    #expect(line.rendered() == "  because: one two three four five")
  }

  @Test("have escape sequences of ours alone, and end each one") func escapes() {
    var tunnel = Sample.tunnel()
    tunnel.reason = "ssid \"\u{1b}[2J\u{9b}31m\" is"
    let text = Sample.lines(Sample.report([tunnel]) { $0.primary.ssid = "\u{1b}]0;x\u{7}\r" }).rendered(width: 80, isColored: true)
    let parts = text.split(separator: "\u{1b}", omittingEmptySubsequences: false).dropFirst()
    #expect(parts.allSatisfy { part in ["[0m", "[1m", "[2m", "[32m", "[33m", "[1;31m"].contains { part.hasPrefix($0) } }, "\(text)")
    #expect(!text.unicodeScalars.contains { $0.isUnprintable && $0 != "\n" && $0 != "\u{1b}" })
    for row in text.split(separator: "\n") where row.contains("\u{1b}") { #expect(row.lastRange(of: "\u{1b}[0m") != nil, "\(row)") }
    let plain = Sample.lines(Sample.report([tunnel])).rendered(width: 80)
    #expect(!plain.contains("\u{1b}"))
  }
}

extension Substring {
  fileprivate func lastRange(of other: String) -> Range<Index>? { ranges(of: other).last }
}
