package import KernelModel
package import NetworkTypes

/// Name servers and domains of one link, as one source reports them.
package struct LinkDNS: Hashable, Sendable {
  package var servers: [IPAddress]
  /// The connection's domain and search list.
  package var domains: [DomainName]
  /// Domains that only route queries to the link's servers (`~corp.example` of resolved.conf(5)), and are not in the search list.
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
  /// The state, from `NMDeviceState`: 40 (preparing) to 99, and 100 (activated).
  package enum State: Equatable, Sendable {
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

/// The report of NetworkManager.
package struct NetworkManagerReport: Hashable, Sendable {
  /// Devices, by the names of the links that carry addresses.
  package var devices: [String: ManagedDevice]
  /// Whether NetworkManager checks connectivity. Without the check it reports every connection as full.
  package var checksConnectivity: Bool

  package init(devices: [String: ManagedDevice] = [:], checksConnectivity: Bool = true) {
    self.devices = devices
    self.checksConnectivity = checksConnectivity
  }
}

/// A DHCP lease as a client stores it on disk.
package struct Lease: Equatable, Sendable {
  package var link: String?
  package var address: IPAddress?
  package var dns: LinkDNS
  /// Whether DHCP option 43 contains `ANDROID_METERED`, as phones that share a paid connection send it.
  package var isMetered: Bool
  /// The URL (https) of the network's captive portal API (DHCP option 114, RFC 8910).
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

/// The state of a link in systemd-networkd, from `/run/systemd/netif`.
package struct NetworkdLink: Equatable, Sendable {
  package var isManaged: Bool
  /// Whether systemd-networkd is still configuring the link.
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

/// The content of `/etc/resolv.conf`, or its content before we wrote ours.
package struct ResolvConfReport: Hashable, Sendable {
  package var content: ResolvConf
  /// The program that wrote the file, as far as its path or its first lines tell.
  package var writer: String?

  package init(_ content: ResolvConf = ResolvConf(), writer: String? = nil) {
    self.content = content
    self.writer = writer
  }

  /// Parses the file's text; its comments name the writer.
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
  /// The report without servers that a tunnel brought; unavailable if none remain, because it then says nothing about the network.
  package func without(_ own: Set<IPAddress>) -> Answer<ResolvConfReport> {
    var words = self
    words.content.nameServers.removeAll(where: own.contains)
    let isAllOurs = words.content.nameServers.isEmpty && !content.nameServers.isEmpty
    return isAllOurs ? .unavailable(reason: "it names only servers that a tunnel brought") : .value(words)
  }
}

/// The latest reports of this host's programs on the network.
package struct HostReports: Equatable, Sendable {
  /// The reports of systemd-resolved, by interface index.
  package var resolved: Answer<[UInt32: LinkDNS]>
  package var networkManager: Answer<NetworkManagerReport>
  /// The reports of systemd-networkd, by interface index; links that it does not manage are absent.
  package var networkd: [UInt32: NetworkdLink]
  /// The records of resolvconf(8), by record name: `eth0.dhclient`, `wlan0.inet6` …
  package var resolvconf: [String: ResolvConf]
  package var leases: [Lease]
  package var resolvConf: Answer<ResolvConfReport>
  /// When each source last reported, in seconds since 1970.
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
