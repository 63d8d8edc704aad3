import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import TestKit
import Testing

/// Which network is "the network": that of the default route which the kernel takes, below all tunnels.
@Suite("The underlay") struct UnderlayTests {
  private func link(_ name: String, _ index: UInt32, kind: String? = nil, hardwareType: UInt16 = 1) -> Link {
    Link(index: Sample.index(index), name: name, kind: kind, hardwareType: hardwareType, flags: 0x1_0041)
  }

  private func route(_ link: String, _ family: IPAddress.Family = .v4, via gateway: String? = nil, metric: UInt32) -> Route {
    Route(to: .everything(family), via: gateway.map(Sample.address), on: link, metric: metric, routeProtocol: 3)
  }

  private func snapshot(_ links: [Link], _ routes: [Route], addresses: [LinkAddress] = []) -> NetworkSnapshot {
    let own = links.map { LinkAddress(link: $0.name, address: Sample.own("192.0.2.\($0.index.value)/32")) }
    return NetworkSnapshot(SnapshotInputs(kernel: KernelState(links: links, addresses: own + addresses, routes: routes)))
  }

  @Test("of default routes with one metric the first of the kernel's list is taken, whatever its link is called")
  func equalMetrics() {
    let links = [link("eth0", 2), link("wlan0", 3)]
    let (wifi, cable) = (route("wlan0", via: "192.0.2.101", metric: 1024), route("eth0", via: "192.0.2.102", metric: 1024))
    #expect(snapshot(links, [wifi, cable]).primary == "wlan0")
    #expect(snapshot(links, [cable, wifi]).primary == "eth0")
    #expect(snapshot(links, [cable, route("wlan0", via: "192.0.2.101", metric: 1023)]).primary == "wlan0")
  }

  @Test("gateways and preferred sources of a link come in the kernel's order") func gateways() {
    var random = SplitMix64(seed: 23)
    for round in 0..<200 {
      var routes = (0..<6).map { number in
        var route = route("eth0", via: "192.0.2.\(200 + number)", metric: UInt32(random.next() % 3))
        route.preferredSource = Sample.address("192.0.2.\(100 + number)")
        return route
      }
      routes.shuffle(using: &random)
      let expected: [Route] = (UInt32(0)..<3).flatMap { metric -> [Route] in routes.filter { $0.metric == metric } }
      let found = snapshot([link("eth0", 2)], routes).links.first
      #expect(found?.gateways == expected.compactMap(\.gateway), "round \(round)")
      #expect(found?.preferredSources == expected.compactMap(\.preferredSource), "round \(round)")
    }
  }

  @Test(
    "a default route of a tunnel, whatever its kind, is not the network's; without any other it is all there is",
    arguments: [
      ("tun", UInt16(65534)), ("wireguard", 65534), ("ovpn", 65534), ("ppp", 512), ("sit", 776), ("ipip", 768), ("gre", 778), ("xfrm", 1),
      ("vti", 768), ("ip6tnl", 769), ("dummy", 1), ("ifb", 1),
    ])
  func overlays(kind: String, hardwareType: UInt16) {
    let links = [link("over", 4, kind: kind, hardwareType: hardwareType), link("wlan0", 3)]
    let over = route("over", metric: 0)
    #expect(snapshot(links, [over, route("wlan0", via: "192.0.2.101", metric: 600)]).primary == "wlan0")
    #expect(snapshot(links, [over, route("wlan0", .v6, via: "fe80::1", metric: 1024)]).primary == "wlan0")
    #expect(snapshot(links, [over]).primary == "over")
  }

  @Test("the IPv4 side of 464XLAT is no network and no VPN") func translator() {
    let (clat, wlan) = (link("clat", 4, kind: "tun", hardwareType: 65534), link("wlan0", 3))
    let other = link("tun7", 5, kind: "tun", hardwareType: 65534)
    let routes = [route("wlan0", .v6, via: "fe80::1", metric: 1024), route("clat", metric: 0), route("tun7", metric: 0)]
    #expect(snapshot([clat, wlan], Array(routes.prefix(2))).primary == "wlan0")
    #expect(OtherVPNs(in: KernelState(links: [clat, wlan], routes: routes)).all.isEmpty)
    // By its address, under any name.
    let address = LinkAddress(link: "tun7", address: Sample.own("192.0.0.2/29"))
    #expect(OtherVPNs(in: KernelState(links: [other, wlan], addresses: [address], routes: routes)).all.isEmpty)
    let vpns = OtherVPNs(in: KernelState(links: [other, wlan], routes: routes)).all
    #expect(vpns.map(\.description) == ["another VPN (tun7) routes everything (IPv4) in the main table; not touched"])
  }

  @Test("another VPN of halves routes everything") func halves() {
    let tun = link("tun7", 5, kind: "tun", hardwareType: 65534)
    let routes = ["0.0.0.0/1", "128.0.0.0/1", "10.8.0.0/24"].map { Route(to: Sample.prefix($0), on: "tun7", routeProtocol: 3) }
    let vpns = OtherVPNs(in: KernelState(links: [tun], routes: routes)).all
    #expect(vpns.map(\.description) == ["another VPN (tun7) routes everything (IPv4) in the main table; not touched"])
  }
}
