internal import LinuxIO
internal import NetworkTypes
package import RoamwardCore
package import SystemdIO

private let root = "org.freedesktop.NetworkManager"

/// NetworkManager's report, from all its objects (`GetManagedObjects` of org.freedesktop.DBus.ObjectManager): paths, interfaces and
/// properties. `nil` if the manager's own object is missing.
package func networkManagerReport(_ objects: BusValue) -> NetworkManagerReport? {
  guard let manager = objects["/org/freedesktop/NetworkManager"]?[root] else { return nil }
  var words = NetworkManagerReport(checksConnectivity: manager["ConnectivityCheckEnabled"]?.bool ?? false)
  for (_, object) in objects.dictionary ?? [:] {
    guard let device = object["\(root).Device"], let name = linkName(of: device) else { continue }
    let configurations = [("Ip4Config", "IP4Config"), ("Ip6Config", "IP6Config")].compactMap { property, interface in
      device[property]?.text.flatMap { objects[$0]?["\(root).\(interface)"] }
    }
    let state = device["State"]?.unsigned ?? 0
    let connectivity = [device["Ip4Connectivity"], device["Ip6Connectivity"]].compactMap { $0?.unsigned }.max()
    words.devices[name] = ManagedDevice(
      address: device["HwAddress"]?.text.flatMap(MACAddress.init),
      // Unmanaged, disconnected, deactivating and failed are outside.
      state: state == 100 ? .active : (40..<100).contains(state) ? .configuring : .inactive,
      dns: configurations.reduce(into: LinkDNS()) { $0.add($1) }, metered: UInt32(clamping: device["Metered"]?.unsigned ?? 0),
      connectivity: UInt32(clamping: connectivity ?? manager["Connectivity"]?.unsigned ?? 0))
  }
  return words
}

/// The link that carries addresses: a modem's control device has another name than its network link.
private func linkName(of device: BusValue) -> String? {
  [device["IpInterface"], device["Interface"]].compactMap { $0?.text }.first { !$0.isEmpty }
}

extension LinkDNS {
  /// Adds an active configuration. IPv4 servers are data that contains text, IPv6 servers are bytes; newer versions give both as text.
  fileprivate mutating func add(_ configuration: BusValue) {
    let data = (configuration["NameserverData"]?.list ?? []).compactMap { $0["address"]?.text.flatMap(IPAddress.init) }
    let raw = (configuration["Nameservers"]?.list ?? []).compactMap { $0.bytes.flatMap(IPAddress.init(networkBytes:)) }
    servers += data.isEmpty ? raw : data
    for text in ["Domains", "Searches"].flatMap({ configuration[$0]?.list ?? [] }).compactMap(\.text) {
      // A tilde marks a domain that only routes; the root is no search domain.
      if text.hasPrefix("~") {
        if let domain = DomainName(String(text.dropFirst())) { routingDomains.append(domain) }
      } else if let domain = DomainName(text), !domains.contains(domain) {
        domains.append(domain)
      }
    }
  }
}
