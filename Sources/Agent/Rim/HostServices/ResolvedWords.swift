internal import LinuxIO
internal import NetworkTypes
package import RoamwardCore
package import SystemdIO

/// systemd-resolved's settings of each link (org.freedesktop.resolve1(5)): `DNS` is a(iiay), `Domains` a(isb), both with interface indexes.
/// Index 0 is the configuration of the whole host. `nil` if the properties do not have these types.
package func resolvedLinks(_ properties: BusValue) -> [UInt32: LinkDNS]? {
  guard let servers = properties["DNS"]?.list, let domains = properties["Domains"]?.list else { return nil }
  var links: [UInt32: LinkDNS] = [:]
  for server in servers {
    guard let index = server[0]?.unsigned, index > 0, let link = UInt32(exactly: index),
      let address = server[2]?.bytes.flatMap(IPAddress.init(networkBytes:))
    else { continue }
    links[link, default: LinkDNS()].servers.append(address)
  }
  for domain in domains {
    guard let index = domain[0]?.unsigned, index > 0, let link = UInt32(exactly: index), let isRouting = domain[2]?.bool,
      // The root matches every name, and is no search domain.
      let name = domain[1]?.text.flatMap(DomainName.init)
    else { continue }
    if isRouting {
      links[link, default: LinkDNS()].routingDomains.append(name)
    } else {
      links[link, default: LinkDNS()].domains.append(name)
    }
  }
  return links
}

extension IPAddress {
  /// 4 or 16 bytes in network order.
  init?(networkBytes bytes: [UInt8]) {
    if bytes.count == 4 {
      self.init(v4: bytes.reduce(0) { $0 << 8 | UInt32($1) })
    } else if bytes.count == 16 {
      let half = { (part: ArraySlice<UInt8>) in part.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
      self.init(family: .v6, high: half(bytes[..<8]), low: half(bytes[8...]))
    } else {
      return nil
    }
  }
}
