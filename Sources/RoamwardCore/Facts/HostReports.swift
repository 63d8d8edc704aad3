package import KernelModel
package import NetworkTypes

/// Name servers and domains of one link, as one source has them.
package struct LinkDNS: Hashable, Sendable {
  package var servers: [IPAddress]
  /// The connection's domain and search list.
  package var domains: [DomainName]
  /// Domains that only lead queries to the link's servers (`~corp.example` of resolved.conf(5)), and are no part of the search list.
  package var routingDomains: [DomainName]

  package init(servers: [IPAddress] = [], domains: [DomainName] = [], routingDomains: [DomainName] = []) {
    self.servers = servers
    self.domains = domains
    self.routingDomains = routingDomains
  }
}

/// A device of NetworkManager (org.freedesktop.NetworkManager.Device), with its active configuration.
package struct ManagedDevice: Hashable, Sendable {
  package var address: MACAddress?
  /// Of `NMDeviceState`: from 40 (preparing) to 99, and 100 (activated).
  package enum State: Hashable, Sendable {
    case inactive, configuring, active
  }

  package var state: State
  package var dns: LinkDNS
  /// `NMMetered`: unknown 0, yes 1, no 2, guessed yes 3, guessed no 4.
  package var metered: UInt32
  /// `NMConnectivityState` of the better family: unknown 0, none 1, portal 2, limited 3, full 4.
  package var connectivity: UInt32

  package init(
    address: MACAddress? = nil, state: State = .active, dns: LinkDNS = LinkDNS(), metered: UInt32 = 0, connectivity: UInt32 = 0
  ) {
    self.address = address
    self.state = state
    self.dns = dns
    self.metered = metered
    self.connectivity = connectivity
  }
}

/// What NetworkManager says of itself.
package struct NetworkManagerReport: Hashable, Sendable {
  /// By the names of the links that carry addresses.
  package var devices: [String: ManagedDevice]
  /// Without its check every connection passes for full.
  package var checksConnectivity: Bool

  package init(devices: [String: ManagedDevice] = [:], checksConnectivity: Bool = true) {
    self.devices = devices
    self.checksConnectivity = checksConnectivity
  }
}

/// A DHCP lease as a client keeps it on disk.
package struct Lease: Hashable, Sendable {
  package var link: String?
  package var address: IPAddress?
  package var dns: LinkDNS
  /// DHCP option 43 says `ANDROID_METERED`, as phones that share a paid connection do.
  package var isMetered: Bool
  /// The API of the network's captive portal, an https URL (DHCP option 114, RFC 8910).
  package var portalAPI: String?

  package init(
    link: String? = nil, address: IPAddress? = nil, dns: LinkDNS = LinkDNS(), isMetered: Bool = false, portalAPI: String? = nil
  ) {
    self.portalAPI = portalAPI
    self.link = link
    self.address = address
    self.dns = dns
    self.isMetered = isMetered
  }
}

/// What systemd-networkd keeps about a link under `/run/systemd/netif`.
package struct NetworkdLink: Hashable, Sendable {
  package var isManaged: Bool
  /// It has not finished with the link.
  package var isConfiguring: Bool
  package var dns: LinkDNS
  package var lease: Lease?

  package init(isManaged: Bool = true, isConfiguring: Bool = false, dns: LinkDNS = LinkDNS(), lease: Lease? = nil) {
    self.isManaged = isManaged
    self.isConfiguring = isConfiguring
    self.dns = dns
    self.lease = lease
  }
}

/// What stands at `/etc/resolv.conf`, or stood there before we wrote ours.
package struct ResolvConfReport: Hashable, Sendable {
  package var content: ResolvConf
  /// Who wrote it, as far as its place or its first lines tell.
  package var writer: String?

  package init(_ content: ResolvConf = ResolvConf(), writer: String? = nil) {
    self.content = content
    self.writer = writer
  }

  /// From the file's text; its comments name the writer.
  package init(parsing text: String) {
    let comments = text.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("#") }
    let writers = [
      ("systemd-resolved", "systemd-resolved"), ("NetworkManager", "NetworkManager"), ("resolvconf", "resolvconf"), ("dhcpcd", "dhcpcd"),
      ("connman", "ConnMan"),
    ]
    let writer = writers.first { mark, _ in comments.contains { $0.contains(mark) } }?.1
    self.init(ResolvConf(parsing: text), writer: writer)
  }
}

extension ResolvConfReport {
  /// What is left of it without servers that a tunnel brought: where nothing is, it says nothing about the network.
  package func without(_ own: Set<IPAddress>) -> Answer<ResolvConfReport> {
    var words = self
    words.content.nameServers.removeAll(where: own.contains)
    let isAllOurs = words.content.nameServers.isEmpty && !content.nameServers.isEmpty
    return isAllOurs ? .unavailable(reason: "it names only servers that a tunnel brought") : .value(words)
  }
}

/// What the programs of this host say about the network, each as it answered last.
package struct HostReports: Hashable, Sendable {
  /// By interface index.
  package var resolved: Answer<[UInt32: LinkDNS]>
  package var networkManager: Answer<NetworkManagerReport>
  /// By interface index; links that systemd-networkd does not keep are absent.
  package var networkd: [UInt32: NetworkdLink]
  /// By record name: `eth0.dhclient`, `wlan0.inet6` …
  package var resolvconf: [String: ResolvConf]
  package var leases: [Lease]
  package var resolvConf: Answer<ResolvConfReport>
  /// When a source last said what it says, in seconds since 1970.
  package var resolvedAt: Int64?
  package var networkManagerAt: Int64?

  package init(
    resolved: Answer<[UInt32: LinkDNS]> = .unavailable(reason: Self.notAsked),
    networkManager: Answer<NetworkManagerReport> = .unavailable(reason: Self.notAsked), networkd: [UInt32: NetworkdLink] = [:],
    resolvconf: [String: ResolvConf] = [:], leases: [Lease] = [],
    resolvConf: Answer<ResolvConfReport> = .unavailable(reason: Self.notAsked)
  ) {
    self.resolved = resolved
    self.networkManager = networkManager
    self.networkd = networkd
    self.resolvconf = resolvconf
    self.leases = leases
    self.resolvConf = resolvConf
  }

  package static let notAsked = "it was not asked"
}
