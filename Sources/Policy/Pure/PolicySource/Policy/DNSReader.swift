import KernelModel
import NetworkTypes
import RoamwardCore

/// The keys of `dns`; `nil` if the provider's own configuration applies.
struct DNSDraft {
  var servers: [IPAddress]?
  var searchDomains: [DomainName]?
  var matchDomains: [DomainPattern] = []
  var whenDown = NamesWhenDown.ask
  var names = NameSource.system
  var rebindAllowed: [DomainName] = []
  var dnssec: DNSSECMode?
  /// The place of `names: capture`.
  var capture: SourceLocation?
  var location: SourceLocation?
  /// Suppresses further reports about keys that could not be read.
  var hasErrors = false

  /// The DNS policy. Servers and search domains that are not given come from the provider's own configuration.
  func policy(of provider: ProviderConfiguration?, _ reading: inout Reading) -> DNSPolicy {
    var policy = DNSPolicy()
    // Its servers may be in a file that this user may not read.
    let isKnown = provider.map { !$0.isUnread } ?? false
    if case .wireGuard(let wireGuard) = provider, let configuration = wireGuard.configuration {
      policy = DNSPolicy(servers: configuration.dnsServers, searchDomains: configuration.searchDomains)
    }
    if let servers { policy.servers = servers }
    if let searchDomains { policy.searchDomains = searchDomains }
    policy.matchDomains = matchDomains
    policy.whenDown = whenDown
    policy.names = names
    policy.rebindAllowed = rebindAllowed
    policy.dnssec = dnssec
    if whenDown == .refuse, !policy.isSplit, !hasErrors, let location {
      reading.error(
        "`when-down: refuse` needs `match-domains`: refusing every name would leave the machine without any",
        help: "add `match-domains:`, or block everything else with `kill-switch: on`", at: location)
    }
    if policy.servers.isEmpty, let capture, isKnown, !hasErrors {
      reading.error(
        "`names: capture` needs servers that answer the captured questions", help: "add `servers:` beside it", at: capture)
    }
    if policy.servers.isEmpty, !matchDomains.isEmpty, isKnown, !hasErrors, let location {
      reading.error("`match-domains` needs servers that answer for these names", help: "add `servers:` beside it", at: location)
    }
    return policy
  }
}

let dnsKeys = Mapping(
  subject: "`dns`", draft: DNSDraft(),
  keys: [
    Key("servers", .oneOrMore(.address), "Name servers; absent: those of the wg-quick file.", example: "[10.0.0.53]") { $0.servers = $1 },
    Key(
      "search-domains", .oneOrMore(.domain), "Search domains for short names; absent: those of the wg-quick file.",
      example: "[corp.example]"
    ) { $0.searchDomains = $1 },
    Key(
      "match-domains", .oneOrMore(.matchDomain), "The names that these servers answer for; absent, or `.`: every name.",
      example: "[corp.example, 10.in-addr.arpa]"
    ) { $0.matchDomains = $1 },
    Key(
      "when-down", ValueReader<NamesWhenDown>.word(),
      "Use of the network's servers for `match-domains` while the tunnel is not up; `refuse`: no use, unless a rule says `disconnect`.",
      standard: "ask", example: "refuse"
    ) { $0.whenDown = $1 },
    Key(
      "names", expects: "system or capture", schema: .words(NameSource.allCases.map(\.rawValue)),
      "The programs that get these servers' answers: those that ask the system's resolver, or also those that ask others at port 53.",
      standard: "system", example: "capture"
    ) { entry, draft, reading in
      draft.names = ValueReader<NameSource>.word().read(entry.value, &reading) ?? .system
      if draft.names == .capture { draft.capture = entry.keyLocation }
    },
    Key(
      "rebind-allowed", .oneOrMore(.domain),
      "Domains whose names may have addresses inside tunnels; such answers of the network's servers are withheld for all others.",
      example: "[home.example]"
    ) { $0.rebindAllowed = $1 },
    Key(
      "dnssec", ValueReader<DNSSECMode>.word(),
      "Validation of these servers' answers by systemd-resolved; absent: `no` with `match-domains`, else as this machine is set.",
      example: "allow-downgrade"
    ) { $0.dnssec = $1 },
  ])

extension ValueReader where Value == DNSDraft {
  static let dns = ValueReader(
    expected: "servers and domains, or `none`", schema: .either(.words(["none"]), dnsKeys.schema)
  ) { node, reading in
    // This overrides the provider's own configuration.
    if case .scalar("none", _) = node.content { return DNSDraft(servers: [], searchDomains: []) }
    let before = reading.problems.errorCount
    var draft = dnsKeys.read(node, &reading)
    draft?.location = node.location
    draft?.hasErrors = reading.problems.errorCount > before
    return draft
  }
}
