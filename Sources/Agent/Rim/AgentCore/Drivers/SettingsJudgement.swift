internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

/// The split of a provider's settings: those that the tunnel's policy allows, and the refused ones with a reason.
///
/// The policy's own `routes`, `dns` and `mtu` come before the provider's. Nothing that a server sends can lead traffic past a kill switch.
struct SettingsJudgement: Equatable {
  var brought = BroughtSettings()
  var refused: [RefusedSetting] = []

  /// `places`: the addresses that this machine and its networks use.
  init(of wanted: TunnelSettings, for policy: TunnelPolicy, allowance: SettingsAllowance, places: PlacesInUse) {
    takeAddresses(wanted.addresses, allowance, places)
    takeRoutes(wanted, policy, allowance)
    takeMTU(wanted, policy)
    if let dns = wanted.dns { takeNames(dns, policy, allowance) }
    if wanted.proxies != nil { refuse("proxies", code: "unsupported") }
  }

  private mutating func refuse(_ setting: Word, _ value: String = "", code: Word = "policy") {
    refused.append(RefusedSetting(setting: setting, value: value, code: code))
  }

  /// An address is a destination that this machine takes for itself: it has to be one that the policy allows, or a private one that no
  /// network at hand has.
  private mutating func takeAddresses(_ addresses: [InterfaceAddress], _ allowance: SettingsAllowance, _ places: PlacesInUse) {
    for address in addresses.uniqued() {
      let own = address.address
      if !own.isOfOneHost {
        refuse("addresses", "\(address)", code: "invalid")
      } else if places.hosts.contains(own) {
        refuse("addresses", "\(address)", code: "taken")
      } else if allowance.routes.contains(where: { $0.contains(own) }) || own.isPrivate && !places.isAttached(own) {
        brought.addresses.append(address)
      } else {
        refuse("addresses", "\(address)")
      }
    }
  }

  private mutating func takeRoutes(_ wanted: TunnelSettings, _ policy: TunnelPolicy, _ allowance: SettingsAllowance) {
    let isOwn = policy.includesAllNetworks || !(policy.routes?.include.isEmpty ?? true)
    if isOwn {
      if !wanted.includedRoutes.isEmpty { refuse("included-routes") }
    } else {
      for prefix in wanted.includedRoutes.uniqued() {
        if allowance.routes.contains(where: { $0.contains(prefix) }) {
          brought.included.append(prefix)
        } else {
          refuse("included-routes", "\(prefix)")
        }
      }
    }
    // An exclusion leads packets past the tunnel, in clear.
    let mayExclude = !isOwn && policy.guarding == .off && !(policy.routes?.isEnforced ?? false)
    if mayExclude {
      brought.excluded = wanted.excludedRoutes.uniqued()
    } else if !wanted.excludedRoutes.isEmpty {
      refuse("excluded-routes")
    }
  }

  private mutating func takeMTU(_ wanted: TunnelSettings, _ policy: TunnelPolicy) {
    if policy.mtu != nil {
      if let mtu = wanted.mtu { refuse("mtu", "\(mtu)") }
      return
    }
    if let mtu = wanted.mtu {
      brought.mtu = .fixed(UInt32(clamping: mtu))
    } else if let overhead = wanted.overhead {
      brought.mtu = .overhead(UInt32(clamping: overhead))
    }
  }

  private mutating func takeNames(_ dns: DNSSettings, _ policy: TunnelPolicy, _ allowance: SettingsAllowance) {
    if policy.dns != nil { return refuse("dns") }
    let takesAll = allowance.domains.contains(.any)
    let isAllowed = { (domain: DomainName) in allowance.domains.contains { $0.matches(domain) } }
    for domain in dns.searchDomains where !isAllowed(domain) { refuse("search-domains", domain.text) }
    for domain in dns.matchDomains where !isAllowed(domain) { refuse("match-domains", domain.text) }
    var matched = dns.matchDomains.filter(isAllowed).map { DomainPattern.within($0) }
    if dns.matchDomains.isEmpty, !takesAll {
      // Its servers are for every name: the policy gives them those of its domains.
      refuse("match-domains", "*")
      matched = allowance.domains
    }
    if matched.isEmpty, !dns.matchDomains.isEmpty { return refuse("dns") }
    let servers = dns.servers.uniqued()
    let usable = servers.filter(\.canServeNames)
    for server in servers where !usable.contains(server) { refuse("servers", "\(server)", code: "invalid") }
    if usable.isEmpty, !servers.isEmpty { return }
    brought.dns = DNSPolicy(servers: usable, searchDomains: dns.searchDomains.filter(isAllowed), matchDomains: matched)
  }
}

/// The addresses that this machine and its networks use, which no provider may take.
struct PlacesInUse: Equatable {
  /// Prefixes that the machine is attached to.
  var attached: [IPPrefix] = []
  /// The machine's own addresses outside of tunnels, its gateways and name servers, and the gateways of the provider itself.
  var hosts: Set<IPAddress> = []

  init() {}

  init(_ snapshot: NetworkSnapshot) {
    attached = snapshot.links.flatMap(\.addresses).map(\.onLinkPrefix).uniqued()
    for link in snapshot.links {
      hosts.formUnion(link.addresses.map(\.address))
      hosts.formUnion(link.gateways)
      hosts.formUnion(link.dnsServers.value ?? [])
    }
  }

  func isAttached(_ address: IPAddress) -> Bool { attached.contains { $0.contains(address) } }
}

extension IPAddress {
  /// Whether one host can have the address: it is neither unspecified nor loopback, neither multicast nor broadcast nor reserved (RFC 1112,
  /// RFC 6890).
  fileprivate var isOfOneHost: Bool {
    if isLoopback || isMulticast || mapped != nil { return false }
    return family == .v4 ? (1..<240).contains(low >> 24) : self != .unspecified(.v6)
  }

  /// Whether a name server of a tunnel can have the address: one of a host other than this machine.
  fileprivate var canServeNames: Bool { isOfOneHost && self != NameServerSettings.addressOnLink }

  /// Whether the address is private (RFC 1918, RFC 4193), shared (RFC 6598) or link-local: no public service has it.
  fileprivate var isPrivate: Bool { IPPrefix.host(self).isArmable || isLinkLocal }
}

extension TunnelPolicy {
  /// The policy with the settings that its provider has brought.
  func with(_ settings: BroughtSettings) -> TunnelPolicy {
    guard case .installed(var provider) = provider else { return self }
    provider.settings = settings
    var policy = self
    policy.provider = .installed(provider)
    if !settings.excluded.isEmpty {
      policy.routes = policy.routes ?? RoutePolicy()
      policy.routes?.exclude += settings.excluded
    }
    return policy
  }
}

extension RefusedSetting {
  /// The remark for people.
  var text: String {
    let what = value.isEmpty ? "\(setting)" : "\(setting) \(value)"
    return switch code.description {
    case "policy" where value.isEmpty: "the policy's own settings apply in place of the provider's \(setting)"
    case "policy": "the provider asks for \(what), which the policy does not allow"
    case "taken": "the provider asks for \(what), which this machine or its network has already"
    case "unsupported": "the provider asks for \(what), which this version does not set"
    default: "the provider asks for \(what), which is not valid here"
    }
  }
}
