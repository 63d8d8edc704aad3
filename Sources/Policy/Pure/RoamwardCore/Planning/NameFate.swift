import KernelModel
package import NetworkTypes

/// The servers that resolve a name under the desired state, and the reason.
package struct NameFate: Equatable, Sendable {
  /// Servers that are queried together, or one after another.
  package struct Askee: Equatable, Sendable {
    /// The tunnel that brings the servers; `nil`: the network.
    package var tunnel: String?
    package var link: String?
    package var servers: [IPAddress]
    package var reason: String

    package init(tunnel: String? = nil, link: String? = nil, servers: [IPAddress], reason: String) {
      self.tunnel = tunnel
      self.link = link
      self.servers = servers
      self.reason = reason
    }
  }

  /// Answers with addresses inside tunnels, from servers outside (DNS rebinding).
  package enum Rebinding: Equatable, Sendable {
    /// Those with addresses in these prefixes are withheld.
    case withheld([IPPrefix])
    /// They are passed on: the name is in this domain of `rebind-allowed`.
    case allowed(DomainName)
  }

  /// A tunnel through which, or past which, packets to the name's addresses go.
  package struct Route: Equatable, Sendable {
    package var tunnel: String
    package var way: NameWay
    /// The domain of the policy that decides.
    package var domain: DomainName
  }

  package var name: DomainName
  /// The ways of packets to its addresses, which are routed before a program has them.
  package var routes: [Route] = []
  /// The server groups. Of several, systemd-resolved queries all at once and takes the first answer; programs that read resolv.conf query
  /// one after another.
  package var askees: [Askee]
  /// The reason why the name is refused; `nil`: it is queried, or there is no server to query.
  package var refusal: String?
  /// The tunnel that a look-up now starts, always or if needed; `nil`: none.
  package var starts: String?
  /// The address of our own name server, which gets the question and asks the servers; `nil`: the question does not pass it.
  package var ownServer: IPAddress?
  /// The treatment, by our own name server, of answers whose addresses are inside tunnels; `nil`: it does not look at them.
  package var rebinding: Rebinding?

  package init(name: DomainName, askees: [Askee] = [], refusal: String? = nil, starts: String? = nil) {
    self.name = name
    self.askees = askees
    self.refusal = refusal
    self.starts = starts
  }
}

extension DesiredState {
  /// The fate of a name. `network`: the underlay, whose servers resolve the names that belong to no tunnel.
  package func fate(of name: DomainName, on network: NetworkSnapshot, by choice: ResolverChoice) -> NameFate {
    if let nameServer, leadsToNameServer { return fateByNameServer(name, nameServer, network, at: nameServer.listensAt) }
    return switch choice.backend {
    case .resolved where choice.obstacle == nil: fateByLinks(name, network, rivals: choice.rivals)
    default: fateByList(name, network, choice)
    }
  }

  /// The fate of a name that a program asks a name server of its own for, if such questions are captured; `nil`: that server gets it.
  package func capturedFate(of name: DomainName, on network: NetworkSnapshot) -> NameFate? {
    guard let nameServer, nameServer.capture != nil else { return nil }
    let fate = fateByNameServer(name, nameServer, network)
    return fate.refusal == nil && fate.askees.allSatisfy { $0.tunnel == nil } ? nil : fate
  }

  /// Whether the system's resolver leads to our own name server.
  var leadsToNameServer: Bool { (resolvConf ?? record?.content)?.namesOwnServer ?? false }

  /// The fate with servers per link. The longest domain decides; with none, all that take the rest (systemd-resolved.service(8), "Protocols
  /// and routing").
  private func fateByLinks(_ name: DomainName, _ network: NetworkSnapshot, rivals: [String]) -> NameFate {
    let tunnels = Dictionary(links.map { ($0.name, $0.tunnel) }) { first, _ in first }
    var claims: [(weight: Int, askee: NameFate.Askee)] = []
    for (link, resolver) in resolvedLinks.sorted(by: { $0.key < $1.key }) {
      let tunnel = tunnels[link] ?? link
      let domains = resolver.domains.filter { domain in domain.name.map(name.isWithin) ?? true }
      guard let best = domains.max(by: { $0.weight < $1.weight }) else { continue }
      let reason = best.name.map { "the servers of \(tunnel) answer for \($0.text)" } ?? "the servers of \(tunnel) answer for every name"
      claims.append((best.weight, NameFate.Askee(tunnel: tunnel, link: link, servers: resolver.servers, reason: reason)))
    }
    for link in network.links {
      guard let servers = link.dnsServers.value, !servers.isEmpty, let domains = link.searchDomains.value else { continue }
      guard let best = domains.filter(name.isWithin).max(by: { $0.weight < $1.weight }) else { continue }
      claims.append(
        (best.weight, NameFate.Askee(link: link.name, servers: servers, reason: "the network on \(link.name) is in \(best.text)")))
    }
    claims += rivals.map { (0, NameFate.Askee(link: $0, servers: [], reason: "\($0) claims every name")) }
    guard let longest = claims.map(\.weight).max() else {
      let others = network.links.filter { $0.dnsServers.value?.isEmpty == false }
      return NameFate(
        name: name,
        askees: others.map { NameFate.Askee(link: $0.name, servers: $0.dnsServers.value ?? [], reason: "no tunnel answers for it") })
    }
    let askees = claims.filter { $0.weight == longest }.map(\.askee)
    if let nameServer, askees.contains(where: { $0.link == Ownership.refusalLink }) {
      // Its link refuses by a closed port where no look-up is watched.
      let isPassed = resolvedLinks[Ownership.refusalLink]?.namesOwnServer ?? false
      return fateByNameServer(name, nameServer, network, at: isPassed ? nameServer.listensAt : nil)
    }
    if askees.contains(where: { $0.link == Ownership.refusalLink }) {
      let domain = refusedDomains.filter(name.isWithin).max { $0.weight < $1.weight }
      return NameFate(
        name: name, refusal: "names in \(domain?.text ?? "its domain") are refused while their tunnel is not up (`when-down: refuse`)")
    }
    return NameFate(name: name, askees: askees)
  }

  /// The fate with our own name server. `address`: where the system's resolver asks it; `nil`: nowhere.
  private func fateByNameServer(
    _ name: DomainName, _ settings: NameServerSettings, _ network: NetworkSnapshot, at address: IPAddress? = nil
  ) -> NameFate {
    var found = fate(of: name, in: settings, network)
    (found.ownServer, found.routes) = (address, settings.routings.compactMap { $0.route(of: name) })
    if !settings.blocked.isEmpty, found.starts == nil, found.askees.contains(where: { $0.tunnel == nil }) {
      found.rebinding =
        settings.rebindAllowed.filter(name.isWithin).max { $0.weight < $1.weight }.map { .allowed($0) } ?? .withheld(settings.blocked)
    }
    return found
  }

  /// The fate by the rules of our own name server: the longest domain decides.
  private func fate(of name: DomainName, in settings: NameServerSettings, _ network: NetworkSnapshot) -> NameFate {
    func askee(_ share: NameServerSettings.Share, _ reason: String) -> NameFate.Askee {
      NameFate.Askee(tunnel: share.tunnel, link: links.first { $0.tunnel == share.tunnel }?.name, servers: share.servers, reason: reason)
    }
    func longest(_ domains: [DomainName]) -> DomainName? { domains.filter(name.isWithin).max { $0.weight < $1.weight } }
    let watched = settings.watch(for: name)
    let refused = longest(settings.refused)
    let best = settings.shares.compactMap { share in longest(share.domains).map { (share, $0) } }.max { $0.1.weight < $1.1.weight }
    let weight = watched?.domain?.weight ?? 0
    if let watched, weight >= refused?.weight ?? 0, weight >= best?.1.weight ?? 0 {
      return fate(of: name, by: watched.watch, watched.fate, domain: watched.domain, settings, network)
    }
    if let refused, refused.weight > best?.1.weight ?? -1 {
      return NameFate(name: name, refusal: "names in \(refused.text) are refused while their tunnel is not up (`when-down: refuse`)")
    }
    if let (share, domain) = best {
      return NameFate(name: name, askees: [askee(share, "the servers of \(share.tunnel) answer for \(domain.text)")])
    }
    if let share = settings.shares.first(where: \.domains.isEmpty) {
      return NameFate(name: name, askees: [askee(share, "the servers of \(share.tunnel) answer for every other name")])
    }
    let link = network.primaryLink?.name
    return NameFate(name: name, askees: [NameFate.Askee(link: link, servers: settings.network, reason: "no tunnel answers for it")])
  }

  /// The fate of a name whose look-up may start a tunnel.
  private func fate(
    of name: DomainName, by watch: NameWatch, _ fate: NameWatch.Fate, domain: DomainName?, _ settings: NameServerSettings,
    _ network: NetworkSnapshot
  ) -> NameFate {
    let what = domain.map { "names in \($0.text)" } ?? "all other names"
    let inside = watch.servers.isEmpty ? settings.network : watch.servers
    let link = network.primaryLink?.name
    switch (fate, watch.progress) {
    case (.never, _):
      return NameFate(name: name, askees: [NameFate.Askee(link: link, servers: settings.network, reason: "\(what) start no tunnel")])
    case (_, .connected):
      let reason = "\(watch.tunnel) is up for \(what)"
      return NameFate(name: name, askees: [NameFate.Askee(tunnel: watch.tunnel, servers: inside, reason: reason)])
    case (.ifNeeded(let servers), _):
      let first = servers.isEmpty ? settings.network : servers
      let reason = "\(what) start \(watch.tunnel) if these servers do not resolve them"
      return NameFate(name: name, askees: [NameFate.Askee(link: link, servers: first, reason: reason)], starts: watch.tunnel)
    case (.always, _):
      let reason = "\(what) start \(watch.tunnel), and wait until it is connected"
      return NameFate(
        name: name, askees: [NameFate.Askee(tunnel: watch.tunnel, servers: inside, reason: reason)], starts: watch.tunnel)
    }
  }

  /// The fate with one list of servers for all names.
  private func fateByList(_ name: DomainName, _ network: NetworkSnapshot, _ choice: ResolverChoice) -> NameFate {
    let servers = network.primaryLink?.dnsServers.value ?? []
    guard let own = resolvConf ?? record?.content else {
      let reason = choice.obstacle.map { "no tunnel's servers can be set: \($0)" } ?? "no tunnel that is up brings servers"
      return NameFate(name: name, askees: [NameFate.Askee(link: network.primaryLink?.name, servers: servers, reason: reason)])
    }
    let keeper = choice.backend == .file ? "resolv.conf" : "\(choice.backend)"
    var askees = [
      NameFate.Askee(
        tunnel: listOwner, servers: own.nameServers,
        reason: "\(keeper) knows no names apart, and names the servers of \(listOwner ?? "a tunnel")")
    ]
    if record?.program == .debian, own.nameServers.count < ResolvConf.maximumNameServers {
      let reason = "resolvconf lists the network's servers after the tunnel's, for when those do not answer"
      askees.append(NameFate.Askee(link: network.primaryLink?.name, servers: servers, reason: reason))
    }
    return NameFate(name: name, askees: askees)
  }
}

extension NameServerSettings.Routing {
  /// The way of a name, by the longest domain.
  fileprivate func route(of name: DomainName) -> NameFate.Route? {
    var policy = RoutePolicy()
    (policy.includeDomains, policy.excludeDomains) = (included, excluded)
    guard let way = policy.way(of: name) else { return nil }
    let domain = (way == .include ? included : excluded).filter(name.isWithin).max { $0.text.utf8.count < $1.text.utf8.count }
    return domain.map { NameFate.Route(tunnel: tunnel, way: way, domain: $0) }
  }
}

extension NameFate.Route: CustomStringConvertible {
  /// `through corp (include-domains: git.corp.example)`.
  package var description: String {
    way == .include ? "through \(tunnel) (include-domains: \(domain))" : "past \(tunnel) (exclude-domains: \(domain))"
  }
}

extension NameFate {
  /// Our own name server on the question's way, with its address: `roamward-names (127.82.0.53)`; `nil`: it is not on it.
  package var wayStation: String? { ownServer.map { NameServerSettings.label(of: $0) } }
}

extension NameServerSettings {
  /// Our own name server at this address. That of the dummy link is known to systemd-resolved alone.
  static func label(of address: IPAddress) -> String {
    "roamward-names (\(address)\(address == addressOnLink ? ", asked by systemd-resolved" : ""))"
  }
}

extension DomainName {
  /// The number of labels.
  fileprivate var weight: Int { text.split(separator: ".").count }
}

extension LinkResolver.Domain {
  fileprivate var weight: Int { name?.weight ?? 0 }
}
