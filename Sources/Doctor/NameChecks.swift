import KernelModel
import NetworkTypes
import RoamwardCore

extension HostCheck {
  /// Checks that questions for tunnels' names take the way that the policies assume.
  static let nameChecks = [
    HostCheck("own-servers", "programs with name servers of their own get the tunnels' answers") { _, policies in
      policies.dependingOnNames.filter { $0.dnsInForce.names == .system }.map { tunnel in
        HostFinding(
          "own-servers", .hint,
          "\(tunnel.name): programs that ask name servers of their own (`dig @9.9.9.9`, containers with DNS settings) ask those for its "
            + "names too, outside of the tunnel",
          cure: "add `names: capture` to its `dns:`")
      }
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

extension PolicySet {
  /// Tunnels that are used for some names only.
  fileprivate var dependingOnNames: [TunnelPolicy] {
    enabled.filter { tunnel in
      let dns = tunnel.dnsInForce
      return !dns.servers.isEmpty && dns.isSplit
    }
  }
}

extension BrowserCondition {
  /// Whether names bypass the system's resolver, and the policy that helps. DNS over HTTPS is not intercepted.
  fileprivate func finding(_ tunnels: [TunnelPolicy], hasCanary: Bool, nameServers: [IPAddress]) -> HostFinding? {
    let names = list(tunnels.map(\.name))
    switch mode {
    case .off: return nil
    case .on(let excluded):
      let domains = tunnels.flatMap(\.dnsInForce.ownDomains)
      if domains.allSatisfy({ domain in excluded.contains { domain.isWithin($0) } }) { return nil }
      return HostFinding(
        "browsers", .risk,
        "\(program.rawValue) uses DNS over HTTPS by its managed policies, so the names of \(names) go to its own server",
        cure: cure(excluding: domains))
    case .automatic:
      guard mayUpgrade(hasCanary: hasCanary, nameServers: nameServers) else { return nil }
      return HostFinding(
        "browsers", .hint,
        "\(program.rawValue) may use DNS over HTTPS by itself, and the names of \(names) then go to its own server",
        cure: cure(excluding: []))
    }
  }

  /// Chromium changes to DNS over HTTPS if the system's name server is one of a provider that it knows. Firefox does in some countries,
  /// unless the canary domain does not exist.
  private func mayUpgrade(hasCanary: Bool, nameServers: [IPAddress]) -> Bool {
    switch program {
    case .chromium, .chrome: !Self.providers.isDisjoint(with: nameServers)
    case .firefox: !hasCanary
    }
  }

  private func cure(excluding domains: [DomainName]) -> String {
    let place = Self.place(of: program)
    switch program {
    case .chromium, .chrome: return "write {\"DnsOverHttpsMode\": \"off\"} to \(place)/dns.json"
    case .firefox:
      let setting =
        domains.isEmpty
        ? "{\"Enabled\": false}" : "{\"ExcludedDomains\": [\(domains.map { "\"\($0.text)\"" }.joined(separator: ", "))]}"
      return "write {\"policies\": {\"DNSOverHTTPS\": \(setting)}} to \(place), beside its other policies"
    }
  }

  /// Public name servers of Chromium's list of providers (net/dns/public/doh_provider_entry.cc): Cloudflare, Google, Quad9, OpenDNS,
  /// CleanBrowsing, CZ.NIC and DNS.SB.
  private static let providers = Set(
    [
      "1.1.1.1", "1.0.0.1", "1.1.1.2", "1.0.0.2", "1.1.1.3", "1.0.0.3", "2606:4700:4700::1111", "2606:4700:4700::1001", "8.8.8.8",
      "8.8.4.4", "2001:4860:4860::8888", "2001:4860:4860::8844", "9.9.9.9", "149.112.112.112", "2620:fe::fe", "2620:fe::9",
      "208.67.222.222", "208.67.220.220", "2620:119:35::35", "2620:119:53::53", "185.228.168.9", "185.228.169.9", "185.228.168.168",
      "185.228.169.168", "193.17.47.1", "185.43.135.1", "185.222.222.222", "45.11.45.11",
    ].compactMap { IPAddress($0) })
}
