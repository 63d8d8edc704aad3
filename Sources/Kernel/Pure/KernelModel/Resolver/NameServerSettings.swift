package import NetworkTypes

/// The settings of our own name server, `roamward-names`, for this host: which servers resolve which names.
package struct NameServerSettings: Hashable, Sendable {
  /// Names that the servers of a tunnel resolve.
  package struct Share: Hashable, Sendable {
    package var tunnel: String
    package var servers: [IPAddress]
    /// Its domains; of several domains that contain a name, the longest decides. Empty: every name that no other domain contains.
    package var domains: [DomainName]

    package init(tunnel: String, servers: [IPAddress], domains: [DomainName]) {
      self.tunnel = tunnel
      self.servers = servers
      self.domains = domains
    }
  }

  /// The domains of a tunnel whose names have routes of their own (`include-domains`, `exclude-domains`).
  package struct Routing: Hashable, Sendable {
    package var tunnel: String
    package var included: [DomainName]
    package var excluded: [DomainName]

    package init(tunnel: String, included: [DomainName], excluded: [DomainName]) {
      self.tunnel = tunnel
      self.included = included
      self.excluded = excluded
    }
  }

  /// The address at which it listens, port 53, where resolv.conf names it alone. No packet to 127.0.0.0/8 leaves the machine.
  package static let address = IPAddress(v4: 0x7f52_0035)
  /// The address at which systemd-resolved asks it for the names of `watches`: that of our dummy link (RFC 7600).
  package static let addressOnLink = IPAddress(v4: 0xc000_0008)

  /// The address at which it listens.
  package var listensAt = Self.address
  package var shares: [Share]
  /// Names whose look-ups start a tunnel. They come before `shares` and `refused`.
  package var watches: [NameWatch] = []
  /// The network's servers, for all other names.
  package var network: [IPAddress]
  /// Whether the network's servers are asked as by any other program: through a tunnel that takes everything, or not at all while a kill
  /// switch blocks them. Otherwise questions to them pass every tunnel by, as those of systemd-resolved do.
  package var asksNetworkInside = false
  /// A text that differs between networks: answers of one are forgotten on another, though their servers may have equal addresses.
  package var place: String
  /// Domains whose names are refused while their tunnel is not up (`when-down: refuse`).
  package var refused: [DomainName]
  /// Whether names are refused by which programs look for a proxy of the network (`wpad`).
  package var refusesDiscovery = false
  /// Addresses that the network's servers must not give, because they are inside tunnels (rebinding).
  package var blocked: [IPPrefix]
  /// Domains whose names may have such addresses all the same.
  package var rebindAllowed: [DomainName] = []
  /// Names with routes of their own: their answers wait until the agent has made the routes.
  package var routings: [Routing] = []
  /// The domains that programs append to names (`search` in resolv.conf).
  package var searchDomains: [DomainName]
  /// The questions that `names: capture` leads to it, besides those of programs that resolv.conf leads here.
  package var capture: NameCapture?
  /// The questions of programs with a route of their own, besides; `nil`: there are none.
  package var programs: ProgramNames?

  package init(
    shares: [Share] = [], network: [IPAddress] = [], place: String = "", refused: [DomainName] = [], blocked: [IPPrefix] = [],
    searchDomains: [DomainName] = []
  ) {
    self.shares = shares
    self.network = network
    self.place = place
    self.refused = refused
    self.blocked = blocked
    self.searchDomains = searchDomains
  }
}

extension NameServerSettings {
  /// Every domain whose names are routed.
  package var routed: [DomainName] { routings.flatMap { $0.included + $0.excluded }.uniqued().sorted { $0.text < $1.text } }

  /// The names by which programs look for a proxy: alone, and in each domain that they may append.
  package var discoveryNames: [DomainName] {
    guard refusesDiscovery else { return [] }
    return (["wpad"] + (searchDomains + shares.flatMap(\.domains)).map { "wpad.\($0)" }).compactMap { DomainName($0) }
  }
}

extension NameServerSettings.Routing {
  /// `git.corp.example by corp`, `video.example past corp`.
  fileprivate var words: [String] {
    let parts = [
      included.isEmpty ? [] : included.map(\.text) + ["by", tunnel], excluded.isEmpty ? [] : excluded.map(\.text) + ["past", tunnel],
    ]
    return ["route"] + parts.joined()
  }
}

extension NameServerSettings: CustomStringConvertible {
  /// `corp.example 10.0.0.53; refuse lab.example; . 192.0.2.53`.
  package var description: String {
    func words(_ domains: [DomainName]) -> [String] { domains.isEmpty ? ["."] : domains.map(\.text) }
    var parts = watches.map { ["\($0)"] } + shares.map { words($0.domains) + $0.servers.map(\.description) }
    if !refused.isEmpty { parts.append(["refuse"] + refused.map(\.text)) }
    if refusesDiscovery { parts.append(["refuse", "wpad"]) }
    if !shares.contains(where: \.domains.isEmpty) { parts.append(["."] + (network.isEmpty ? ["none"] : network.map(\.description))) }
    parts += routings.map(\.words)
    if capture != nil { parts.append(["captured: the server that was asked"]) }
    parts += programs?.routes.map(\.words) ?? []
    return parts.map { $0.joined(separator: " ") }.joined(separator: "; ")
  }
}

extension LinkResolver {
  /// Whether it leads systemd-resolved to our own name server.
  package var namesOwnServer: Bool { servers == [NameServerSettings.addressOnLink] && port == nil }
}

extension ResolvConf {
  /// Whether it leads programs to our own name server.
  package var namesOwnServer: Bool { nameServers == [NameServerSettings.address] }
}
