package import NetworkTypes

/// What the sources say about the machine, before it is put together.
package struct UnderlaySources: Hashable, Sendable {
  package var kernel: KernelState
  /// By interface index; what the kernel and the bus say about the medium.
  package var types: [InterfaceIndex: InterfaceType]
  /// By interface index; links that nl80211 does not know are absent.
  package var wifi: [InterfaceIndex: Fact<SSID?>]
  package var resolvConf: Fact<ResolvConf>
  /// Of the SSID file, where the agent was given one.
  package var ssidFile: Fact<SSID?>?
  package var time: Fact<LocalTime>
  package var power: Fact<PowerSource>

  package init(
    kernel: KernelState, types: [InterfaceIndex: InterfaceType] = [:], wifi: [InterfaceIndex: Fact<SSID?>] = [:],
    resolvConf: Fact<ResolvConf> = .known(ResolvConf()), ssidFile: Fact<SSID?>? = nil,
    time: Fact<LocalTime> = .unknown(because: "nobody asked"), power: Fact<PowerSource> = .unknown(because: "nobody asked")
  ) {
    self.kernel = kernel
    self.types = types
    self.wifi = wifi
    self.resolvConf = resolvConf
    self.ssidFile = ssidFile
    self.time = time
    self.power = power
  }
}

extension NetworkSnapshot {
  /// Puts the sources together. Our own tunnels are no part of the underlay, and neither are links without carrier, or without an address that is
  /// valid beyond the link (those of containers, by the hundred).
  package init(_ sources: UnderlaySources) {
    let kernel = sources.kernel
    let ours = Set(kernel.links.lazy.filter { Ownership.tunnel(ofAlias: $0.alias) != nil }.map(\.name))
    let usable = kernel.links.filter { $0.isUp && $0.hasCarrier && !$0.isLoopback && !ours.contains($0.name) }
    let names = Set(usable.lazy.map(\.name))
    let defaults = kernel.routes.filter { route in
      route.destination.length == 0 && route.kind == .unicast && route.table == Route.mainTable && !route.isDead
        && route.origin != Ownership.routeProtocol && route.link.map(names.contains) ?? false
    }
    // The kernel's own order within a family is the metric; between families IPv4 goes first where both are equally good.
    let ordered = defaults.sorted { (isBetter($0, than: $1)) }
    let primary = ordered.first?.link
    let addressesByLink = Dictionary(grouping: kernel.addresses) { $0.link }
    let links = usable.compactMap { link -> LinkFacts? in
      let addresses = (addressesByLink[link.name] ?? []).map(\.address).sorted()
      let isPrimary = link.name == primary
      guard isPrimary || link.master == nil && addresses.contains(where: { !$0.address.isLinkLocal }) else { return nil }
      let gateways = ordered.filter { $0.link == link.name }.compactMap(\.gateway).uniqued()
      let (type, ssid) = medium(of: link, isPrimary: isPrimary, sources)
      return LinkFacts(
        name: link.name, type: type, ssid: ssid, bssid: type.value == .wifi ? .unknown(because: notGathered) : .known(nil),
        wifiSecurity: type.value == .wifi ? .unknown(because: notGathered) : .known(nil), metered: .unknown(because: notGathered),
        addresses: addresses, gateways: gateways,
        gatewayMAC: hardwareAddress(of: gateways.first, on: link.name, in: kernel),
        dnsServers: isPrimary ? sources.resolvConf.map(\.nameServers) : .unknown(because: "resolv.conf speaks for the primary link alone"),
        searchDomains: isPrimary
          ? sources.resolvConf.map(\.searchDomains) : .unknown(because: "resolv.conf speaks for the primary link alone"),
        mtu: link.mtu, device: link.device)
    }
    self.init(
      primary: primary, links: links, captivePortal: .unknown(because: notGathered), internet: .unknown(because: notGathered),
      otherProbes: .unknown(because: "it was not asked"), time: sources.time, power: sources.power)
  }
}

private let notGathered = "this version does not gather it"

/// Lower metric first; then IPv4; then name, so that the order never depends on chance.
private func isBetter(_ a: Route, than b: Route) -> Bool {
  (a.metric, a.destination.family, a.link ?? "") < (b.metric, b.destination.family, b.link ?? "")
}

/// Type and SSID. An SSID file speaks for the primary link, where the kernel's radio does not: a host behind a Wi-Fi bridge is on Wi-Fi.
private func medium(of link: Link, isPrimary: Bool, _ sources: UnderlaySources) -> (Fact<InterfaceType>, Fact<SSID?>) {
  let type = sources.types[link.index].map { Fact.known($0) } ?? .unknown(because: "the kernel does not say")
  if let ssid = sources.wifi[link.index] { return (type, ssid) }
  guard isPrimary, let file = sources.ssidFile, type.value.map({ $0 == .ethernet || $0 == .other }) ?? true else {
    return (type, .known(nil))
  }
  switch file {
  case .known(nil): return (type, .known(nil))
  case .known(let ssid?): return (.known(.wifi), .known(ssid))
  case .unknown(let reason): return (type, .unknown(because: reason))
  }
}

private func hardwareAddress(of gateway: IPAddress?, on link: String, in kernel: KernelState) -> Fact<MACAddress?> {
  guard let gateway else { return .known(nil) }
  let entry = kernel.neighbours.first { $0.link == link && $0.address == gateway }
  guard let address = entry?.macAddress else { return .unknown(because: "no neighbour entry for \(gateway) yet") }
  return .known(address)
}

extension Fact {
  fileprivate func map<Other>(_ transform: (Value) -> Other) -> Fact<Other> {
    switch self {
    case .known(let value): .known(transform(value))
    case .unknown(let reason): .unknown(because: reason)
    }
  }
}

extension Sequence where Element: Hashable {
  /// Each element once, at its first place.
  func uniqued() -> [Element] {
    var seen = Set<Element>()
    return filter { seen.insert($0).inserted }
  }
}
