public import NetworkTypes

/// The settings that the agent shall make for a tunnel: Network Extension's `NEPacketTunnelNetworkSettings`.
///
/// The agent applies what the tunnel's policy allows, and reports the rest (`RefusedSetting`).
public struct TunnelSettings: Hashable, Sendable {
  /// The server's address outside of the tunnel, for the exemption from its routes. `nil`: unknown, or several.
  public var remoteAddress: IPAddress?
  /// Addresses of the tunnel's link, 16 at most.
  public var addresses: [InterfaceAddress]
  /// Destinations that go into the tunnel, 1,024 at most.
  public var includedRoutes: [IPPrefix]
  /// Destinations that stay outside, 1,024 at most.
  public var excludedRoutes: [IPPrefix]
  /// The largest packet in bytes: 576 to 65,535, and at least 1,280 if the link has an IPv6 address. `nil`: by the underlay and `overhead`.
  public var mtu: Int?
  /// Bytes that the tunnel adds to each packet, 0 to 512. It counts if `mtu` is `nil`.
  public var overhead: Int?
  /// Name servers inside the tunnel. `nil`: it has none.
  public var dns: DNSSettings?
  /// Proxies for programs while the tunnel is up. `nil`: none.
  public var proxies: ProxySettings?

  public init(
    remoteAddress: IPAddress? = nil, addresses: [InterfaceAddress] = [], includedRoutes: [IPPrefix] = [], excludedRoutes: [IPPrefix] = [],
    mtu: Int? = nil, overhead: Int? = nil, dns: DNSSettings? = nil, proxies: ProxySettings? = nil
  ) {
    self.remoteAddress = remoteAddress
    self.addresses = addresses
    self.includedRoutes = includedRoutes
    self.excludedRoutes = excludedRoutes
    self.mtu = mtu
    self.overhead = overhead
    self.dns = dns
    self.proxies = proxies
  }
}

/// Name servers of a tunnel: Network Extension's `NEDNSSettings`.
public struct DNSSettings: Hashable, Sendable {
  /// 1 to 16 addresses, in the order of preference.
  public var servers: [IPAddress]
  /// Domains that complete a name without dots, 128 at most.
  public var searchDomains: [DomainName]
  /// Domains whose names these servers resolve, 128 at most. Empty: all names.
  public var matchDomains: [DomainName]

  public init(servers: [IPAddress], searchDomains: [DomainName] = [], matchDomains: [DomainName] = []) {
    self.servers = servers
    self.searchDomains = searchDomains
    self.matchDomains = matchDomains
  }
}

/// Proxies of a tunnel: Network Extension's `NEProxySettings`.
public struct ProxySettings: Hashable, Sendable {
  /// The URL of a proxy auto-configuration file, `http` or `https`.
  public var autoConfiguration: String?
  /// The proxies for `http` and for `https`.
  public var http: Endpoint?
  public var https: Endpoint?
  /// Domains that are reached without a proxy, 128 at most.
  public var excludedDomains: [DomainName]
  /// Whether names without dots are reached without a proxy.
  public var excludesSimpleNames: Bool

  public init(
    autoConfiguration: String? = nil, http: Endpoint? = nil, https: Endpoint? = nil, excludedDomains: [DomainName] = [],
    excludesSimpleNames: Bool = false
  ) {
    self.autoConfiguration = autoConfiguration
    self.http = http
    self.https = https
    self.excludedDomains = excludedDomains
    self.excludesSimpleNames = excludesSimpleNames
  }
}

/// A part of the settings that the agent did not apply.
public struct RefusedSetting: Hashable, Sendable {
  /// The member of the settings, as in the message: `included-routes`.
  public var setting: Word
  /// The refused value; empty: the whole setting.
  public var value: String
  /// The reason: a stable code, such as `policy`.
  public var code: Word

  public init(setting: Word, value: String, code: Word) {
    self.setting = setting
    self.value = value
    self.code = code
  }
}
