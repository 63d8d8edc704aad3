package import NetworkTypes

/// One change to the machine. Its text is the command that an administrator would type, and it knows its inverse.
package enum Step: Hashable, Sendable {
  /// Makes a WireGuard device: in the kernel, or by starting the userspace engine.
  case addWireGuardLink(String, WireGuardEngine)
  /// Makes a TUN device, to which only root and this user may attach a program.
  case addTUNLink(String, user: String)
  /// Makes an XFRM interface, whose packets are those of IPsec states with this identifier.
  case addXFRMLink(String, identifier: UInt32)
  /// Makes a dummy link, for refused names.
  case addDummyLink(String)
  /// Marks the link as ours, with the tunnel's name.
  case setAlias(link: String, alias: String)
  /// Sets the device's key, port, mark and peers, all of them.
  case configureWireGuard(link: String, WireGuardDevice)
  /// Sets the same from scratch, so that every peer gets a new session and has to complete a handshake again.
  case renewSessions(link: String, WireGuardDevice)
  /// Sets the link's MTU in bytes; `was` is the previous value.
  case setMTU(link: String, mtu: UInt32, was: UInt32)
  /// Gives the link an address.
  case addAddress(InterfaceAddress, link: String)
  /// Takes an address from the link.
  case removeAddress(InterfaceAddress, link: String)
  /// Brings the link up.
  case setUp(link: String)
  /// Removes the link, and ends the engine that runs it.
  case deleteLink(String, WireGuardEngine)
  /// Adds a route to a table of ours.
  case addRoute(Route)
  /// Removes a route from a table of ours.
  case removeRoute(Route)
  /// Adds a routing rule.
  case addRule(RoutingRule)
  /// Removes a routing rule.
  case removeRule(RoutingRule)
  /// Replaces our firewall table, in one transaction.
  case replaceFirewall(FirewallTable)
  /// Removes our firewall table.
  case removeFirewall
  /// Saves the existing file, and replaces it with ours.
  case writeResolvConf(ResolvConf)
  /// Restores the saved file.
  case restoreResolvConf
  /// Sets the link's servers in systemd-resolved, and the names that they resolve.
  case setLinkResolver(LinkResolver, link: String)
  /// Reverts the link's settings in systemd-resolved.
  case revertLinkResolver(link: String)
  /// Gives resolvconf(8) the tunnel's record.
  case setRecord(ResolverRecord)
  /// Removes a record of ours, from either resolvconf(8).
  case removeRecord(String)
  /// Starts our own name server, or gives it other settings.
  case setNameServer(NameServerSettings)
  /// Ends our own name server.
  case stopNameServer
  /// Replaces the table that redirects DNS questions to our own name server, in one transaction.
  case setNameCapture(NameCapture)
  /// Removes that table.
  case removeNameCapture
  /// Serves the script of proxies at its address, and gives the address to programs, or does so with another script.
  case setProxies(ProxyPublication)
  /// Takes the address from programs, and serves it no more.
  case removeProxies
}

extension Step {
  /// A part of a step's declaration. Texts and the inverse are made only on request: a plan may have 100,000 routes.
  enum Part {
    case traits, words, undo, object, before
  }

  enum Answer {
    case traits(StepTraits)
    case text(String?)
    case step(Step?)
  }

  /// The declaration of each step. `device`: the link that has to exist. `words`: the command that an administrator would type. `undo`: the
  /// inverse, `nil` if removing the link reverts the step. `object`: the object that the step makes or removes. `before`: the object in the
  /// same place before the step, if its link exists.
  func declaration(_ part: Part) -> Answer {
    func declared(
      _ stage: StepStage, _ executor: StepExecutor, link: String? = nil, device: String? = nil, table: UInt32? = nil,
      takesAway: Bool = false, words: @autoclosure () -> String, undo: @autoclosure () -> Step? = nil,
      object: @autoclosure () -> String? = nil, before: @autoclosure () -> String? = nil
    ) -> Answer {
      switch part {
      case .traits:
        .traits(StepTraits(stage: stage, executor: executor, link: link, device: device, table: table, takesAway: takesAway))
      case .words: .text(words())
      case .undo: .step(undo())
      case .object: .text(object())
      case .before: .text(before())
      }
    }
    switch self {
    case .addWireGuardLink(let link, let engine):
      return declared(
        .links, engine == .kernel ? .kernel : .userspaceEngine, link: link, device: link,
        words: engine == .kernel ? "ip link add dev \(link) type wireguard" : "roamward-wireguard \(link)",
        undo: .deleteLink(link, engine), object: "link \(link) (\(engine == .kernel ? "wireguard" : "wireguard in user space"))")
    case .addTUNLink(let link, let user):
      return declared(
        .links, .kernel, link: link, device: link, words: "ip tuntap add dev \(link) mode tun user \(user)",
        undo: .deleteLink(link, .kernel), object: "link \(link) (tun of \(user))")
    case .addXFRMLink(let link, let identifier):
      return declared(
        .links, .kernel, link: link, device: link, words: "ip link add dev \(link) type xfrm if_id 0x\(String(identifier, radix: 16))",
        undo: .deleteLink(link, .kernel), object: "link \(link) (xfrm)")
    case .addDummyLink(let link):
      return declared(
        .links, .kernel, link: link, device: link, words: "ip link add dev \(link) type dummy",
        undo: .deleteLink(link, .kernel), object: "link \(link) (dummy)")
    case .setAlias(let link, let alias):
      return declared(
        .links, .kernelInBatches, link: link, device: link, words: "ip link set dev \(link) alias \(alias)",
        object: "link \(link) alias \(alias)")
    case .configureWireGuard(let link, let device):
      return declared(
        .settings, device.engine == .kernel ? .kernel : .userspaceEngine, link: link, device: link,
        words: "wg set \(link) \(Self.words(device))", object: "link \(link) wireguard \(Self.words(device))",
        before: "link \(link) wireguard with other settings")
    case .renewSessions(let link, let device):
      return declared(
        .settings, device.engine == .kernel ? .kernel : .userspaceEngine, link: link, device: link,
        words: "wg setconf \(link) \(Self.words(device))", object: "link \(link) wireguard \(Self.words(device))",
        before: "link \(link) wireguard with older sessions")
    case .setMTU(let link, let mtu, let was):
      return declared(
        .settings, .kernelInBatches, link: link, device: link, words: "ip link set dev \(link) mtu \(mtu)",
        undo: was == mtu ? nil : .setMTU(link: link, mtu: was, was: mtu), object: "link \(link) mtu \(mtu)",
        before: "link \(link) mtu \(was)")
    case .addAddress(let address, let link):
      return declared(
        .settings, .kernelInBatches, link: link, device: link, words: Self.words(address, link),
        undo: .removeAddress(address, link: link), object: "address \(address) dev \(link)")
    case .removeAddress(let address, let link):
      return declared(
        .settings, .kernelInBatches, link: link, device: link, takesAway: true,
        words: "ip address del \(address) dev \(link)", undo: .addAddress(address, link: link),
        object: "address \(address) dev \(link)")
    case .setUp(let link):
      return declared(
        .settings, .kernelInBatches, link: link, device: link, words: "ip link set dev \(link) up",
        object: "link \(link) up", before: "link \(link) down")
    case .deleteLink(let link, let engine):
      // An engine ends with its link, but may not remove its socket: it has no rights in that folder.
      return declared(
        .removal, .kernel, link: link, device: link, takesAway: true,
        words: "ip link del dev \(link)" + (engine == .userspace ? "; rm -f /var/run/wireguard/\(link).sock" : ""),
        object: "link \(link)")
    case .addRoute(let route):
      return declared(
        .routes, .kernelInBatches, device: route.link, table: route.table,
        words: Self.words(route), undo: .removeRoute(route),
        object: "route \(route)")
    case .removeRoute(let route):
      // A route that makes room for another is in the same batch.
      return declared(
        .routes, .kernelInBatches, device: route.link, table: route.table, takesAway: true,
        words: "ip \(Self.family(route.destination.family))route del \(route)", undo: .addRoute(route),
        object: "route \(route)")
    case .addRule(let rule):
      return declared(
        .rules, .kernelInBatches, table: rule.table, words: "ip \(Self.family(rule.family))rule add \(rule)",
        undo: .removeRule(rule), object: "\(Self.family(rule.family))rule \(rule)")
    case .removeRule(let rule):
      return declared(
        .removal, .kernelInBatches, table: rule.table, takesAway: true,
        words: "ip \(Self.family(rule.family))rule del \(rule)", undo: .addRule(rule),
        object: "\(Self.family(rule.family))rule \(rule)")
    case .replaceFirewall(let table):
      return declared(
        .firewall, .firewall, words: "nft table \(FirewallTable.name): \(table)", undo: .removeFirewall,
        object: "table \(FirewallTable.name): \(table)")
    case .removeFirewall:
      return declared(
        .removal, .firewall, takesAway: true,
        // Before nftables 1.0.7 nothing removes a table that may be absent, as the one for ARP is without neighbours.
        words: "nft delete table \(FirewallTable.name); nft add table \(FirewallTable.neighbourName); "
          + "nft delete table \(FirewallTable.neighbourName)",
        object: "table \(FirewallTable.name)")
    case .writeResolvConf(let file):
      return declared(
        .resolver, .resolverFile,
        words: "resolv.conf: "
          + (file.nameServers.map { "nameserver \($0)" } + file.searchDomains.map { "search \($0)" }).joined(separator: ", "),
        undo: .restoreResolvConf)
    case .restoreResolvConf:
      return declared(
        .removal, .resolverFile, takesAway: true, words: "resolv.conf: put back the file that stood there")
    case .setLinkResolver(let resolver, let link):
      return declared(
        .resolver, .resolverProgram, words: Self.words(resolver, link), undo: .revertLinkResolver(link: link))
    case .revertLinkResolver(let link):
      return declared(.removal, .resolverProgram, takesAway: true, words: "resolvectl revert \(link)")
    case .setRecord(let record):
      return declared(
        .resolver, .resolverProgram,
        words: "resolvconf -a \(record.name)\(record.program == .openresolv ? " -m 0 -x" : ""): "
          + record.text.split(separator: "\n").joined(separator: ", "), undo: .removeRecord(record.name))
    case .removeRecord(let name):
      return declared(.removal, .resolverProgram, takesAway: true, words: "resolvconf -d \(name)")
    case .setNameServer(let settings):
      return declared(
        .resolver, .resolverProgram, words: "roamward-names at \(settings.listensAt): \(settings)", undo: .stopNameServer)
    case .stopNameServer:
      return declared(.removal, .resolverProgram, takesAway: true, words: "roamward-names: end")
    case .setNameCapture(let capture):
      return declared(
        .resolver, .firewall, words: "nft table \(NameCapture.name): \(capture)", undo: .removeNameCapture,
        object: "table \(NameCapture.name): \(capture)")
    case .removeNameCapture:
      return declared(
        .removal, .firewall, takesAway: true, words: "nft delete table \(NameCapture.name)", object: "table \(NameCapture.name)")
    case .setProxies(let publication):
      return declared(.proxies, .proxies, words: "roamward-proxy at \(ProxyPublication.url): \(publication)", undo: .removeProxies)
    case .removeProxies:
      return declared(.removal, .proxies, takesAway: true, words: "roamward-proxy: end, with the files that name its address")
    }
  }

  /// Our addresses bring no route of their own. Nothing else has an IPv6 address that a tunnel's server assigned.
  private static func words(_ address: InterfaceAddress, _ link: String) -> String {
    "ip address add \(address) dev \(link) noprefixroute" + (address.address.family == .v6 ? " nodad" : "")
  }

  /// A throw route has the scope of the routes that it exempts: the kernel passes over others where it looks for a gateway.
  private static func words(_ route: Route) -> String {
    let family = route.destination.family
    return "ip \(Self.family(family))route add \(route)" + (route.kind == .throw && family == .v4 ? " scope link" : "")
  }

  private static func family(_ family: IPAddress.Family) -> String { family == .v6 ? "-6 " : "" }

  /// The device as wg(8) takes it, without the keys: public keys identify people.
  private static func words(_ device: WireGuardDevice) -> String {
    var words = ["private-key (hidden)"]
    if let port = device.listenPort { words.append("listen-port \(port)") }
    words.append("fwmark 0x\(String(device.firewallMark, radix: 16))")
    for peer in device.peers {
      words.append("peer (hidden)")
      if let endpoint = peer.endpoint { words.append("endpoint \(endpoint)") }
      if peer.persistentKeepalive != 0 { words.append("persistent-keepalive \(peer.persistentKeepalive)") }
      words.append("allowed-ips \(peer.allowedIPs.map(\.description).joined(separator: ","))")
    }
    return words.joined(separator: " ")
  }

  private static func words(_ resolver: LinkResolver, _ link: String) -> String {
    "resolvectl: dns \(link) \(resolver.servers.map { "\($0)" + (resolver.port.map { ":\($0)" } ?? "") }.joined(separator: " "))"
      + "; domain \(link) \(resolver.domains.isEmpty ? "\"\"" : resolver.domains.map(\.description).joined(separator: " "))"
      + "; default-route \(link) \(resolver.isDefaultRoute ? "yes" : "no")"
      + (resolver.dnssec.map { "; dnssec \(link) \($0.rawValue)" } ?? "")
  }
}
