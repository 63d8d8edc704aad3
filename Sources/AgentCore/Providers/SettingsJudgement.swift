internal import KernelModel
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardCore

/// What becomes of the settings that a provider asks for: those that the tunnel's policy allows, and the others with a reason.
///
/// The policy's own `routes`, `dns` and `mtu` come before the provider's. Nothing that a server sends can lead traffic past a kill switch.
struct SettingsJudgement: Equatable {
  var brought = BroughtSettings()
  var refused: [RefusedSetting] = []

  init(of wanted: TunnelSettings, for policy: TunnelPolicy, allowance: SettingsAllowance) {
    takeAddresses(wanted.addresses)
    takeRoutes(wanted, policy, allowance)
    takeMTU(wanted, policy)
    if let dns = wanted.dns { takeNames(dns, policy, allowance) }
    if wanted.proxies != nil { refuse("proxies", code: "unsupported") }
  }

  private mutating func refuse(_ setting: Word, _ value: String = "", code: Word = "policy") {
    refused.append(RefusedSetting(setting: setting, value: value, code: code))
  }

  private mutating func takeAddresses(_ addresses: [InterfaceAddress]) {
    for address in addresses {
      if address.address.isLoopback || address.address.isMulticast || address.address == .unspecified(address.address.family) {
        refuse("addresses", "\(address)", code: "invalid")
      } else if !brought.addresses.contains(address) {
        brought.addresses.append(address)
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
    brought.dns = DNSPolicy(servers: dns.servers, searchDomains: dns.searchDomains.filter(isAllowed), matchDomains: matched)
  }
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
    case "policy": "the provider asks for \(what), which the policy does not allow"
    case "unsupported": "the provider asks for \(what), which this version does not set"
    default: "the provider asks for \(what), which is not valid here"
    }
  }
}
