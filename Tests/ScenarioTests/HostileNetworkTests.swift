import Glibc
import Testing

/// Attacks of a network's owner on a tunnel for everything without a kill switch. Each attack is first seen to work on a tunnel that does
/// not enforce its routes, if it works there.
@Suite("A hostile network", .needsLab)
struct HostileNetworkTests {
  private let none = "dns4=0 dns6=0 flow4=0 flow6=0 gateway=0"
  /// Nothing is promised without `enforce`, but a table that is asked first, and a prefix that is no credible
  /// local network, give nothing away.
  private let plain = enforced.with(", enforce: true", "")

  private func leaks(_ policy: String, _ scene: String, with values: KeyValuePairs<String, any CustomStringConvertible> = [:]) throws
    -> String
  {
    try leakScene(policy).play(scene, with: values)
  }

  @Test(
    "that pushes routes by DHCP gains nothing (TunnelVision, CVE-2024-3661), and is told of",
    arguments: ["128.0.0.0/1", "203.0.113.0/24", "203.0.113.80/32"])
  func pushedRoutes(prefix: String) throws {
    let seen = try leaks(enforced, "HostileNetwork/pushed-routes", with: ["PREFIX": prefix])
    #expect(seen.lines == ["route: corp: \(prefix) via 198.51.100.1 dev wlan0 (DHCP)", "1", none])
    // A table that is asked before the main one does not need to be told.
    #expect(
      try leaks(plain, "HostileNetwork/pushed-routes", with: ["PREFIX": prefix]).lines.last?.contains("flow4=0 flow6=0 gateway=0") == true)
  }

  @Test("that calls a public prefix local pulls nothing out, whether routes are enforced or not (TunnelCrack's LocalNet)")
  func localNet() throws {
    #expect(try leaks(plain, "HostileNetwork/local-net") == none)
    #expect(try leaks(enforced, "HostileNetwork/local-net") == none)
  }

  @Test(
    "that advertises itself as a router of IPv6, with a prefix, a route and a name server, gets no packet, whether routes are enforced or not"
  )
  func routerAdvertisement() throws {
    #expect(try leaks(plain, "HostileNetwork/router-advertisement") == none)
    #expect(try leaks(enforced, "HostileNetwork/router-advertisement") == none)
  }

  @Test("that has the prefix of somebody inside does not get what was being said to him")
  func continued() throws {
    let seen = try leakScene(plain).play("HostileNetwork/continued")
    #expect(seen.lines == ["[a neighbour]", "0", "[seen without the firewall]"])
  }

  private static let listener = "\(Lab.unpacked)/rdnssd/sbin/rdnssd"

  @Test(
    "that advertises a name server gets no question past the tunnel, though a program of this machine puts it into resolv.conf",
    .enabled(if: access(listener, X_OK) == 0, "rdnssd is not unpacked (scripts/setup --vm)"))
  func advertisedNameServer() throws {
    let scene = try leakScene(plain.with("routes:", "dns: { servers: [10.77.0.1] }\n    routes:"))
    let seen = try scene.play("HostileNetwork/advertised-name-server", with: ["UNPACKED": Lab.unpacked])
    #expect(
      seen.lines == [
        "2001:db8:2::1 198.51.100.1", "10.77.0.1", "connected", "0", "[intranet]", "198.51.100.1",
      ])
  }

  @Test(
    "finds nobody at the tunnel's address: no answer to segments, datagrams, ARP and neighbour solicitations, and no trace of them, however return paths are checked (CVE-2019-14899)"
  )
  func tunnelAddress() throws {
    // So that answers to the neighbour have a way outside.
    let scene = try leakScene(plain.with("[default]", "[default], exclude: [198.51.100.0/24, '2001:db8:2::/64']"))
    let seen = try scene.play("HostileNetwork/tunnel-address")
    let quiet = ["Received 0", "[0 0 0 0 0]"]
    #expect(seen.lines == quiet + quiet + quiet + ["Received 1", "[seen without the firewall]"])
  }
}
