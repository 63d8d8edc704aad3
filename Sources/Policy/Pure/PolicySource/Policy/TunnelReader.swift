internal import JSON
import NetworkTypes
internal import PolicyFiles
import RoamwardCore

/// Reads one entry of `tunnels`. `nil`, and reported, if its provider could not be read.
func readTunnel(_ entry: Node.Entry, _ reading: inout Reading) -> TunnelPolicy? {
  guard isTunnelName(entry.key) else {
    reading.error(
      "\(quoted(entry.key)) cannot be the name of a tunnel",
      help: "use 1 to 64 letters, digits, `.`, `_` and `-`, not beginning with `.` or `-`",
      at: entry.keyLocation)
    return nil
  }
  reading.rulesWithoutConnections = []
  guard let draft = tunnelKeys.read(entry.value, &reading) else { return nil }
  judgeConnections(draft, &reading)
  if draft.owner != nil, draft.precedence == .enterprise {
    reading.error(
      "an enterprise tunnel is the machine's, of which one runs at a time, and cannot be one user's", help: "remove `owner`, or `class`",
      at: entry.keyLocation)
  }
  let mtu = chooseMTU(draft, &reading)
  let dns = draft.dns.map { $0.policy(of: draft.provider, &reading) }
  if let place = draft.guarding, let provider = draft.provider, provider.isWithoutLink {
    reading.error(
      "a kill switch needs the tunnel's link: nothing else may carry packets while it is up",
      help: "add `interface:` to `\(provider.name)`", at: place)
  }
  // Its program binds packets to an address of the network below, and the kernel's IPsec looks up one way for all of them.
  if draft.through != nil, case .installed(let provider) = draft.provider, provider.program.needs.contains(.xfrm) {
    reading.error(
      "\(provider.program.name) uses the kernel's IPsec, whose packets cannot be led into another tunnel",
      help: "remove `through`, or use another provider", at: entry.keyLocation)
  }
  judgeApps(draft, &reading)
  if case .service(let service) = draft.provider { judgeService(service, of: entry, draft, &reading) }
  return draft.provider.map {
    TunnelPolicy(
      name: entry.key, about: draft.about, isEnabled: draft.isEnabled, precedence: draft.precedence, provider: $0,
      through: draft.through,
      onDemand: draft.onDemand, routes: draft.routes, dns: dns, mtu: mtu, proxy: draft.proxy, apps: draft.apps?.policy,
      owner: draft.owner,
      killSwitch: draft.killSwitch,
      includesAllNetworks: draft.includesAllNetworks, disconnectsOnSleep: draft.disconnectsOnSleep, location: entry.keyLocation)
  }
}

/// The partly read keys of a tunnel.
struct TunnelDraft {
  var about: String?
  var isEnabled = true
  var owner: UserName?
  var precedence = TunnelClass.personal
  var provider: ProviderConfiguration?
  var through: OuterTunnel?
  var onDemand = OnDemand()
  var routes: RoutePolicy?
  var apps: (policy: AppsPolicy, location: SourceLocation)?
  var dns: DNSDraft?
  var proxy: ProxyPolicy?
  var mtu: UInt32?
  var overhead: (bytes: UInt32, location: SourceLocation)?
  var killSwitch = KillSwitch.off
  var includesAllNetworks = false
  var disconnectsOnSleep = false
  /// The place of the key that enables the kill switch.
  var guarding: SourceLocation?
}

let tunnelKeys = Mapping(
  subject: "a tunnel", draft: TunnelDraft(),
  constraints: [.init(key: "not", value: .given("mtu", "overhead"))] + JSON.connections(with: Action.evaluateConnection.rawValue),
  keys: [
    Key("description", .line, "A description of the tunnel for people.", example: "Company network") { $0.about = $1 },
    Key("enabled", .boolean, "Enable the tunnel. If false, neither rules nor `up` start it.", standard: "true", example: "false") {
      $0.isEnabled = $1
    },
    Key(
      "owner", userName, "The user that the tunnel belongs to: it may start only while that user is logged in.", example: "alice"
    ) { $0.owner = $1 },
    Key(
      "class", ValueReader<TunnelClass>.word(),
      "Only one enterprise tunnel runs at a time; it wins conflicts with personal tunnels.", standard: "personal", example: "enterprise"
    ) { $0.precedence = $1 },
    Key(
      required: "provider", .provider, "The implementation of the tunnel, exactly one.", example: "{ wireguard: { config: corp.conf } }",
      missing: "add `provider:` with \(providerChoice) below it"
    ) { $0.provider = $1 },
    Key(
      "through", expects: "the name of a tunnel", schema: .text(pattern: SchemaPattern.tunnelName),
      "The tunnel that carries this one's own packets; while this one is wanted, so is that one.", example: "office"
    ) { entry, draft, reading in
      draft.through = ValueReader.line.read(entry.value, &reading).map { OuterTunnel($0, location: entry.value.location) }
    },
    Key("on-demand", .onDemand, "On-demand rules and their timing.", example: "{ rules: [ { action: connect } ] }") { $0.onDemand = $1 },
    Key("routes", .routes, "The destinations that go through the tunnel.", example: "{ include: [10.0.0.0/8] }") { $0.routes = $1 },
    Key(
      "apps", expects: "programs to include or exclude", schema: appsKeys.schema,
      "Programs that the tunnel is for alone, or that stay outside of every tunnel.", example: "{ include: [transmission.service] }"
    ) { entry, draft, reading in
      draft.apps = appsKeys.read(entry.value, &reading).map { ($0, entry.keyLocation) }
    },
    Key(
      "dns", .dns, "The tunnel's name servers; `none`: the DNS configuration stays unchanged.",
      example: "{ servers: [10.0.0.53], match-domains: [corp.example] }"
    ) {
      $0.dns = $1
    },
    Key(
      "proxy", .proxy, "The web proxy for programs while the tunnel is connected.",
      example: "{ http: \"10.0.0.80:3128\", publish: [environment, chromium] }"
    ) { $0.proxy = $1 },
    Key("mtu", .number(576...65535), "The tunnel's MTU in bytes.", example: "1420") { $0.mtu = $1 },
    Key(
      "overhead", expects: "a number from 0 to 1000", schema: .integer(0...1000),
      "Instead of `mtu`: bytes to subtract from the physical link's MTU.", example: "80"
    ) {
      entry, draft, reading in
      draft.overhead = ValueReader.number(0...1000).read(entry.value, &reading).map { ($0, entry.keyLocation) }
    },
    Key(
      "kill-switch", expects: "off, on or always", schema: .words(["off", "on", "always"]),
      "Block included destinations outside the tunnel while it is down: `on` while the tunnel is wanted, `always` at all times.",
      standard: "\"off\"", example: "\"on\""
    ) { entry, draft, reading in
      draft.killSwitch = ValueReader<KillSwitch>.word().read(entry.value, &reading) ?? .off
      if draft.killSwitch != .off { draft.guarding = entry.keyLocation }
    },
    Key(
      "include-all-networks", expects: "true or false", schema: .boolean,
      "Route everything through the tunnel. While it is wanted, block all other traffic except `exclude` and an explicit `lan: allow`.",
      standard: "false",
      example: "true"
    ) { entry, draft, reading in
      draft.includesAllNetworks = ValueReader.boolean.read(entry.value, &reading) ?? false
      if draft.includesAllNetworks { draft.guarding = entry.keyLocation }
    },
    Key(
      "disconnect-on-sleep", .boolean, "Disconnect the tunnel before the machine sleeps; after waking, the rules decide.",
      standard: "false", example: "true"
    ) { $0.disconnectsOnSleep = $1 },
  ])

/// Look-ups start a tunnel by `connections`; one for some programs alone starts at their first packet.
private func judgeConnections(_ draft: TunnelDraft, _ reading: inout Reading) {
  if draft.apps?.policy.include.isEmpty ?? true {
    // Programs that could not be read are told already.
    if let apps = draft.apps, apps.policy.exclude.isEmpty, reading.problems.hasErrors { return }
    for place in reading.rulesWithoutConnections {
      reading.error(
        "`evaluate-connection` needs `connections`, which say what a look-up does",
        help: "for example: connections: [ { domains: [corp.example], action: connect-if-needed } ]", at: place)
    }
    return
  }
  for place in reading.rulesWithoutConnections {
    let isWireGuard = draft.provider.map { if case .wireGuard = $0 { true } else { false } } ?? true
    let reason =
      !isWireGuard ? "only a WireGuard tunnel waits for its first packet" : draft.through != nil ? "one inside another does not wait" : nil
    guard let reason else { continue }
    reading.error(
      "`evaluate-connection` would have the first packet of these programs start the tunnel, and \(reason)",
      help: "use `action: connect`", at: place)
  }
  for rule in draft.onDemand.rules where !rule.connections.isEmpty {
    reading.error(
      "`connections` has no meaning beside `apps: include`: the first packet of these programs starts the tunnel",
      help: "remove `connections`", at: rule.location)
  }
}

private func chooseMTU(_ draft: TunnelDraft, _ reading: inout Reading) -> MTUPolicy? {
  if let overhead = draft.overhead {
    if draft.mtu != nil {
      reading.error(
        "`overhead` and `mtu` exclude one another", help: "keep `mtu` for a fixed size, or `overhead` to follow the link below",
        at: overhead.location)
    }
    return .overhead(overhead.bytes)
  }
  return draft.mtu.map { .fixed($0) }
}

let routeKeys = Mapping(
  subject: "`routes`", draft: RoutePolicy(),
  keys: [
    Key("include", .oneOrMore(.destination), "Destinations that go through the tunnel; `default` is everything.", example: "[10.0.0.0/8]") {
      $0.include = PrefixList($1.flatMap { $0 })
    },
    Key("exclude", .oneOrMore(.destination), "Destinations that stay outside the tunnel.", example: "[10.99.0.0/16]") {
      $0.exclude = PrefixList($1.flatMap { $0 })
    },
    Key(
      "include-domains", .oneOrMore(routedDomain),
      "Domains whose names' addresses go through the tunnel, beside `include`; alone: nothing else does.", example: "[git.corp.example]"
    ) { $0.includeDomains = $1 },
    Key(
      "exclude-domains", .oneOrMore(routedDomain), "Domains whose names' addresses stay outside the tunnel.",
      example: "[\"*.video.example\"]"
    ) { $0.excludeDomains = $1 },
    Key(
      "include-file", expects: "a file", schema: ValueReader.line.schema,
      "A file with one more such destination per line, relative to the policy; reloaded when it changes.", example: "office.prefixes"
    ) { $1.includeFile = prefixFile($0, &$2) },
    Key(
      "exclude-file", expects: "a file", schema: ValueReader.line.schema,
      "A file with one more such destination per line, relative to the policy; reloaded when it changes.", example: "country.prefixes"
    ) { $1.excludeFile = prefixFile($0, &$2) },
    Key(
      "lan", ValueReader<LANPolicy>.word(),
      "Access to attached prefixes under a tunnel that includes everything; with `include-all-networks` the default is `block`.",
      standard: "allow", example: "block"
    ) { $0.lan = $1 },
    Key(
      "lan-networks", .oneOrMore(.networkReference),
      "Named networks on which `lan: allow` applies; on any other, or an unknown one, `lan` is `block`.", example: "[home]"
    ) { $0.lanNetworks = $1 },
    Key(
      "on-overlap", ValueReader<OverlapPolicy>.word(),
      "Handling of an attached prefix that equals an explicitly included prefix or lies within one.",
      standard: "prefer-tunnel", example: "refuse"
    ) { $0.onOverlap = $1 },
    Key(
      "enforce", .boolean,
      "Ignore routes from the network for included destinations; only the policy's exclusions and credible attached prefixes stay outside.",
      standard: "false", example: "true"
    ) { $0.isEnforced = $1 },
    Key(
      "answer-by-arrival", .boolean,
      "Answer connections from outside by the network that they come from, also under a kill switch; for servers with a full tunnel.",
      standard: "false", example: "true"
    ) { $0.answersByArrival = $1 },
  ])

extension ValueReader where Value == RoutePolicy {
  fileprivate static let routes = routeKeys.reader("destinations to include and exclude") { routes, _, _ in routes.withFiles }
}

extension RoutePolicy {
  /// With the prefixes of its files.
  fileprivate var withFiles: RoutePolicy {
    var routes = self
    routes.include += includeFile?.prefixes ?? []
    routes.exclude += excludeFile?.prefixes ?? []
    return routes
  }
}

private func prefixFile(_ entry: Node.Entry, _ reading: inout Reading) -> PrefixFile? {
  guard let name = ValueReader.line.read(entry.value, &reading) else { return nil }
  do throws(FileFailure) {
    return try reading.surroundings?.prefixFile(named: name)
  } catch {
    reading.cannotUse(name, error, at: entry.value.location)
    return nil
  }
}

extension ProviderConfiguration {
  /// Whether only the policy can name its link, and does not.
  var isWithoutLink: Bool {
    switch self {
    case .command(let command): command.interface == nil
    case .service(let service): service.hasGroup && service.interface == nil
    case .wireGuard, .installed: false
    }
  }
}
