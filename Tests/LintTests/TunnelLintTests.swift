import NetworkTypes
import RoamwardCore
import TestKit
import Testing

@Suite struct TunnelLintTests {
  func tunnel(
    _ name: String, include: [String] = [], exclude: [String] = [], servers: [String] = [], domains: [String] = [],
    endpoint: String = "203.0.113.10:51820", precedence: TunnelClass = .personal, rules: [Rule] = []
  ) -> TunnelPolicy {
    Sample.tunnel(
      name, rules: rules, wireGuard: Sample.wireGuard(allowed: [], endpoint: endpoint),
      routes: RoutePolicy(include: include.map(Sample.prefix), exclude: exclude.map(Sample.prefix)),
      dns: DNSPolicy(servers: servers.map(Sample.address), matchDomains: domains.map(Sample.pattern)), precedence: precedence)
  }

  func kinds(_ tunnels: TunnelPolicy...) -> [LintFinding.Kind] { lint(PolicySet(tunnels: tunnels)).map(\.kind) }

  @Test("two tunnels of one class that take the same") func overlaps() {
    let corp = tunnel("corp", include: ["10.0.0.0/8"])
    #expect(kinds(corp, tunnel("lab", include: ["10.0.0.0/8"])) == [.overlappingRoutes])
    #expect(kinds(corp, tunnel("lab", include: ["10.1.0.0/16", "10.2.0.0/16"])) == [.overlappingRoutes])
    #expect(kinds(corp, tunnel("lab", include: ["10.1.0.0/16"], precedence: .enterprise)) == [])
    #expect(kinds(corp, tunnel("lab", include: ["192.0.2.0/24", "2001:db8::/32"])) == [])
    #expect(kinds(corp, tunnel("all", include: ["0.0.0.0/0", "::/0"])) == [])
    #expect(kinds(tunnel("a", include: ["0.0.0.0/0"]), tunnel("b", include: ["0.0.0.0/0"])) == [.overlappingRoutes])
    #expect(kinds(tunnel("corp", include: ["10.0.0.0/8"], exclude: ["10.1.0.0/16"]), tunnel("lab", include: ["10.1.0.0/16"])) == [])
    #expect(
      lint(PolicySet(tunnels: [corp, tunnel("lab", include: ["10.1.0.0/16"])])).first?.message
        == "`lab` and `corp` (10-test.yaml:1) both take 10.1.0.0/16, `corp` as a part of 10.0.0.0/8")
  }

  @Test("two enterprise tunnels that are wanted on one network; what both take is not contested, because one runs at a time")
  func exclusive() throws {
    let home = Condition.ssid([Sample.ssid("Home")])
    func enterprise(_ name: String, _ rules: [Rule]) -> TunnelPolicy {
      tunnel(name, include: ["10.0.0.0/8"], domains: ["corp.example"], precedence: .enterprise, rules: rules)
    }
    let always = enterprise("a", [Sample.rule(.always, .connect)])
    let abroad = enterprise("b", [Sample.rule(home, .ignore), Sample.rule(.always, .connect)])
    let atHome = enterprise("c", [Sample.rule(home, .connect), Sample.rule(.always, .ignore)])
    #expect(kinds(always, abroad) == [.exclusiveTunnels])
    #expect(kinds(abroad, atHome) == [], "never wanted on the same network")
    #expect(kinds(enterprise("a", []), enterprise("b", [])) == [])
    let finding = try #require(lint(PolicySet(tunnels: [abroad, atHome, always])).first)
    #expect(finding.message.hasPrefix("`a` and `b` (10-test.yaml:1) are both `class: enterprise`"))
    #expect(finding.message.hasSuffix("only `b` runs there, because it comes first"))
  }

  @Test("two tunnels that answer for the same names") func domains() {
    let corp = tunnel("corp", domains: ["corp.example"])
    #expect(kinds(corp, tunnel("lab", domains: ["corp.example"])) == [.overlappingDomains])
    #expect(kinds(corp, tunnel("lab", domains: ["lab.corp.example"])) == [])
  }

  @Test("what is excluded of nothing, and a server beside the routes") func pointless() {
    #expect(kinds(tunnel("a", include: ["10.0.0.0/8"], exclude: ["192.0.2.0/24"])) == [.pointlessExclusion])
    #expect(kinds(tunnel("a", include: ["10.0.0.0/8"], exclude: ["10.9.0.0/16", "0.0.0.0/0"])) == [])
    #expect(kinds(tunnel("a", include: ["10.0.0.0/8"], servers: ["10.0.0.53", "127.0.0.1"])) == [])
    #expect(kinds(tunnel("a", include: ["10.0.0.0/8"], servers: ["192.0.2.53"])) == [.unroutedServer])
    #expect(kinds(tunnel("a", include: ["10.0.0.0/8"], exclude: ["10.0.0.0/24"], servers: ["10.0.0.53"])) == [.unroutedServer])
  }

  @Test("an endpoint whose name the tunnel itself would have to look up") func endpoints() {
    #expect(kinds(tunnel("a", domains: ["corp.example"], endpoint: "vpn.corp.example:51820")) == [.endpointInDomains])
    #expect(kinds(tunnel("a", domains: ["corp.example"], endpoint: "vpn.example:51820")) == [])
    #expect(kinds(tunnel("a", domains: ["corp.example"]), tunnel("b", endpoint: "x.corp.example:1")) == [.endpointInDomains])
    #expect(kinds(tunnel("a", include: ["203.0.113.0/24"])) == [])
  }

  @Test(
    "a probe that the tunnel would answer",
    arguments: [
      ("https://beacon.corp.example/", true), ("https://user@beacon.corp.example:8443/x", true), ("http://10.0.0.5/", true),
      ("http://10.9.0.5/", false), ("http://[2001:db8::1]:80/", true), ("https://beacon.example/", false),
    ])
  func probes(url: String, isInside: Bool) {
    let rules = [Sample.rule(.probe(Probe(url: url)), .connect), Sample.rule(.always, .ignore)]
    let corp = tunnel(
      "corp", include: ["10.0.0.0/8", "2001:db8::/32"], exclude: ["10.9.0.0/16"], domains: ["corp.example"], rules: rules)
    #expect(kinds(corp) == (isInside ? [.probeInTunnel] : []))
  }
}
