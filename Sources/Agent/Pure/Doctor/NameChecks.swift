internal import HostFindings
import KernelModel
package import NetworkTypes
import RoamwardCore

extension HostCheck {
  /// Checks that questions for tunnels' names take the way that the policies assume.
  static let nameChecks = [
    HostCheck("own-servers", "programs with name servers of their own get the tunnels' answers") { _, policies in
      policies.dependingOnNames.filter { $0.dnsInForce.names == .system }.map { tunnel in
        let servers = tunnel.dnsInForce.servers.isEmpty ? "give it name servers, and " : ""
        return HostFinding(
          "own-servers", .hint, "\(tunnel.name): \(ownResolvers) \(tunnel.effectOfOwnResolvers)",
          cure: "\(servers)add `names: capture` to its `dns:`")
      }
    },
    HostCheck("withheld", "no answers with addresses inside tunnels were withheld") { host, policies in
      policies.enabled.isEmpty
        ? [] : host.withheld.map { HostFinding("withheld", .risk, "the agent's name server withheld \($0.text)", cure: $0.cure) }
    },
    HostCheck("browsers", "browsers ask the system's resolver") { host, policies in
      let tunnels = policies.dependingOnNames
      if tunnels.isEmpty { return [] }
      // Our name server answers the canary domain, and is asked by Firefox where the system's resolver leads to it, or by capture.
      let hasCanary = host.nameServers.contains(NameServerSettings.address) || tunnels.contains { $0.dnsInForce.names == .capture }
      return host.browsers.compactMap { $0.finding(tunnels, hasCanary: hasCanary, nameServers: host.nameServers) }
    },
  ]
}

private let ownResolvers = "programs that ask name servers of their own (`dig @9.9.9.9`, containers with DNS settings)"

extension PolicySet {
  /// Tunnels that are used for some names only, or that look-ups of some names start.
  fileprivate var dependingOnNames: [TunnelPolicy] {
    enabled.filter {
      !$0.resolvedDomains.isEmpty || !$0.startingDomains.isEmpty || $0.routesByName
    }
  }
}

extension TunnelPolicy {
  /// The domains that its servers resolve beside others; empty: they resolve every name, or it has none.
  fileprivate var resolvedDomains: [DomainPattern] {
    let dns = dnsInForce
    return dns.servers.isEmpty || !dns.isSplit ? [] : dns.ownDomains.map { .within($0) }
  }

  /// The effect of such a program on it.
  fileprivate var effectOfOwnResolvers: String {
    let outside = "ask those for its names too, outside of the tunnel"
    if resolvedDomains.isEmpty, startingDomains.isEmpty { return "get addresses without routes (`include-domains`)" }
    if resolvedDomains.isEmpty { return "do not start it by look-ups" }
    return startingDomains.isEmpty ? outside : outside + ", and do not start it"
  }

  /// The domains whose names' addresses have routes of their own.
  fileprivate var routedDomains: [DomainPattern] { (routes?.routedDomains ?? []).map { .within($0) } }

  /// The domains whose look-ups our own name server watches, to start the tunnel.
  fileprivate var startingDomains: [DomainPattern] {
    guard onDemand.isEnabled else { return [] }
    return onDemand.rules.flatMap { watchedEntries(of: $0) }.filter { $0.action != .neverConnect }.flatMap(\.domains).uniqued()
  }
}

extension BrowserCondition {
  /// Whether names bypass the system's resolver, and the policy that helps. DNS over HTTPS is not intercepted.
  fileprivate func finding(_ tunnels: [TunnelPolicy], hasCanary: Bool, nameServers: [IPAddress]) -> HostFinding? {
    let names = list(tunnels.map(\.name))
    let started = tunnels.filter { !$0.startingDomains.isEmpty }.map(\.name)
    let routed = tunnels.filter(\.routesByName).map(\.name)
    let effect =
      "go to its own server" + (started.isEmpty ? "" : ", and do not start \(list(started))")
      + (routed.isEmpty ? "" : ", and bring \(list(routed)) no routes")
    switch mode {
    case .off: return nil
    case .on(let excluded):
      let domains = tunnels.flatMap { $0.resolvedDomains + $0.startingDomains + $0.routedDomains }.uniqued()
      if domains.allSatisfy({ $0.isWithin(anyOf: excluded) }) { return nil }
      return HostFinding(
        "browsers", .risk,
        "\(program.rawValue) uses DNS over HTTPS by its managed policies, so the names of \(names) \(effect)",
        cure: cure(excluding: domains))
    case .automatic:
      guard mayUpgrade(hasCanary: hasCanary, nameServers: nameServers) else { return nil }
      return HostFinding(
        "browsers", .hint,
        "\(program.rawValue) may use DNS over HTTPS by itself, and the names of \(names) then \(effect)",
        cure: cure(excluding: []))
    }
  }

  /// Chromium changes to DNS over HTTPS if the system's name server is one of a provider that it knows. Firefox does in some countries,
  /// unless the canary domain does not exist.
  private func mayUpgrade(hasCanary: Bool, nameServers: [IPAddress]) -> Bool {
    switch program {
    case .chromium, .chrome: !Self.publicServers.isDisjoint(with: nameServers)
    case .firefox: !hasCanary
    }
  }

  /// The longest list of domains in a cure: a longer one is a file's.
  private static let longestList = 20

  private func cure(excluding domains: [DomainPattern]) -> String {
    let place = Self.place(of: program)
    switch program {
    case .chromium, .chrome: return "write {\"DnsOverHttpsMode\": \"off\"} to \(place)/dns.json"
    case .firefox:
      let setting =
        domains.isEmpty || domains.contains(.any) || domains.count > Self.longestList
        ? "{\"Enabled\": false}" : "{\"ExcludedDomains\": [\(domains.map { "\"\($0)\"" }.joined(separator: ", "))]}"
      return "write {\"policies\": {\"DNSOverHTTPS\": \(setting)}} to \(place), beside its other policies"
    }
  }

  /// Public name servers of Chromium's list of providers (net/dns/public/doh_provider_entry.cc): Cloudflare, Google, Quad9, OpenDNS,
  /// CleanBrowsing, CZ.NIC and DNS.SB.
  package static let publicServers = Set(
    [
      "1.1.1.1", "1.0.0.1", "1.1.1.2", "1.0.0.2", "1.1.1.3", "1.0.0.3", "2606:4700:4700::1111", "2606:4700:4700::1001", "8.8.8.8",
      "8.8.4.4", "2001:4860:4860::8888", "2001:4860:4860::8844", "9.9.9.9", "149.112.112.112", "2620:fe::fe", "2620:fe::9",
      "208.67.222.222", "208.67.220.220", "2620:119:35::35", "2620:119:53::53", "185.228.168.9", "185.228.169.9", "185.228.168.168",
      "185.228.169.168", "193.17.47.1", "185.43.135.1", "185.222.222.222", "45.11.45.11",
    ].compactMap { IPAddress($0) })
}
