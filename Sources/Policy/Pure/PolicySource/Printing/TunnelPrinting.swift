import KernelModel
import NetworkTypes
import RoamwardCore

extension PolicyPrinter {
  static func yaml(of tunnel: PrintableTunnel) -> YAMLMapping {
    var mapping = YAMLMapping()
    mapping.add("description", tunnel.about.map { .text($0) })
    if !tunnel.isEnabled { mapping.add("enabled", .word("false")) }
    mapping.add("owner", tunnel.owner.map { .text($0.text) })
    if tunnel.precedence != .personal { mapping.add("class", .word(tunnel.precedence.rawValue)) }
    mapping.add("provider", .mapping(yaml(of: tunnel.provider)))
    mapping.add("through", tunnel.through.map { .text($0) })
    let onDemand = yaml(of: tunnel.onDemand)
    if !onDemand.isEmpty { mapping.add("on-demand", .mapping(onDemand)) }
    mapping.add("routes", tunnel.routes.map { .mapping(yaml(of: $0)) })
    mapping.add("apps", tunnel.apps.map { .mapping(yaml(of: $0)) })
    mapping.add("dns", tunnel.dns.map { $0 == DNSPolicy() ? .word("none") : .mapping(yaml(of: $0)) })
    mapping.add("proxy", tunnel.proxy.map { .mapping(yaml(of: $0)) })
    switch tunnel.mtu {
    case .fixed(let bytes): mapping.add("mtu", .word(String(bytes)))
    case .overhead(let bytes): mapping.add("overhead", .word(String(bytes)))
    case nil: break
    }
    if tunnel.killSwitch != .off { mapping.add("kill-switch", .word(tunnel.killSwitch.rawValue)) }
    if tunnel.includesAllNetworks { mapping.add("include-all-networks", .word("true")) }
    if tunnel.disconnectsOnSleep { mapping.add("disconnect-on-sleep", .word("true")) }
    return mapping
  }

  private static func yaml(of apps: AppsPolicy) -> YAMLMapping {
    var mapping = YAMLMapping()
    if !apps.include.isEmpty { mapping.add("include", .list(apps.include.map { .text($0.description) })) }
    if !apps.exclude.isEmpty { mapping.add("exclude", .list(apps.exclude.map { .text($0.description) })) }
    return mapping
  }

  private static func yaml(of provider: PrintableTunnel.Provider) -> YAMLMapping {
    switch provider {
    case .wireGuard(let config): return YAMLMapping([("wireguard", .mapping(YAMLMapping([("config", .text(config))])))])
    case .command(let command):
      var mapping = YAMLMapping([("up", texts(command.up)), ("down", texts(command.down))])
      if !command.status.isEmpty { mapping.add("status", texts(command.status)) }
      mapping.add("interface", command.interface.map { .text($0) })
      if command.timeout != CommandProviderConfiguration(up: [], down: []).timeout { mapping.add("timeout", duration(command.timeout)) }
      return YAMLMapping([("command", .mapping(mapping))])
    case .installed(let provider): return YAMLMapping([("installed", .mapping(yaml(of: provider)))])
    case .service(let provider): return YAMLMapping([(provider.key, .mapping(yaml(of: provider)))])
    }
  }

  private static func yaml(of provider: ServiceProviderConfiguration) -> YAMLMapping {
    switch provider.service {
    case .unit(let name):
      var mapping = YAMLMapping([("name", .text(name))])
      mapping.add("interface", provider.interface.map { .text($0) })
      return mapping
    case .profile(let name): return YAMLMapping([("profile", .text(name))])
    case .tailscale(let exitNode):
      var mapping = YAMLMapping()
      mapping.add("exit-node", exitNode.map { .text($0.description) })
      return mapping
    }
  }

  private static func yaml(of provider: InstalledProviderConfiguration) -> YAMLMapping {
    var mapping = YAMLMapping([("name", .text(provider.program.name))])
    if case .mapping(let options) = YAMLValue(provider.options), !options.isEmpty { mapping.add("options", .mapping(options)) }
    if !provider.startable.ofUsers.isEmpty { mapping.add("start-options", texts(provider.startable.ofUsers)) }
    if !provider.credentials.isEmpty {
      mapping.add("credentials", .mapping(YAMLMapping(provider.credentials.map { ($0.name, .text($0.path)) })))
    }
    let everything = SettingsAllowance.everything
    var allowance = YAMLMapping()
    if provider.allowance.routes != everything.routes { allowance.add("routes", destinations(provider.allowance.routes)) }
    if provider.allowance.domains != everything.domains { allowance.add("domains", texts(provider.allowance.domains)) }
    if !allowance.isEmpty { mapping.add("allow", .mapping(allowance)) }
    if !provider.signInHosts.isEmpty {
      mapping.add("sign-in", .mapping(YAMLMapping([("hosts", texts(provider.signInHosts.map(\.webServerText)))])))
    }
    if provider.program.isInsecure { mapping.add("insecure", .word("accept")) }
    return mapping
  }

  static func yaml(of onDemand: OnDemand) -> YAMLMapping {
    var mapping = YAMLMapping()
    if !onDemand.isEnabled { mapping.add("enabled", .word("false")) }
    if !onDemand.rules.isEmpty { mapping.add("rules", .list(onDemand.rules.map { .mapping(yaml(of: $0)) })) }
    let defaults = Timing()
    var timing = YAMLMapping()
    timing.add("settle", onDemand.timing.settle.map(duration))
    if onDemand.timing.releaseDelay != defaults.releaseDelay { timing.add("release-delay", duration(onDemand.timing.releaseDelay)) }
    if onDemand.timing.minimumDwell != defaults.minimumDwell { timing.add("minimum-dwell", duration(onDemand.timing.minimumDwell)) }
    timing.add("idle", onDemand.timing.idle.map(duration))
    if onDemand.timing.decideWithin != defaults.decideWithin { timing.add("decide-within", duration(onDemand.timing.decideWithin)) }
    if !timing.isEmpty { mapping.add("timing", .mapping(timing)) }
    return mapping
  }

  private static func yaml(of rule: Rule) -> YAMLMapping {
    var mapping = YAMLMapping()
    mapping.add("name", rule.name.map { .text($0) })
    let match = criteria(of: rule.match)
    if !match.isEmpty { mapping.add("match", .mapping(match)) }
    mapping.add("action", .word(rule.action.rawValue))
    if !rule.connections.isEmpty { mapping.add("connections", .list(rule.connections.map { .mapping(yaml(of: $0)) })) }
    mapping.add("on-unknown", rule.onUnknown.map { .word($0.rawValue) })
    return mapping
  }

  private static func yaml(of rule: ConnectionRule) -> YAMLMapping {
    var mapping = YAMLMapping([("domains", texts(Array(rule.domains))), ("action", .word(rule.action.rawValue))])
    if !rule.servers.isEmpty { mapping.add("dns-servers", texts(rule.servers)) }
    mapping.add("probe", rule.probe.map(yaml))
    return mapping
  }

  private static func yaml(of routes: RoutePolicy) -> YAMLMapping {
    var mapping = YAMLMapping()
    func add(_ key: String, _ prefixes: [IPPrefix], _ file: PrefixFile?) {
      let own = prefixes.dropLast(file?.prefixes.count ?? 0)
      if !own.isEmpty { mapping.add(key, destinations(Array(own))) }
      mapping.add("\(key)-file", file.map { .text($0.path) })
    }
    add("include", routes.include.all, routes.includeFile)
    add("exclude", routes.exclude.all, routes.excludeFile)
    if !routes.includeDomains.isEmpty { mapping.add("include-domains", texts(routes.includeDomains)) }
    if !routes.excludeDomains.isEmpty { mapping.add("exclude-domains", texts(routes.excludeDomains)) }
    mapping.add("lan", routes.lan.map { .word($0.rawValue) })
    if !routes.lanNetworks.isEmpty { mapping.add("lan-networks", texts(routes.lanNetworks)) }
    if routes.onOverlap != .preferTunnel { mapping.add("on-overlap", .word(routes.onOverlap.rawValue)) }
    if routes.isEnforced { mapping.add("enforce", .word("true")) }
    if routes.answersByArrival { mapping.add("answer-by-arrival", .word("true")) }
    return mapping
  }

  /// All addresses of both families become `default`.
  private static func destinations(_ prefixes: [IPPrefix]) -> YAMLValue {
    var items: [YAMLValue] = []
    var i = 0
    while i < prefixes.count {
      let isDefault = i + 1 < prefixes.count && prefixes[i] == .everything(.v4) && prefixes[i + 1] == .everything(.v6)
      items.append(isDefault ? .word("default") : .text(prefixes[i].description))
      i += isDefault ? 2 : 1
    }
    return .list(items)
  }

  /// Empty lists are printed: without the key, the provider's own configuration would apply.
  private static func yaml(of dns: DNSPolicy) -> YAMLMapping {
    var mapping = YAMLMapping([("servers", texts(dns.servers)), ("search-domains", texts(dns.searchDomains))])
    if !dns.matchDomains.isEmpty { mapping.add("match-domains", texts(dns.matchDomains)) }
    if dns.whenDown != .ask { mapping.add("when-down", .word(dns.whenDown.rawValue)) }
    if dns.names != .system { mapping.add("names", .word(dns.names.rawValue)) }
    if !dns.rebindAllowed.isEmpty { mapping.add("rebind-allowed", texts(dns.rebindAllowed)) }
    mapping.add("dnssec", dns.dnssec.map { .text($0.rawValue) })
    return mapping
  }

  private static func yaml(of proxy: ProxyPolicy) -> YAMLMapping {
    var mapping = YAMLMapping()
    mapping.add("pac", proxy.pac.map { .text($0) })
    mapping.add("pac-file", proxy.file.map { .text($0.path) })
    mapping.add("http", proxy.http.map { .text($0) })
    mapping.add("https", proxy.https.map { .text($0) })
    if !proxy.exclude.isEmpty { mapping.add("exclude", texts(proxy.exclude)) }
    if proxy.excludesSimpleNames { mapping.add("exclude-simple-names", .word("true")) }
    if !proxy.publish.isEmpty { mapping.add("publish", texts(proxy.publish.map(\.rawValue))) }
    return mapping
  }

  static func texts(_ items: [some CustomStringConvertible]) -> YAMLValue { .list(items.map { .text($0.description) }) }

  /// The duration in the largest unit without a remainder; fractions of a millisecond are dropped.
  static func duration(_ duration: Duration) -> YAMLValue {
    let (seconds, attoseconds) = duration.components
    let rest = attoseconds / 1_000_000_000_000_000
    if rest != 0 { return .word("\(seconds * 1000 + rest)ms") }
    if seconds != 0, seconds % 3600 == 0 { return .word("\(seconds / 3600)h") }
    return seconds != 0 && seconds % 60 == 0 ? .word("\(seconds / 60)m") : .word("\(seconds)s")
  }
}
