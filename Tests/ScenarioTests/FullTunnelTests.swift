import Testing

@Suite("A full tunnel", .needsLab)
struct FullTunnelTests {
  /// 198.18.0.1 is a host of the internet beside 203.0.113.80; cafe counts what leaves for other places than the gateway.
  private func scene(endpoint: String = "203.0.113.10") throws -> Scene {
    let scene = try Scene(["corp.yaml": fullTunnel])
    try scene.play("FullTunnel/set-up", with: ["ENDPOINT": endpoint])
    return scene
  }

  @Test("carries everything but its own packets and what is excluded, a LAN with public addresses too")
  func carriesEverything() throws {
    let scene = try scene()
    let before = try scene.play("FullTunnel/carries-everything-before")
    #expect(before.lines == ["[198.51.100.23]", "[Hello, world.]"])

    try scene.play("FullTunnel/carries-everything-2")
    let during = try scene.play("FullTunnel/carries-everything-during")
    #expect(during.contains("[203.0.113.80 dev corp]"))
    #expect(during.contains("[8.8.8.8 dev corp]"))
    #expect(during.contains("[10.77.0.1 dev corp]"))
    // The café's prefixes are public, so they are no local network (docs/security-kill-switch.md).
    #expect(during.contains("[198.51.100.1 dev corp]"))
    #expect(during.contains("[2001:db8:2::1 none]"))
    #expect(during.contains("[198.18.0.1 dev wlan0]"))
    #expect(during.contains("[marked dev wlan0]"))
    #expect(during.contains("[IPv6 RTNETLINK answers: No route to host]"))

    let traffic = try scene.play("FullTunnel/carries-everything-traffic")
    #expect(
      traffic.lines.filter { $0.hasPrefix("[") } == [
        "[10.77.0.2]", "[10.77.0.2]", "[public LAN, inside]", "[public LAN by IPv6, held back]", "[no IPv6]", "[packets 0]",
        "[198.51.100.23]", "[and counted]",
      ])
  }

  @Test("stays connected from the café to mobile data, and what it excludes goes by the new network")
  func roams() throws {
    let scene = try scene()
    let seen = try scene.play("FullTunnel/roams")
    #expect(
      seen.lines == [
        "[10.77.0.2]", "[10.77.0.2]", "[203.0.113.151]", "[the café is remote now]", "[and mobile's router is inside]", "[the same link]",
      ])
  }

  @Test("has the MTU that the link below leaves it, also when that changes under it, and never less than IPv6 needs")
  func mtu() throws {
    let scene = try scene()
    let seen = try scene.play("FullTunnel/mtu")
    #expect(seen.lines == ["[1420]", "[1320]", "[1280]", "[1420]", "[1300]", "[the same link]", "10.77.0.2"])
  }

  @Test("reaches its server by IPv6 outside itself, though it carries all of IPv6")
  func endpointByIPv6() throws {
    let scene = try scene(endpoint: "[2001:db8::10]")
    let seen = try scene.play("FullTunnel/endpoint-by-i-pv6")
    #expect(seen.lines == ["[2001:db8::10]:51820", "dev corp", "dev corp", "dev wlan0", "[2001:db8:77::2]"])
  }

  @Test("works where the kernel checks that packets come back by the way they went (rp_filter)")
  func reversePathFilter() throws {
    let scene = try scene()
    let seen = try scene.play("FullTunnel/reverse-path-filter")
    #expect(
      seen.lines == [
        "[198.51.100.23]", "[10.77.0.2]", "[the gateway's address is outside]", "[and inside]", "[and outside]", "[10.77.0.2]",
      ])
  }

  @Test("finds a server given by name on the network below, and finds it again on the next one")
  func endpointByName() throws {
    let scene = try scene(endpoint: "vpn.corp.example")
    let seen = try scene.play("FullTunnel/endpoint-by-name")
    #expect(seen.lines == ["[203.0.113.10:51820]", "nameserver 10.77.0.1", "nameserver 10.77.0.1"])
    #expect(scene.read("dns-cafe.log").contains("vpn.corp.example from 198.51.100.23"))
    #expect(scene.read("dns-mobile.log").contains("vpn.corp.example from 203.0.113.151"))
  }

  @Test("finds a server given by name on a network whose name servers are known later than its routes")
  func laterNameServers() throws {
    let scene = try scene(endpoint: "vpn.corp.example")
    let seen = try scene.play("FullTunnel/later-name-servers")
    #expect(seen.lines == ["[203.0.113.10:51820]"])
  }
}

private let fullTunnel = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      on-demand:
        timing: { release-delay: 0s }
        rules:
          - { match: { interface-name: "eth*" }, action: disconnect }
          - { action: connect }
      routes: { include: [default], exclude: [198.18.0.0/15] }
      dns: { servers: [10.77.0.1], search-domains: [corp.example] }

  """
