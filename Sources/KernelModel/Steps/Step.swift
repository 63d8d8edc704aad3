package import NetworkTypes

/// One change to the machine. Reads like the command an administrator would type, and knows how to take itself back.
package enum Step: Hashable, Sendable {
  /// Makes a WireGuard device: of the kernel, or by starting the userspace engine.
  case addWireGuardLink(String, WireGuardEngine)
  /// Makes a link that leads nowhere, for names that are refused.
  case addDummyLink(String)
  /// Marks the link as ours, with the tunnel's name.
  case setAlias(link: String, alias: String)
  /// Sets the device's key, port, mark and peers, all of them.
  case configureWireGuard(link: String, WireGuardDevice)
  /// Sets the same from nothing, so that every peer gets a new session and has to answer once more.
  case renewSessions(link: String, WireGuardDevice)
  /// Sets the link's MTU in bytes; `was` takes it back.
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
  /// Puts our table of the firewall in the place of whatever there is of it, in one transaction.
  case replaceFirewall(FirewallTable)
  /// Removes our table of the firewall.
  case removeFirewall
  /// Keeps the file that stands there, and puts ours in its place.
  case writeResolvConf(ResolvConf)
  /// Puts the kept file back.
  case restoreResolvConf
  /// Tells systemd-resolved what the link's servers are, and which names they answer for.
  case setLinkResolver(LinkResolver, link: String)
  /// Reverts the link's settings in systemd-resolved.
  case revertLinkResolver(link: String)
  /// Gives resolvconf(8) the tunnel's record.
  case setRecord(ResolverRecord)
  /// Takes a record of ours back, whichever resolvconf(8) has it.
  case removeRecord(String)

  /// What takes the step back; `nil` where removing the link does.
  package var undo: Step? {
    switch self {
    case .addWireGuardLink(let link, let engine): .deleteLink(link, engine)
    case .addDummyLink(let link): .deleteLink(link, .kernel)
    case .setAlias, .configureWireGuard, .renewSessions, .setUp, .deleteLink, .restoreResolvConf, .removeFirewall, .revertLinkResolver,
      .removeRecord:
      nil
    case .setMTU(let link, let mtu, let was): was == mtu ? nil : .setMTU(link: link, mtu: was, was: mtu)
    case .addAddress(let address, let link): .removeAddress(address, link: link)
    case .removeAddress(let address, let link): .addAddress(address, link: link)
    case .addRoute(let route): .removeRoute(route)
    case .removeRoute(let route): .addRoute(route)
    case .addRule(let rule): .removeRule(rule)
    case .removeRule(let rule): .addRule(rule)
    case .writeResolvConf: .restoreResolvConf
    case .replaceFirewall: .removeFirewall
    case .setLinkResolver(_, let link): .revertLinkResolver(link: link)
    case .setRecord(let record): .removeRecord(record.name)
    }
  }
}

extension Step: CustomStringConvertible {
  package var description: String {
    switch self {
    case .addWireGuardLink(let link, .kernel): "ip link add dev \(link) type wireguard"
    case .addWireGuardLink(let link, .userspace): "roamward-wireguard \(link)"
    case .addDummyLink(let link): "ip link add dev \(link) type dummy"
    case .setAlias(let link, let alias): "ip link set dev \(link) alias \(alias)"
    case .configureWireGuard(let link, let device): "wg set \(link) \(Self.words(device))"
    case .renewSessions(let link, let device): "wg setconf \(link) \(Self.words(device))"
    case .setMTU(let link, let mtu, _): "ip link set dev \(link) mtu \(mtu)"
    case .addAddress(let address, let link): "ip address add \(address) dev \(link)"
    case .removeAddress(let address, let link): "ip address del \(address) dev \(link)"
    case .setUp(let link): "ip link set dev \(link) up"
    case .deleteLink(let link, _): "ip link del dev \(link)"
    case .addRoute(let route): "ip \(Self.family(route.destination.family))route add \(route)"
    case .removeRoute(let route): "ip \(Self.family(route.destination.family))route del \(route)"
    case .addRule(let rule): "ip \(Self.family(rule.family))rule add \(rule)"
    case .removeRule(let rule): "ip \(Self.family(rule.family))rule del \(rule)"
    case .writeResolvConf(let file):
      "resolv.conf: " + (file.nameServers.map { "nameserver \($0)" } + file.searchDomains.map { "search \($0)" }).joined(separator: ", ")
    case .replaceFirewall(let table): "nft table \(FirewallTable.name): \(table)"
    case .removeFirewall: "nft delete table \(FirewallTable.name)"
    case .restoreResolvConf: "resolv.conf: put back the file that stood there"
    case .setLinkResolver(let resolver, let link):
      "resolvectl: dns \(link) \(resolver.servers.map { "\($0)" + (resolver.port.map { ":\($0)" } ?? "") }.joined(separator: " "))"
        + "; domain \(link) \(resolver.domains.isEmpty ? "\"\"" : resolver.domains.map(\.description).joined(separator: " "))"
        + "; default-route \(link) \(resolver.isDefaultRoute ? "yes" : "no")"
    case .revertLinkResolver(let link): "resolvectl revert \(link)"
    case .setRecord(let record):
      "resolvconf -a \(record.name)\(record.program == .openresolv ? " -m 0 -x" : ""): "
        + record.text.split(separator: "\n").joined(separator: ", ")
    case .removeRecord(let name): "resolvconf -d \(name)"
    }
  }

  private static func family(_ family: IPAddress.Family) -> String { family == .v6 ? "-6 " : "" }

  /// As wg(8) takes it, with the keys left out: public keys identify people.
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
}
