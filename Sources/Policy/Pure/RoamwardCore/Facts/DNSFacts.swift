import KernelModel
package import NetworkTypes

/// The properties of a link that sources of DNS facts need.
package struct LinkInQuestion: Equatable, Sendable {
  package var name: String
  package var index: UInt32
  package var hardwareAddress: MACAddress?
  package var addresses: [IPAddress]
  /// Whether resolv.conf may describe this link.
  package var isPrimary: Bool
  /// The names of all links, to distinguish the records `eth0.10` and `eth0`.
  package var names: Set<String>

  package init(
    name: String, index: UInt32, hardwareAddress: MACAddress? = nil, addresses: [IPAddress] = [], isPrimary: Bool = true,
    names: Set<String> = []
  ) {
    self.name = name
    self.index = index
    self.hardwareAddress = hardwareAddress
    self.addresses = addresses
    self.isPrimary = isPrimary
    self.names = names
  }
}

extension HostReports {
  /// The name servers that the network announced to this link. systemd-resolved comes first, because it has the servers in use. Then come
  /// the programs that configure links, the records that they leave, and resolv.conf, which names no link.
  package func servers(of link: LinkInQuestion, at now: Int64?) -> Traced<[IPAddress]> {
    let order = [
      resolvedTestimony(link), networkManagerTestimony(link), networkdTestimony(link, now), recordTestimony(link, now),
      leaseTestimony(link, now), resolvConfTestimony(link, now),
    ]
    return selectFact(
      from:
        order.map { $0.map(\.servers) }, unknown: noSource("name servers", of: link), isConclusive: { !$0.isEmpty },
      text: { $0.isEmpty ? "no servers" : $0.map(\.description).joined(separator: ", ") })
  }

  /// The link's domain and search list. The programs that configure links come first. They write only the search list to systemd-resolved
  /// and into files, if there is one, and leave out the connection's own domain.
  package func domains(of link: LinkInQuestion, at now: Int64?) -> Traced<[DomainName]> {
    let order = [
      networkManagerTestimony(link), networkdTestimony(link, now), resolvedTestimony(link), recordTestimony(link, now),
      leaseTestimony(link, now), resolvConfTestimony(link, now),
    ]
    return selectFact(
      from:
        order.map { $0.map(\.domains) }, unknown: noSource("domains", of: link), isConclusive: { !$0.isEmpty },
      text: { $0.isEmpty ? "no domains" : $0.map(\.text).joined(separator: ", ") })
  }

  private func noSource(_ what: String, of link: LinkInQuestion) -> String {
    let files = link.isPrimary ? "" : "; resolv.conf speaks for the primary link alone"
    return "nothing on this host knows the \(what) of \(link.name)\(files) (cure: let systemd-resolved or NetworkManager manage it)"
  }

  // MARK: The sources

  private func resolvedTestimony(_ link: LinkInQuestion) -> SourceReading<LinkDNS> {
    let answer = resolved.flatMap { links -> Answer<LinkDNS> in
      links[link.index].map { .value($0) } ?? .unavailable(reason: "it has no servers and no domains for \(link.name)")
    }
    var remark: String?
    if case .value(let dns) = answer, !dns.routingDomains.isEmpty {
      remark = "\(dns.routingDomains.map { "~\($0)" }.joined(separator: ", ")) only route and do not count"
    }
    return SourceReading("systemd-resolved", answer, remark: remark, confirmed: resolvedAt)
  }

  private func networkManagerTestimony(_ link: LinkInQuestion) -> SourceReading<LinkDNS> {
    let answer = device(of: link).flatMap { device -> Answer<LinkDNS> in
      // A link may have its address and route a moment before its servers: an empty list is not final yet.
      device.state == .configuring && device.dns == LinkDNS()
        ? .pending(reason: "it is still configuring \(link.name)") : .value(device.dns)
    }
    return SourceReading("NetworkManager", answer, confirmed: networkManagerAt)
  }

  /// The device that configures the link. A device of the same name elsewhere (in another network namespace) has another hardware address.
  func device(of link: LinkInQuestion) -> Answer<ManagedDevice> {
    networkManager.flatMap { words in
      guard let device = words.devices[link.name] else { return .unavailable(reason: "it does not know \(link.name)") }
      if let own = link.hardwareAddress, let its = device.address, own != its {
        return .unavailable(reason: "its \(link.name) has the hardware address \(its), not \(own)")
      }
      return device.state == .inactive ? .unavailable(reason: "it does not manage \(link.name)") : .value(device)
    }
  }

  private func networkdTestimony(_ link: LinkInQuestion, _ now: Int64?) -> SourceReading<LinkDNS> {
    let source = "systemd-networkd"
    guard let kept = networkd[link.index] else {
      return SourceReading(source, .unavailable(reason: "no /run/systemd/netif/links/\(link.index)"))
    }
    guard kept.isManaged else { return SourceReading(source, .unavailable(reason: "it does not manage \(link.name)")) }
    var dns = kept.dns
    if let lease = kept.lease {
      if let address = lease.address, !link.addresses.contains(address) {
        return SourceReading(source, .unavailable(reason: "its lease is for \(address), which \(link.name) does not have"))
      }
      if dns.servers.isEmpty { dns.servers = lease.dns.servers }
      dns.domains = (dns.domains + lease.dns.domains).uniqued()
    }
    if kept.isConfiguring, dns == LinkDNS() {
      return SourceReading(source, .pending(reason: "it is still configuring \(link.name)"))
    }
    return SourceReading(source, .value(dns), remark: kept.lease == nil ? nil : "with its DHCP lease", confirmed: now)
  }

  /// The records of resolvconf(8), Debian's or openresolv's: `eth0`, `eth0.dhclient`, `eth0.inet6` … all belong to eth0, unless there is a
  /// link eth0.inet6.
  private func recordTestimony(_ link: LinkInQuestion, _ now: Int64?) -> SourceReading<LinkDNS> {
    func owner(_ record: String) -> String? {
      var name = record[...]
      while !link.names.union([link.name]).contains(String(name)) {
        guard let dot = name.lastIndex(of: ".") else { return nil }
        name = name[..<dot]
      }
      return String(name)
    }
    let records = resolvconf.filter { owner($0.key) == link.name }.sorted { $0.key < $1.key }
    guard !records.isEmpty else {
      let reason = resolvconf.isEmpty ? "it has no records here" : "it has no record of \(link.name)"
      return SourceReading("resolvconf", .unavailable(reason: reason))
    }
    let dns = LinkDNS(
      servers: records.flatMap(\.value.nameServers).uniqued(), domains: records.flatMap(\.value.searchDomains).uniqued())
    return SourceReading(
      "resolvconf", .value(dns), remark: "its \(records.map(\.key).joined(separator: ", "))", confirmed: now)
  }

  private func leaseTestimony(_ link: LinkInQuestion, _ now: Int64?) -> SourceReading<LinkDNS> {
    guard let lease = lease(of: link) else {
      let reason =
        leases.contains { $0.link == link.name } ? "its lease is not for an address that \(link.name) has" : "it has no lease here"
      return SourceReading("dhclient", .unavailable(reason: reason))
    }
    return SourceReading("dhclient", .value(lease.dns), remark: "its lease for \(lease.address.map(\.description) ?? "?")", confirmed: now)
  }

  /// The newest lease for an address of the link.
  func lease(of link: LinkInQuestion) -> Lease? {
    leases.last { $0.link == link.name && ($0.address.map(link.addresses.contains) ?? false) }
  }

  private func resolvConfTestimony(_ link: LinkInQuestion, _ now: Int64?) -> SourceReading<LinkDNS> {
    guard link.isPrimary else { return SourceReading("resolv.conf", .unavailable(reason: "it speaks for the primary link alone")) }
    let answer = resolvConf.flatMap { words -> Answer<LinkDNS> in
      let stubs = words.content.nameServers.filter(Self.isStub)
      if !stubs.isEmpty, stubs.count == words.content.nameServers.count {
        return .unavailable(reason: "it names only \(stubs[0]), the stub of systemd-resolved")
      }
      let servers = words.content.nameServers.filter { !Self.isStub($0) }
      return .value(LinkDNS(servers: servers, domains: words.content.searchDomains))
    }
    var remark: String?
    if case .value(let words) = resolvConf, let writer = words.writer {
      remark = writer == "systemd-resolved" ? "systemd-resolved's, of all links together" : "\(writer)'s"
    }
    return SourceReading("resolv.conf", answer, remark: remark, confirmed: now)
  }

  /// Whether the address is 127.0.0.53 or 127.0.0.54, where systemd-resolved itself answers.
  private static func isStub(_ address: IPAddress) -> Bool { ["127.0.0.53", "127.0.0.54"].contains(address.description) }
}
