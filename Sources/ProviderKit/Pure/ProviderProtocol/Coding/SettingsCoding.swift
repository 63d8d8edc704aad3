internal import JSON
internal import NetworkTypes

extension TunnelSettings {
  /// Bytes of the smallest packet that a link has to carry (RFC 791; RFC 8200 section 5).
  private static let smallestMTU = (v4: 576, v6: 1280)

  var members: [JSON.Member] {
    [
      .init(key: "remote-address", value: JSON(text: remoteAddress)), .init(key: "addresses", value: JSON(list: addresses)),
      .init(key: "included-routes", value: JSON(list: includedRoutes)), .init(key: "excluded-routes", value: JSON(list: excludedRoutes)),
      .init(key: "mtu", value: JSON(mtu)), .init(key: "overhead", value: JSON(overhead)), .init(key: "dns", value: dns?.json ?? .null),
      .init(key: "proxies", value: proxies?.json ?? .null),
    ]
  }

  init(_ members: inout MemberReader) throws(MessageError) {
    self.init(
      remoteAddress: try members.optional("remote-address", address),
      addresses: try members.take("addresses", list(atMost: ProtocolLimits.addresses, interfaceAddress)),
      includedRoutes: try members.take("included-routes", list(atMost: ProtocolLimits.routes, prefix)),
      excludedRoutes: try members.take("excluded-routes", list(atMost: ProtocolLimits.routes, prefix)),
      mtu: try members.optional("mtu", whole(Self.smallestMTU.v4...ProtocolLimits.packet)),
      overhead: try members.optional("overhead", whole(0...512)), dns: try members.optional("dns", DNSSettings.read),
      proxies: try members.optional("proxies", ProxySettings.read))
    if let mtu, mtu < Self.smallestMTU.v6, addresses.contains(where: { $0.address.family == .v6 }) {
      throw .invalid(member: "mtu", expected: "at least \(Self.smallestMTU.v6), because the link has an IPv6 address")
    }
  }
}

extension DNSSettings {
  var json: JSON {
    [
      "servers": JSON(list: servers), "search-domains": JSON(list: searchDomains), "match-domains": JSON(list: matchDomains),
    ]
  }

  static func read(_ json: JSON, _ path: String) throws(MessageError) -> DNSSettings {
    var members = try MemberReader(json, at: path)
    let value = DNSSettings(
      servers: try members.take("servers", list(atMost: ProtocolLimits.servers, address)),
      searchDomains: try members.take("search-domains", list(atMost: ProtocolLimits.domains, domain)),
      matchDomains: try members.take("match-domains", list(atMost: ProtocolLimits.domains, domain)))
    try members.finish()
    guard !value.servers.isEmpty else { throw .invalid(member: "\(path).servers", expected: "at least one address") }
    return value
  }
}

extension ProxySettings {
  var json: JSON {
    [
      "auto-configuration": JSON(text: autoConfiguration), "http": JSON(text: http), "https": JSON(text: https),
      "excluded-domains": JSON(list: excludedDomains), "excludes-simple-names": .bool(excludesSimpleNames),
    ]
  }

  static func read(_ json: JSON, _ path: String) throws(MessageError) -> ProxySettings {
    var members = try MemberReader(json, at: path)
    let value = ProxySettings(
      autoConfiguration: try members.optional("auto-configuration", webAddress), http: try members.optional("http", endpoint),
      https: try members.optional("https", endpoint),
      excludedDomains: try members.take("excluded-domains", list(atMost: ProtocolLimits.domains, domain)),
      excludesSimpleNames: try members.take("excludes-simple-names", flag))
    try members.finish()
    return value
  }
}
