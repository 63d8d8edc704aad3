import KernelModel
package import NetworkTypes

/// The reason why a rule with `evaluate-connection` does not arm its tunnel (docs/decisions/0027).
///
/// An armed tunnel takes packets and names before its gateway has answered. So it may take only what the network at hand cannot serve: the
/// private prefixes of another network, and the names that the policy gives to the tunnel alone. One for some programs alone takes nothing
/// of others: their first packet starts it.
package enum ArmingObstacle: Hashable, Sendable {
  /// The provider has nothing that waits for a first packet.
  case provider(String)
  /// The tunnel goes through this one, which would have to be up.
  case through(String)
  /// The tunnel includes the addresses of names, which are public.
  case names
  /// The tunnel includes no prefix.
  case noPrefix
  /// The tunnel includes all addresses of a family.
  case everything
  /// The tunnel includes a prefix that is not private.
  case publicPrefix(IPPrefix)
  /// The tunnel has no name servers.
  case noServer
  /// The tunnel's name servers answer every name.
  case everyName
  /// A name server is reached outside the tunnel.
  case serverOutside(IPAddress)
  /// No `connect-always` entry decides on this domain of the tunnel.
  case notAlways(DomainName)
  /// An entry excepts a part of one of the tunnel's domains.
  case exception(DomainPattern, ConnectionRule.Action)
}

extension ArmingObstacle: CustomStringConvertible {
  /// The reason for people, to follow "because".
  package var description: String {
    switch self {
    case .provider(let name): "only a WireGuard tunnel waits for its first packet, and its provider is `\(name)`"
    case .through(let outer): "it goes through \(outer), which would have to be up"
    case .names: "it includes addresses of names (`include-domains`), which may be any"
    case .noPrefix: "it includes no prefix"
    case .everything: "it includes everything"
    case .publicPrefix(let prefix): "it includes \(prefix), which is not private"
    case .noServer: "it has no name servers, so no look-up goes into it"
    case .everyName: "its name servers answer every name"
    case .serverOutside(let server): "its name server \(server) is reached outside of it"
    case .notAlways(let domain): "no `connect-always` entry decides on \(domain), whose look-ups go into it"
    case .exception(let pattern, let action): "\(pattern) is `\(action.rawValue)`, and its look-ups go into it all the same"
    }
  }

  /// The suggested change of the policy.
  package var cure: String {
    switch self {
    case .provider: "use `action: connect`, or the provider `wireguard`"
    case .through: "use `action: connect`, or remove `through:`"
    case .names: "remove `include-domains`, or use `action: connect`"
    case .noPrefix: "name private prefixes in `routes: include:`"
    case .everything, .publicPrefix: "include only private prefixes (RFC 1918, RFC 4193, RFC 6598), or use `action: connect`"
    case .noServer: "name the tunnel's servers and domains: `dns: { servers: […], match-domains: […] }`"
    case .everyName: "name the tunnel's own domains in `dns: match-domains:`"
    case .serverOutside(let server): "add \(IPPrefix.host(server)) to `routes: include:`, or correct the server"
    case .notAlways(let domain): "add `- { domains: [\(domain)], action: connect-always }`, or use `action: connect`"
    case .exception: "remove that entry, or narrow `dns: match-domains:` to names without exceptions"
    }
  }
}

extension TunnelPolicy {
  /// The prefixes that the policy includes, else those of the provider's own configuration; empty if only the provider knows them.
  package var namedPrefixes: PrefixList {
    if let known = knownIncludes { return known }
    if isForApps { return [] }
    if case .installed(let provider) = provider { return PrefixList(provider.settings.included) }
    return []
  }

  /// The prefixes that go into the tunnel, as they are known before it starts; `nil` if only the provider knows them. Into a tunnel for
  /// some programs alone, none does: their packets are led by their marks.
  package var knownIncludes: PrefixList? { isForApps ? [] : ownIncludes }

  private var ownIncludes: PrefixList? {
    if includesAllNetworks { return [.everything(.v4), .everything(.v6)] }
    // With names alone, nothing else goes through it.
    if let routes, !routes.include.isEmpty || !routes.includeDomains.isEmpty { return routes.include }
    guard case .wireGuard(let provider) = provider, let configuration = provider.configuration, configuration.routesFromAllowedIPs
    else { return nil }
    return configuration.destinations
  }

  /// The prefixes that can go into the tunnel, whatever its provider brings; `nil`: only its own programs know.
  package var possibleIncludes: PrefixList? {
    if let known = ownIncludes { return known }
    return switch provider {
    case .installed(let provider): PrefixList(provider.allowance.routes)
    case .wireGuard(let provider): provider.configuration?.destinations
    case .command, .service: nil
    }
  }

  /// Whether the policy, or the provider's own configuration, includes all addresses of a family, as far as that is known before the tunnel
  /// starts.
  package var takesEverything: Bool { knownIncludes?.coverEverything ?? false }

  /// The policy's name servers, else those of the provider's own configuration; of a tunnel for some programs alone, none.
  package var dnsInForce: DNSPolicy { isForApps ? DNSPolicy() : ownDNS }

  /// The same, also of a tunnel for some programs alone.
  package var ownDNS: DNSPolicy {
    guard var own = dns else { return dnsOfProvider }
    guard case .installed = provider, own.keepsServers else { return own }
    let brought = dnsOfProvider
    (own.servers, own.searchDomains, own.matchDomains) = (brought.servers, brought.searchDomains, brought.matchDomains)
    return own
  }

  private var dnsOfProvider: DNSPolicy {
    switch provider {
    case .wireGuard(let provider):
      provider.configuration.map { DNSPolicy(servers: $0.dnsServers, searchDomains: $0.searchDomains) } ?? DNSPolicy()
    case .installed(let provider): provider.settings.dns ?? DNSPolicy()
    case .command, .service: DNSPolicy()
    }
  }

  /// The reason why no rule may arm the tunnel; `nil`: one may.
  package var armingObstacle: ArmingObstacle? {
    guard case .wireGuard = provider else { return .provider(provider.name) }
    if through != nil || isForApps { return through.map { .through($0.name) } }
    // Its prefixes or servers may be in a file that this user may not read.
    if provider.isUnread, knownIncludes == nil || dns == nil { return nil }
    if routes?.includeDomains.isEmpty == false { return .names }
    let included = namedPrefixes
    if included.isEmpty { return .noPrefix }
    if included.coverEverything { return .everything }
    if let open = included.first(where: { !$0.isArmable }) { return .publicPrefix(open) }
    let dns = dnsInForce
    if dns.servers.isEmpty { return .noServer }
    if !dns.isSplit { return .everyName }
    let excluded = routes?.exclude ?? []
    let outside = dns.servers.first { server in
      !included.contains { $0.contains(server) } || excluded.contains { $0.contains(server) }
    }
    return outside.map { .serverOutside($0) }
  }

  /// The reason why this rule does not arm the tunnel; `nil`: it does.
  ///
  /// The look-ups of all of the tunnel's domains go to its servers, and each starts it. So `connect-always` has to decide on each of them.
  package func armingObstacle(of rule: Rule) -> ArmingObstacle? {
    if let obstacle = armingObstacle { return obstacle }
    for domain in dnsInForce.ownDomains {
      if let obstacle = rule.connections.obstacle(toArm: domain) { return obstacle }
    }
    return nil
  }

  /// Whether this rule arms the tunnel.
  package func arms(by rule: Rule) -> Bool { rule.action == .evaluateConnection && armingObstacle(of: rule) == nil }

  /// The time without data after which a tunnel that a rule armed is armed again.
  package var idleInForce: Duration { max(onDemand.timing.idle ?? Timing.standardIdle, Timing.shortestIdle) }
}

extension Timing {
  /// Longer than most pauses of a person at work, shorter than WireGuard's own end of a session's keys (three times `REJECT_AFTER_TIME`).
  package static let standardIdle = Duration.seconds(300)

  /// A peer whose last data is not acknowledged begins a handshake after `KEEPALIVE_TIMEOUT` + `REKEY_TIMEOUT`: 15 s. So a session stays
  /// longer than that.
  package static let shortestIdle = Duration.seconds(20)
}

extension IPPrefix {
  /// The prefixes that an armed tunnel may include: private ones (RFC 1918, RFC 4193) and the shared address space (RFC 6598). Link-local
  /// prefixes belong to each network.
  private static let armable = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"].compactMap { IPPrefix($0) }

  package var isArmable: Bool { Self.armable.contains { $0.contains(self) } }
}

extension [ConnectionRule] {
  /// The reason why these entries do not start the tunnel on each look-up in a domain.
  fileprivate func obstacle(toArm domain: DomainName) -> ArmingObstacle? {
    for entry in self {
      if entry.action != .connectAlways, let part = entry.domains.first(where: { $0.isWithin(anyOf: [domain]) }) {
        return part == .within(domain) ? .notAlways(domain) : .exception(part, entry.action)
      }
      if entry.domains.holds(domain) { return entry.action == .connectAlways ? nil : .notAlways(domain) }
    }
    return .notAlways(domain)
  }
}

extension DomainPattern {
  /// Whether each name of the pattern is one of the domains or lies below one.
  package func isWithin(anyOf domains: [DomainName]) -> Bool {
    guard case .within(let name) = self else { return false }
    return domains.contains { name.isWithin($0) }
  }
}
