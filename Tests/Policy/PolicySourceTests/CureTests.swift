import RoamwardCore
import Testing

@testable import PolicySource

/// Places and cures of mistakes that people make when they type.
@Suite struct CureTests {
  @Test(
    "a missing colon, or blank after it, is told at its own line, with what to write",
    arguments: [
      ("version: 1\ntunnels:\n  a\n    provider: { x: y }\n", "3:3 a colon is missing after `a`", "write `a:`"),
      ("version: 1\ntunnels\n  a:\n    enabled: true\n", "2:1 a colon is missing after `tunnels`", "write `tunnels:`"),
      (
        "version: 1\ntunnels:\n  a:\n    enabled true # soon\n\n    # more\n    mtu: 1400\n", "4:5 a colon is missing after `enabled`",
        "write `enabled: true`"
      ),
      (
        "version: 1\ntunnels:\n  a:\n    mtu: 1400\n    enabled true\n", "5:5 a colon is missing after `enabled`",
        "write `enabled: true`"
      ),
      (
        "version: 1\ntunnels:\n  a:\n    mtu:1400\n    enabled: true\n", "4:5 a blank is missing after the colon of `mtu`",
        "write `mtu: 1400`"
      ),
      (
        "version: 1\nnetworks:\n  a:\n    any-of:\n      - ssid: x\n      - network\n        b: c\n",
        "6:9 a colon is missing after `network`", "write `network:`"
      ),
      ("version: 1\ntunnels:\n  a\n", "3:3 expected tunnels by name, found \"a\"", "write `a:`"),
      // Another mistake stays what it is.
      ("version: 1\nnetworks: { a: { ssid: b: c } }\n", nil, nil),
      ("version: 1\nnetworks:\n  a: b: c\n", nil, nil),
    ] as [(String, String?, String?)])
  func colon(policy: String, message: String?, help: String?) throws {
    let problem = try #require(load(policy).diagnostics.first)
    let said = "\(problem.location.line):\(problem.location.column) \(problem.message)"
    guard let message else { return #expect(said.contains("not valid YAML") && problem.help?.contains("write `") != true) }
    #expect(said == message && problem.help == help, "\(said); \(problem.help ?? "")")
  }

  @Test("any broken policy is refused with a place inside of it") func total() {
    let text = "version: 1\nnetworks:\n  a:\n    any-of:\n      - ssid: x\n      - network: b # c\ntunnels:\n  t: { provider: {} }\n"
    for place in text.indices {
      for change in ["", " ", "\n", ":", "- ", "\u{e9}"] {
        let broken = String(text[..<place]) + change + String(text[text.index(after: place)...])
        let count = broken.split(separator: "\n", omittingEmptySubsequences: false).count
        for problem in load(broken).diagnostics { #expect((1...count).contains(problem.location.line) && problem.location.column > 0) }
      }
    }
  }

  @Test(
    "a name that is none has the cure of its own fault",
    arguments: [
      ("münchen.example", "write a name outside ASCII in its `xn--` form"),
      (".corp.example", "write `corp.example`, which holds for the names below it too"),
      ("corp example", "a name has no blanks; several names are a list: `[corp.example, lab.example]`"),
      ("https://corp.example/", "write the name alone, without a scheme, a port or a path"),
      ("corp..example", "a name has letters, digits and hyphens, with single dots between its parts"),
    ])
  func domains(text: String, cure: String) {
    for match in ["{ dns-domain: \"\(text)\" }", "{ dns-domain: [corp.example, \"\(text)\"] }"] {
      #expect(condition(match).diagnostics.map(\.help) == [cure])
    }
    let tunnel = "version: 1\ntunnels: { t: { provider: { command: { up: [/u], down: [/d], interface: t0 } }, dns: { servers: [10.0.0.1], "
    for key in ["search-domains", "match-domains"] {
      #expect(load(tunnel + "\(key): [\"\(text)\"] } } }").diagnostics.map(\.help) == [cure], "\(key)")
    }
  }

  @Test("a missing provider is cured by any of all providers") func provider() throws {
    for tunnel in ["{ mtu: 1400 }", "{ provider: {} }"] {
      let help = try #require(load("version: 1\ntunnels: { t: \(tunnel) }").diagnostics.first?.help)
      for key in providerKeys.declarations { #expect(help.contains("`\(key.name)`"), "\(help)") }
    }
  }

  @Test(
    "redirects that a probe expects, and times shorter than a session, are told",
    arguments: [
      ("301", true), ("302", true), ("307", true), ("399", true), ("200", false), ("204", false), ("404", false),
    ])
  func redirect(status: String, isTold: Bool) {
    let said = condition("{ probe: { url: \"https://beacon.example/\", status: \(status) } }").diagnostics
    #expect(said.map(\.message) == (isTold ? ["a redirect is never accepted, so no answer has the status \(status)"] : []))
    #expect(said.allSatisfy { $0.severity == .warning && $0.help == "probe the address that it leads to" })
  }

  @Test(
    "an `idle` that is shorter than a session is told, with how it is read",
    arguments: [
      ("5s", true), ("1ms", true), ("19999ms", true), ("20s", false), ("5m", false),
    ])
  func idle(time: String, isTold: Bool) {
    let said = load(
      "version: 1\ntunnels: { t: { provider: { wireguard: { config: corp.conf } }, on-demand: { timing: { idle: \(time) }, rules: [ { action:"
        + " ignore } ] } } }"
    ).diagnostics
    #expect(said.map(\.message) == (isTold ? ["`idle: \(time)` is read as 20s, the shortest time that a session lasts"] : []))
    #expect(said.allSatisfy { $0.severity == .warning && $0.help == "write `idle: 20s`, or more" })
  }
}
