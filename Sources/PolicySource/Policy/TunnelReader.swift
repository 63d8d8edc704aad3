import NetworkTypes
import RoamwardCore

/// One entry under `tunnels`. `nil`, and reported, where its provider could not be read.
func readTunnel(_ entry: Node.Entry, _ reading: inout Reading) -> TunnelPolicy? {
  guard var fields = Fields(entry.value, of: "a tunnel", &reading) else { return nil }
  let about = fields.optional("description", .line, &reading)
  let isEnabled = fields.optional("enabled", .boolean, &reading) ?? true
  let precedence = fields.optional("class", ValueReader<TunnelClass>.word(), &reading) ?? .personal
  let provider = fields.required("provider", .provider, help: "add `provider:` with `wireguard:` or `command:` below it", &reading)
  let onDemand = fields.optional("on-demand", .onDemand, &reading) ?? OnDemand()
  let routes = fields.optional("routes", .routes, &reading)
  let dns = fields.optional("dns", .dns(of: provider), &reading)
  let mtu = fields.optional("mtu", .number(576...65535), &reading)
  fields.notYet("proxy", "overhead", "kill-switch", "include-all-networks")
  fields.finish(&reading)
  return provider.map {
    TunnelPolicy(
      name: entry.key, about: about, isEnabled: isEnabled, precedence: precedence, provider: $0, onDemand: onDemand, routes: routes,
      dns: dns,
      mtu: mtu.map { .fixed($0) }, location: entry.keyLocation)
  }
}

extension ValueReader where Value == OnDemand {
  fileprivate static let onDemand = ValueReader(expected: "rules and timing") { node, reading in
    guard var fields = Fields(node, of: "`on-demand`", &reading) else { return nil }
    var onDemand = OnDemand()
    if let isEnabled = fields.optional("enabled", .boolean, &reading) { onDemand.isEnabled = isEnabled }
    if let rules = fields.optional("rules", .rules, &reading) { onDemand.rules = rules }
    if let decideWithin = fields.optional("timing", .timing, &reading) { onDemand.timing.decideWithin = decideWithin }
    fields.finish(&reading)
    return onDemand
  }
}

extension ValueReader where Value == Duration {
  fileprivate static let timing = ValueReader(expected: "durations by name") { node, reading in
    guard var fields = Fields(node, of: "`timing`", &reading) else { return nil }
    let decideWithin = fields.optional("decide-within", .duration, &reading)
    fields.notYet("settle", "release-delay", "idle")
    fields.finish(&reading)
    return decideWithin
  }
}

extension ValueReader where Value == [Rule] {
  fileprivate static let rules = ValueReader(expected: "a list of rules") { node, reading in
    guard case .sequence(let nodes) = node.content else {
      reading.expected("a list of rules", at: node, help: "put a dash before each rule: `- action: connect`")
      return nil
    }
    return nodes.compactMap { readRule($0, &reading) }
  }
}

private func readRule(_ node: Node, _ reading: inout Reading) -> Rule? {
  guard var fields = Fields(node, of: "a rule", &reading) else { return nil }
  let name = fields.optional("name", .line, &reading)
  let match = fields.take("match").flatMap { readCondition($0.value, of: "a match", &reading) } ?? .always
  let action = fields.required("action", ValueReader<Action>.word(planned: ["evaluate-connection"]), &reading)
  let onUnknown = fields.optional("on-unknown", ValueReader<UnknownPolicy>.word(), &reading)
  fields.notYet("connections")
  fields.finish(&reading)
  return action.map { Rule(name: name, match: match, action: $0, onUnknown: onUnknown, location: node.location) }
}

extension ValueReader where Value == RoutePolicy {
  fileprivate static let routes = ValueReader(expected: "destinations to include and exclude") { node, reading in
    guard var fields = Fields(node, of: "`routes`", &reading) else { return nil }
    let include = fields.optional("include", .oneOrMore(.destination), &reading) ?? []
    let exclude = fields.optional("exclude", .oneOrMore(.destination), &reading) ?? []
    fields.notYet("lan", "on-overlap")
    fields.finish(&reading)
    return RoutePolicy(include: include.flatMap { $0 }, exclude: exclude.flatMap { $0 })
  }
}

extension ValueReader where Value == DNSPolicy {
  /// Servers and search domains that the policy does not mention are those of the provider's own configuration.
  fileprivate static func dns(of provider: ProviderConfiguration?) -> ValueReader {
    var own = DNSPolicy()
    if case .wireGuard(let wireGuard) = provider {
      own = DNSPolicy(servers: wireGuard.configuration.dnsServers, searchDomains: wireGuard.configuration.searchDomains)
    }
    return ValueReader(expected: "servers and domains") { [own] node, reading in
      let before = reading.problems.errorCount
      guard var fields = Fields(node, of: "`dns`", &reading) else { return nil }
      let servers = fields.optional("servers", .oneOrMore(.address), &reading) ?? own.servers
      let searchDomains = fields.optional("search-domains", .oneOrMore(.domain), &reading) ?? own.searchDomains
      let matchDomains = fields.optional("match-domains", .oneOrMore(.matchDomain), &reading) ?? []
      fields.finish(&reading)
      if servers.isEmpty, !matchDomains.isEmpty, provider != nil, reading.problems.errorCount == before {
        reading.error("`match-domains` needs servers that answer for these names", help: "add `servers:` beside it", at: node.location)
      }
      return DNSPolicy(servers: servers, searchDomains: searchDomains, matchDomains: matchDomains)
    }
  }
}
