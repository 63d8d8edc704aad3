import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// Which tunnels a rule arms, and why not the others.
@Suite struct ArmingTests {
  static func rule(_ entries: (String, ConnectionRule.Action)...) -> Rule {
    Rule(
      action: .evaluateConnection,
      connections: entries.map { ConnectionRule(domains: [Sample.pattern($0)], action: $1, location: Sample.place()) },
      location: Sample.place())
  }

  static let always = rule(("corp.example", .connectAlways))
  static let dns = DNSPolicy(servers: [Sample.address("10.0.0.53")], matchDomains: [Sample.pattern("corp.example")])

  func obstacle(
    _ include: [String] = ["10.0.0.0/8"], exclude: [String] = [], dns: DNSPolicy? = Self.dns, rule: Rule = Self.always
  ) -> ArmingObstacle? {
    let routes = RoutePolicy(include: PrefixList(include.map(Sample.prefix)), exclude: PrefixList(exclude.map(Sample.prefix)))
    return Sample.tunnel(rules: [rule], routes: routes, dns: dns).armingObstacle(of: rule)
  }

  @Test("private and shared prefixes are armed; public, link-local and whole families are not") func prefixes() {
    let armed = ["10.0.0.0/8", "10.1.2.3/32", "172.16.0.0/12", "192.168.4.0/24", "100.64.0.0/10", "fc00::/7", "fd00:1::/48"]
    for prefix in armed { #expect(obstacle(["10.0.0.0/8", prefix]) == nil, "\(prefix)") }
    let others = [
      "0.0.0.0/1", "8.0.0.0/8", "10.0.0.0/7", "172.0.0.0/8", "100.0.0.0/8", "198.51.100.0/24", "2001:db8::/32", "169.254.0.0/16",
      "fe80::/10", "fc00::/6",
    ]
    for prefix in others { #expect(obstacle(["10.0.0.0/8", prefix]) == .publicPrefix(Sample.prefix(prefix)), "\(prefix)") }
    for pieces in [["0.0.0.0/0"], ["::/0"], ["0.0.0.0/1", "128.0.0.0/1"], ["::/1", "8000::/2", "c000::/2"]] {
      #expect(obstacle(["10.0.0.0/8"] + pieces) == .everything, "\(pieces)")
    }
    var whole = Sample.tunnel(rules: [Self.always], dns: Self.dns)
    whole.includesAllNetworks = true
    #expect(whole.armingObstacle == .everything)
    #expect(Sample.tunnel(rules: [], dns: Self.dns).armingObstacle == nil, "AllowedIPs of the file")
  }

  @Test("a tunnel for some programs is armed whatever it includes, unless its provider waits for no packet or it is inside another")
  func programs() {
    let rule = Rule(action: .evaluateConnection, location: Sample.place())
    var tunnel = Sample.tunnel(rules: [rule])
    #expect(tunnel.armingObstacle(of: rule) != nil)
    tunnel.apps = AppsPolicy(include: [.unit("transmission.service")])
    #expect(tunnel.armingObstacle(of: rule) == nil && tunnel.arms(by: rule) && !tunnel.mayWatch)
    tunnel.through = OuterTunnel("office", location: Sample.place())
    #expect(tunnel.armingObstacle(of: rule) == .through("office"))
    tunnel.through = nil
    tunnel.provider = .command(CommandProviderConfiguration(up: ["/u"], down: ["/d"], interface: "tun0"))
    #expect(tunnel.armingObstacle(of: rule) == .provider("command"))
  }

  @Test("its own servers, for its own domains alone, inside") func servers() {
    #expect(obstacle(dns: nil) == .noServer)
    #expect(obstacle(dns: DNSPolicy(servers: Self.dns.servers)) == .everyName)
    #expect(obstacle(dns: DNSPolicy(servers: Self.dns.servers, matchDomains: [.any])) == .everyName)
    #expect(obstacle(["10.1.0.0/16"]) == .serverOutside(Sample.address("10.0.0.53")))
    #expect(obstacle(exclude: ["10.0.0.0/24"]) == .serverOutside(Sample.address("10.0.0.53")))
  }

  @Test("connect-always has to decide on each of its domains, without exceptions below") func names() {
    let domain = Sample.domain("corp.example")
    #expect(obstacle(rule: Self.rule(("example", .connectAlways))) == nil)
    #expect(obstacle(rule: Self.rule(("*", .connectAlways))) == nil)
    #expect(obstacle(rule: Self.rule(("other.example", .neverConnect), ("corp.example", .connectAlways))) == nil)
    #expect(obstacle(rule: Self.rule(("corp.example", .connectAlways), ("a.corp.example", .neverConnect))) == nil, "never reached")
    #expect(obstacle(rule: Self.rule(("corp.example", .connectIfNeeded))) == .notAlways(domain))
    #expect(obstacle(rule: Self.rule(("*", .connectIfNeeded), ("corp.example", .connectAlways))) == .notAlways(domain))
    #expect(obstacle(rule: Self.rule(("a.corp.example", .connectAlways))) == .notAlways(domain))
    #expect(
      obstacle(rule: Self.rule(("a.corp.example", .neverConnect), ("corp.example", .connectAlways)))
        == .exception(Sample.pattern("a.corp.example"), .neverConnect))
  }

  @Test("a command is never armed") func command() {
    let tunnel = TunnelPolicy(
      name: "ssl", provider: .command(CommandProviderConfiguration(up: ["up"], down: ["down"], interface: "vpn0")),
      onDemand: OnDemand(rules: [Self.always]), routes: RoutePolicy(include: [Sample.prefix("10.0.0.0/8")]), dns: Self.dns,
      location: Sample.place())
    #expect(tunnel.armingObstacle == .provider("command"))
  }

  @Test("names of others are watched, and its own are packets into it; so are all names of a tunnel that cannot be armed") func watched() {
    let rule = Self.rule(("other.example", .connectAlways), ("third.example", .neverConnect), ("corp.example", .connectAlways))
    let tunnel = Sample.tunnel(rules: [rule], dns: Self.dns)
    #expect(tunnel.armingObstacle(of: rule) == nil)
    #expect(tunnel.watchedEntries(of: rule) == [rule.connections[0], rule.connections[1]])
    var whole = tunnel
    whole.includesAllNetworks = true
    #expect(whole.watchedEntries(of: rule) == rule.connections)
    let never = Self.rule(("other.example", .neverConnect), ("corp.example", .connectAlways))
    #expect(Sample.tunnel(rules: [never], dns: Self.dns).watchedEntries(of: never) == [], "an exception alone needs no watch")
  }

  @Test("an entry is left out where an earlier one holds its names; of the rest the longest domain decides, as the first entry would")
  func order() throws {
    let rule = Self.rule(
      ("public.corp.example", .neverConnect), ("corp.example", .connectAlways), ("git.corp.example", .connectIfNeeded),
      ("*", .connectIfNeeded), ("late.example", .connectAlways))
    var tunnel = Sample.tunnel(rules: [rule], dns: Self.dns)
    tunnel.includesAllNetworks = true
    let decision = Evaluator(networks: []).decide(tunnel, on: ExclusionTests.cafe)
    let watch = try #require(tunnel.watch(by: decision, on: ExclusionTests.cafe))
    for name in ["public.corp.example", "a.public.corp.example", "corp.example", "x.git.corp.example", "www.example", "late.example"] {
      let name = try #require(DomainName(name))
      let wanted = rule.connections.first(for: name)?.action
      let found: ConnectionRule.Action? =
        switch watch.fate(of: name)?.fate {
        case .always: .connectAlways
        case .ifNeeded: .connectIfNeeded
        case .never: .neverConnect
        case nil: nil
        }
      #expect(found == wanted, "\(name)")
    }
  }
}
