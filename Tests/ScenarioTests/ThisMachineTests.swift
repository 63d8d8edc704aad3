import Testing

/// This machine as it is: which network is the network, what it lacks, and what a server may not take.
@Suite("This machine", .needsLab)
struct ThisMachineTests {
  private let byWiFi = """
    version: 1
    tunnels:
      corp:
        provider: { wireguard: { config: corp.conf } }
        on-demand:
          timing: { release-delay: 0s }
          rules: [{ match: { interface-name: wlan0 }, action: connect }, { action: disconnect }]

    """

  @Test("of two default routes with one metric, the network is the one that the kernel uses")
  func equalMetrics() throws {
    let seen = try Scene(["corp.yaml": byWiFi]).play("ThisMachine/equal-metrics")
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[kernel dev wlan0]", "[wlan0]", "[kernel dev eth7]", "[eth7]"])
  }

  @Test("a default route of a CLAT or of another VPN is no network; the VPN is told, the CLAT is not called one")
  func overlays() throws {
    let seen = try Scene(["corp.yaml": byWiFi]).play("ThisMachine/overlays")
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[kernel dev clat]", "[wlan0 connected]", "[0]", "[wlan0 connected]"])
  }

  @Test("a network that the tunnel includes is told in status, with its fate and the reason", arguments: ["prefer-tunnel", "prefer-local"])
  func overlap(_ choice: String) throws {
    let policy = OddFilesTests.always + "    routes: { include: [198.0.0.0/8], on-overlap: \(choice) }\n"
    let seen = try Scene(["corp.yaml": policy]).play("ThisMachine/overlap")
    let fates = [
      "prefer-tunnel": "goes into the tunnel, because corp includes 198.0.0.0/8, and on-overlap is prefer-tunnel",
      "prefer-local": "stays outside, because this machine is attached to it, and on-overlap is prefer-local",
    ]
    #expect(seen.lines == ["198.51.100.0/24, which this machine is attached to, \(fates[choice] ?? "?")", "overlap", "0"])
  }

  @Test("IPv6 that is switched off is left out, and said; IPv4 connects, also under a kill switch")
  func familyOff() throws {
    let scene = try Scene(["corp.yaml": OddFilesTests.always + "    kill-switch: \"on\"\n"])
    let seen = try scene.play("ThisMachine/family-off")
    #expect(
      seen.lines == [
        "[0 0]",
        "IPv6 is switched off on this machine (sysctl net.ipv6.conf.default.disable_ipv6), so fd00:77::2/128 and the routes of IPv6 are left out",
        "family-off", "0",
        "[IPv6 is switched off on this machine (sysctl net.ipv6.conf.default.disable_ipv6), and the tunnel has no address but fd00:77::2/128]",
        "0",
      ])
  }

  @Test("a network without IPv4 is told at once as the reason that an IPv4 endpoint is not reached, and IPv4 connects when it comes")
  func noRoute() throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).play("ThisMachine/no-route")
    #expect(
      seen.lines == [
        "[this network has no route of IPv4, and the endpoint 203.0.113.10 is an IPv4 address]", "0",
      ])
  }

  @Test("a server's address takes nothing that `allow` does not name, also beside another tunnel's kill switch")
  func serversAddress() throws {
    let full = """
      version: 1
      tunnels:
        full:
          provider: { wireguard: { config: corp.conf } }
          on-demand: { rules: [{ action: connect }] }
          routes: { include: [default] }
          kill-switch: always

      """
    let scene = try Scene(["full.yaml": full], words: ["providers.bash"])
    let seen = try scene.play("ThisMachine/servers-address")
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[200.0.0.1/1:  0 1]", "[64.0.0.1/2:  0 1]", "[8.8.8.8/32:  0 1]", "[198.51.100.1/24:  0 1]", "[10.98.0.2/8: 10.98.0.2/32 0 2]",
        "[0 into it]",
      ])
  }
}
