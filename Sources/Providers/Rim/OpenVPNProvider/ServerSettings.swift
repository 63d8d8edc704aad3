internal import NetworkTypes
package import ProviderProtocol

/// The settings that a server has sent, from the lines of `management-up-down` and from the log's line with the whole PUSH_REPLY.
///
/// A server may send anything: invalid values are left out, and listed.
package struct ServerSettings: Equatable, Sendable {
  package private(set) var settings = TunnelSettings()
  /// The options that could not be read: `route 10.0.0.0 255.0.0.1`.
  package private(set) var unreadable: [String] = []
  /// Seconds between two pings that the server promises; `nil`: none.
  package private(set) var pings: Int?
  private var values: [String: String] = [:]

  /// Lines that a server can make it keep: more are left out.
  private static let longest = 4096

  package init(_ values: [(name: String, value: String)], pushReply: String = "") {
    for (name, value) in values.prefix(Self.longest) { self.values[name] = value }
    takeAddresses()
    takeRoutes()
    takeNames(Self.options(in: pushReply))
    if let mtu = self.values["tun_mtu"].flatMap({ Int($0) }), (576...65_535).contains(mtu) { settings.mtu = mtu }
    if settings.mtu.map({ $0 < 1280 }) ?? false, settings.addresses.contains(where: { $0.address.family == .v6 }) { settings.mtu = 1280 }
    let remote = self.values["trusted_ip"] ?? self.values["trusted_ip6"]
    settings.remoteAddress = remote.flatMap { IPAddress($0) }
    takeEverything(Self.options(in: pushReply))
    takePings(Self.options(in: pushReply))
  }

  /// `keepalive` of a server: it pings too, and pushes both.
  private mutating func takePings(_ options: [[Substring]]) {
    func seconds(_ name: String) -> Int? { options.last { $0.count == 2 && $0[0] == name }.flatMap { Int($0[1]) } }
    guard seconds("ping-restart") != nil, let interval = seconds("ping"), (1...3600).contains(interval) else { return }
    pings = interval
  }

  private mutating func takeAddresses() {
    if let local = values["ifconfig_local"] {
      let length = values["ifconfig_netmask"].map(Self.prefixLength) ?? 32
      if let length, let address = InterfaceAddress("\(local)/\(length)") {
        settings.addresses.append(address)
      } else {
        unreadable.append("ifconfig \(local) \(values["ifconfig_netmask"] ?? "")")
      }
    }
    if let local = values["ifconfig_ipv6_local"] {
      if let address = InterfaceAddress("\(local)/\(values["ifconfig_ipv6_netbits"] ?? "128")") {
        settings.addresses.append(address)
      } else {
        unreadable.append("ifconfig-ipv6 \(local)")
      }
    }
    // The other end of the link, and its neighbours, are inside.
    for address in settings.addresses where !address.onLinkPrefix.isHost { settings.includedRoutes.append(address.onLinkPrefix) }
    if let peer = values["ifconfig_remote"].flatMap({ IPAddress($0) }) { settings.includedRoutes.append(.host(peer)) }
  }

  private mutating func takeRoutes() {
    for i in 1...1024 {
      guard let network = values["route_network_\(i)"] else { break }
      let mask = values["route_netmask_\(i)"] ?? "255.255.255.255"
      let isOutside = values["route_gateway_\(i)"].map { $0 == values["route_net_gateway"] } ?? false
      guard let length = Self.prefixLength(mask), let prefix = IPPrefix("\(network)/\(length)") else {
        unreadable.append("route \(network) \(mask)")
        continue
      }
      if isOutside { settings.excludedRoutes.append(prefix) } else { settings.includedRoutes.append(prefix) }
    }
    for i in 1...1024 {
      guard let network = values["route_ipv6_network_\(i)"] else { break }
      guard let prefix = IPPrefix(network) else {
        unreadable.append("route-ipv6 \(network)")
        continue
      }
      settings.includedRoutes.append(prefix)
    }
  }

  private mutating func takeNames(_ pushed: [[Substring]]) {
    var (servers, search, matched): ([IPAddress], [DomainName], [DomainName]) = ([], [], [])
    // 2.6 sets both forms; the newer one comes first.
    for server in 0...8 {
      for i in 1...8 {
        if let text = values["dns_server_\(server)_address_\(i)"], let address = Self.address(text) { servers.append(address) }
      }
      for i in 1...128 {
        if let domain = values["dns_server_\(server)_resolve_domain_\(i)"].flatMap({ DomainName($0) }) { matched.append(domain) }
      }
    }
    for i in 1...128 { if let domain = values["dns_search_domain_\(i)"].flatMap({ DomainName($0) }) { search.append(domain) } }
    for i in 1...256 {
      guard let option = values["foreign_option_\(i)"] else { break }
      let words = option.split(separator: " ")
      guard words.count >= 3, words[0] == "dhcp-option" else { continue }
      switch words[1] {
      case "DNS", "DNS6": if let address = IPAddress(String(words[2])) { servers.append(address) } else { unreadable.append(option) }
      case "DOMAIN", "DOMAIN-SEARCH", "ADAPTER_DOMAIN_SUFFIX":
        if let domain = DomainName(String(words[2])) { search.append(domain) } else { unreadable.append(option) }
      case "DOMAIN-ROUTE": if let domain = DomainName(String(words[2])) { matched.append(domain) } else { unreadable.append(option) }
      default: break
      }
    }
    guard !servers.isEmpty else { return }
    settings.dns = DNSSettings(
      servers: Array(servers.uniqued().prefix(16)), searchDomains: Array(search.uniqued().prefix(128)),
      matchDomains: Array(matched.uniqued().prefix(128)))
  }

  /// `redirect-gateway` is in no variable: the log's line alone has it. The file's own one has `redirect_gateway`.
  private mutating func takeEverything(_ pushed: [[Substring]]) {
    var families: Set<IPAddress.Family> = values["redirect_gateway"] == "1" ? [.v4] : []
    for words in pushed where words.first == "redirect-gateway" {
      if !words.contains("!ipv4") { families.insert(.v4) }
      if words.contains("ipv6") { families.insert(.v6) }
    }
    settings.includedRoutes += families.sorted().map { .everything($0) }
    settings.includedRoutes = Array(settings.includedRoutes.uniqued().prefix(1024))
    settings.excludedRoutes = Array(settings.excludedRoutes.uniqued().prefix(1024))
  }

  /// The options of a log line `PUSH: Received control message: 'PUSH_REPLY,redirect-gateway def1,…'`.
  private static func options(in line: String) -> [[Substring]] {
    guard let start = line.firstRange(of: "PUSH_REPLY") else { return [] }
    return line[start.upperBound...].split(whereSeparator: { $0 == "," || $0 == "'" }).map { $0.split(separator: " ") }
  }

  /// An address, or `ADDRESS:PORT` and `[ADDRESS]:PORT` without its port.
  private static func address(_ text: String) -> IPAddress? {
    if let address = IPAddress(text) { return address }
    if case .address(let address)? = Endpoint(text)?.host { return address }
    return nil
  }

  /// The length of a netmask; `nil` if its bits have a gap.
  private static func prefixLength(_ mask: String) -> Int? {
    guard let bytes = IPAddress(mask)?.bytes, bytes.count == 4 else { return nil }
    let bits = bytes.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    let length = (~bits).leadingZeroBitCount
    return length == 32 || bits == ~UInt32(0) << UInt32(32 - length) ? length : nil
  }
}

extension IPPrefix {
  fileprivate var isHost: Bool { length == (family == .v4 ? 32 : 128) }
}
