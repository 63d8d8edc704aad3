import Testing

@Suite("A full tunnel", .needsLab)
struct FullTunnelTests {
  /// 198.18.0.1 is a host of the internet beside 203.0.113.80; cafe counts what leaves for other places than the gateway.
  private func scene(endpoint: String = "203.0.113.10") throws -> Scene {
    let scene = try Scene(["corp.yaml": fullTunnel])
    try scene.run(
      """
      sed -i 's|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|; s|^Endpoint.*|Endpoint = \(endpoint):51820|' $policies/corp.conf
      ip -n internet route add 10.77.0.0/16 via 203.0.113.10
      ip -n internet address add 198.18.0.1/32 dev br0
      on internet busybox httpd -p 198.18.0.1:80 -h $ROAMWARD_LAB/internet/www
      on cafe nft -f - <<NFT
      table ip watch {
        chain passing {
          type filter hook forward priority 0
          ip saddr 198.51.100.23 ip daddr != 203.0.113.10 counter
        }
      }
      NFT
      """)
    return scene
  }

  private let strays = "on cafe nft list table ip watch | grep -o 'packets [0-9]*'"

  @Test("carries everything but its own packets and what is excluded, a LAN with public addresses too")
  func carriesEverything() throws {
    let scene = try scene()
    let before = try scene.run(
      """
      go cafe
      say "$(seen_by 203.0.113.80)"
      say "$(fetch -6 http://www.example/)"
      """)
    #expect(before.lines == ["[198.51.100.23]", "[Hello, world.]"])

    try scene.run("start_agent; tunnel_is corp connected")
    let during = try scene.run(
      """
      for to in 203.0.113.80 8.8.8.8 10.77.0.1 198.51.100.1 2001:db8:2::1 198.18.0.1; do say "$to $(way_to $to)"; done
      say "marked $(ip route get 203.0.113.10 mark 0x52000000 | grep -o 'dev [^ ]*')"
      say "IPv6 $(ip route get 2001:db8::80 2>&1 || true)"
      """)
    #expect(during.contains("[203.0.113.80 dev corp]"))
    #expect(during.contains("[8.8.8.8 dev corp]"))
    #expect(during.contains("[10.77.0.1 dev corp]"))
    // The café's prefixes are public, so they are no local network (docs/security-kill-switch.md).
    #expect(during.contains("[198.51.100.1 dev corp]"))
    #expect(during.contains("[2001:db8:2::1 none]"))
    #expect(during.contains("[198.18.0.1 dev wlan0]"))
    #expect(during.contains("[marked dev wlan0]"))
    #expect(during.contains("[IPv6 RTNETLINK answers: No route to host]"))

    let traffic = try scene.run(
      """
      on cafe nft 'flush chain ip watch passing; add rule ip watch passing ip saddr 198.51.100.23 ip daddr != 203.0.113.10 counter'
      say "$(seen_by 203.0.113.80)"
      say "$(seen_by 10.77.0.1)"
      busybox ping -c 1 -W 2 198.51.100.1 >/dev/null && say "public LAN, inside"
      busybox ping -c 1 -W 2 2001:db8:2::1 >/dev/null || say "public LAN by IPv6, held back"
      fetch -6 "http://[2001:db8::80]/" || say "no IPv6"
      say "$(\(strays))"
      say "$(seen_by 198.18.0.1)"
      [[ $(\(strays)) != "packets 0" ]] && say "and counted"
      """)
    #expect(
      traffic.lines.filter { $0.hasPrefix("[") } == [
        "[10.77.0.2]", "[10.77.0.2]", "[public LAN, inside]", "[public LAN by IPv6, held back]", "[no IPv6]", "[packets 0]",
        "[198.51.100.23]", "[and counted]",
      ])
  }

  @Test("stays connected from the café to mobile data, and what it excludes goes by the new network")
  func roams() throws {
    let scene = try scene()
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      index=$(link_index corp)
      say "$(seen_by 203.0.113.80)"
      go mobile
      within 8 gateway_sees 203.0.113.151
      tunnel_is corp connected
      say "$(seen_by 203.0.113.80)"
      say "$(seen_by 198.18.0.1)"
      way_is 198.51.100.1 corp && say "the café is remote now"
      way_is 203.0.113.129 corp && say "and mobile's router is inside"
      [[ $(link_index corp) == "$index" ]] && say "the same link"
      """)
    #expect(
      seen.lines == [
        "[10.77.0.2]", "[10.77.0.2]", "[203.0.113.151]", "[the café is remote now]", "[and mobile's router is inside]", "[the same link]",
      ])
  }

  @Test("has the MTU that the link below leaves it, also when that changes under it, and never less than IPv6 needs")
  func mtu() throws {
    let scene = try scene()
    let seen = try scene.run(
      """
      mtu_is() { [[ $(ip -j link show corp | jq '.[0].mtu') == "$1" ]]; }
      go cafe
      start_agent
      tunnel_is corp connected
      mtu_is 1420 && say 1420
      index=$(link_index corp)
      ip link set wlan0 mtu 1400; within 10 mtu_is 1320 && say 1320
      ip link set wlan0 mtu 1300; within 10 mtu_is 1280 && say 1280
      ip link set wlan0 mtu 1500; within 10 mtu_is 1420 && say 1420
      # Another link with another MTU.
      ip link set wwan0 mtu 1380
      go mobile
      within 10 mtu_is 1300 && say 1300
      tunnel_is corp connected
      (( $(link_index corp) == index )) && say "the same link"
      seen_by 203.0.113.80
      """)
    #expect(seen.lines == ["[1420]", "[1320]", "[1280]", "[1420]", "[1300]", "[the same link]", "10.77.0.2"])
  }

  @Test("reaches its server by IPv6 outside itself, though it carries all of IPv6")
  func endpointByIPv6() throws {
    let scene = try scene(endpoint: "[2001:db8::10]")
    let seen = try scene.run(
      """
      sed -i 's|^Address.*|Address = 10.77.0.2/32, 2001:db8:77::2/128|' $policies/corp.conf
      on gateway wg set gw0 peer "$(on gateway wg show gw0 peers)" allowed-ips 10.77.0.2/32,2001:db8:77::2/128
      ip -n gateway address add 2001:db8:77::1/64 dev gw0 nodad
      ip -n internet route add 2001:db8:77::/64 via 2001:db8::10
      go cafe
      start_agent
      tunnel_is corp connected
      field corp endpoint
      way_to 2001:db8::10; way_to 2001:db8::80
      ip -6 route get 2001:db8::10 mark 0x52000000 | grep -o 'dev [^ ]*'
      "$lab" on laptop curl --silent --max-time 5 "http://[2001:db8::80]/cgi-bin/whoami"
      """)
    #expect(seen.lines == ["[2001:db8::10]:51820", "dev corp", "dev corp", "dev wlan0", "[2001:db8:77::2]"])
  }

  @Test("works where the kernel checks that packets come back by the way they went (rp_filter)")
  func reversePathFilter() throws {
    let scene = try scene()
    let seen = try scene.run(
      """
      go cafe
      for file in all wlan0 default; do echo 1 >/proc/sys/net/ipv4/conf/$file/rp_filter; done
      say "$(seen_by 203.0.113.80)"
      start_agent
      tunnel_is corp connected
      say "$(seen_by 203.0.113.80)"
      past() { ip route show table 21750 type throw | grep 203.0.113.10 >/dev/null; }
      past && say "the gateway's address is outside"
      # Somebody sets it while the tunnel is up: no link, address or route tells of that.
      for file in all wlan0; do echo 2 >/proc/sys/net/ipv4/conf/$file/rp_filter; done
      within 5 not past; say "and inside"
      for file in all wlan0; do echo 1 >/proc/sys/net/ipv4/conf/$file/rp_filter; done
      within 5 past; say "and outside"
      say "$(seen_by 203.0.113.80)"
      """)
    #expect(
      seen.lines == [
        "[198.51.100.23]", "[10.77.0.2]", "[the gateway's address is outside]", "[and inside]", "[and outside]", "[10.77.0.2]",
      ])
  }

  @Test("finds a server given by name on the network below, and finds it again on the next one")
  func endpointByName() throws {
    let scene = try scene(endpoint: "vpn.corp.example")
    let seen = try scene.run(
      """
      ip -n gateway address add 203.0.113.11/25 dev wan0
      answer_endpoint_with cafe 203.0.113.10
      answer_endpoint_with mobile 203.0.113.11
      go cafe
      start_agent
      tunnel_is corp connected
      say "$(field corp endpoint)"
      grep '^nameserver' $laptop/resolv.conf
      go mobile
      within 8 field_is corp endpoint 203.0.113.11:51820
      tunnel_is corp connected
      within 5 seen_by 203.0.113.80
      grep '^nameserver' $laptop/resolv.conf
      """)
    #expect(seen.lines == ["[203.0.113.10:51820]", "nameserver 10.77.0.1", "nameserver 10.77.0.1"])
    #expect(scene.read("dns-cafe.log").contains("vpn.corp.example from 198.51.100.23"))
    #expect(scene.read("dns-mobile.log").contains("vpn.corp.example from 203.0.113.151"))
  }

  @Test("finds a server given by name on a network whose name servers are known later than its routes")
  func laterNameServers() throws {
    let scene = try scene(endpoint: "vpn.corp.example")
    let seen = try scene.run(
      """
      ip -n gateway address add 203.0.113.11/25 dev wan0
      answer_endpoint_with cafe 203.0.113.10
      answer_endpoint_with mobile 203.0.113.11
      go cafe
      start_agent
      tunnel_is corp connected
      say "$(field corp endpoint)"
      # As "go mobile", but the DHCP client has not written the name servers yet: those of the café are still named.
      ip link set wwan0 up; ip address add 203.0.113.151/25 dev wwan0
      ip address flush dev wlan0; ip link set wlan0 down
      ip route add default via 203.0.113.129 dev wwan0
      within 5 eval 'roamward network | grep "through wwan0" >/dev/null'
      within 5 grep 'from=reasserting to=connected' "$scene/agent.log"
      go mobile
      within 8 field_is corp endpoint 203.0.113.11:51820
      tunnel_is corp connected
      """)
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
