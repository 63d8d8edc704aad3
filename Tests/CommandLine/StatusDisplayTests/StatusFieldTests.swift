import ControlProtocol
import NetworkTypes
import RoamwardCore
import StatusDisplay
import Testing

@Suite("A field of a status") struct StatusFieldTests {
  @Test(
    "is a member of the JSON: a word, a number, a list of lines, or nothing for null",
    arguments: [
      ("state", "connected"), ("mtu", "1420"), ("addresses", "10.77.0.2/32\n2001:db8:77::2/128"), ("rule.line", "22"), ("override", ""),
      ("brought.mtu", ""), ("enabled", "true"),
    ])
  func values(name: String, value: String) throws {
    #expect(try StatusField.text(name, of: Sample.report(), tunnel: "corp") == value)
  }

  @Test("of the machine needs no tunnel") func machine() throws {
    #expect(try StatusField.text("primary.ssid", of: Sample.report(), tunnel: nil) == "Cafe")
    #expect(try StatusField.text("firewall.situation", of: Sample.report(), tunnel: nil) == "open")
  }

  @Test(
    "that is unknown gives an error with the known ones",
    arguments: [
      ("stat", "corp", "no field \"stat\"; known: name, state, since"),
      ("rule.nosuch", "corp", "no field \"nosuch\" in rule; known: index, name"),
      ("state.x", "corp", "state is one value and has no field \"x\""), ("state", "nosuch", "no tunnel is named \"nosuch\"; known: corp"),
      ("", "corp", "no field \"\"; known: name"),
    ])
  func unknown(name: String, tunnel: String, error: String) throws {
    let thrown = #expect(throws: StatusField.Unknown.self) { try StatusField.text(name, of: Sample.report(), tunnel: tunnel) }
    #expect(thrown?.description.hasPrefix(error) == true, "\(thrown?.description ?? "")")
  }

  @Test("has a name that completions know") func names() throws {
    #expect(StatusField.names.contains("state") && StatusField.names.contains("route-count"))
    for name in StatusField.names { _ = try StatusField.text(name, of: Sample.report(), tunnel: "corp") }
  }
}

@Suite("The exit status of a status") struct StatusVerdictTests {
  static let failing = Sample.tunnel("lab", "connecting", failure: "the peer did not answer")

  @Test(
    "is by the worst",
    arguments: [
      ([Sample.tunnel()], StatusVerdict.asWanted), ([], .asWanted), ([Sample.tunnel("lab", "armed")], .asWanted),
      ([Sample.tunnel("lab", "disconnected", isWanted: false)], .asWanted),
      ([Sample.tunnel(), Sample.tunnel("lab", "connecting")], .notYet), ([Sample.tunnel("lab", "reasserting")], .notYet),
      ([Sample.tunnel("lab", "disconnected")], .notYet), ([Sample.tunnel(), failing], .trouble),
      ([Sample.tunnel("lab", "disconnected", isWanted: false, failure: "old")], .asWanted),
      ([Sample.tunnel("lab", "disconnected", failure: "action needed")], .trouble),
    ])
  func tunnels(tunnels: [StatusReport.Tunnel], verdict: StatusVerdict) { #expect(StatusVerdict(Sample.report(tunnels)) == verdict) }

  @Test("is trouble for blocked traffic, errors of policies, and a machine that does not obey; not for limits of a policy") func machine() {
    #expect(StatusVerdict(Sample.report { $0.firewall = Sample.blocking(["lab"]) }) == .trouble)
    #expect(StatusVerdict(Sample.report { $0.notes = [RemarkReport(.trouble, "x")] }) == .trouble)
    #expect(StatusVerdict(Sample.report { $0.notes = [RemarkReport(.unsupported, "x")] }) == .asWanted)
    for (severity, verdict) in [("error", StatusVerdict.trouble), ("warning", .asWanted)] {
      let report = Sample.report { $0.policy.problems = [.init(file: "a", line: 1, column: 1, severity: severity, message: "x")] }
      #expect(StatusVerdict(report) == verdict)
    }
    #expect(StatusVerdict(Sample.report([]) { $0.policy.generation = 0 }) == .notYet)
  }

  @Test("of one tunnel ignores the others") func one() {
    let report = Sample.report([Sample.tunnel(), Self.failing]) { $0.firewall = Sample.blocking(["lab"]) }
    #expect(StatusVerdict(report, tunnel: "corp") == .asWanted && StatusVerdict(report, tunnel: "lab") == .trouble)
  }
}
