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
    let seen = try Scene(["corp.yaml": byWiFi]).run(
      """
      go cafe
      # A cable beside the Wi-Fi; its link sorts first by name.
      ip link add eth7 type veth peer name eth7peer
      ip link set eth7peer up
      ip link set eth7 up
      ip address add 192.168.10.2/24 dev eth7
      ip route del default
      ip route append default via 198.51.100.1 dev wlan0 metric 1024
      ip route append default via 192.168.10.1 dev eth7 metric 1024
      say "kernel $(way_to 203.0.113.80)"
      start_agent
      tunnel_is corp connected
      say "$(roamward network --json | jq -r .primary)"
      ip route del default dev wlan0
      ip route append default via 198.51.100.1 dev wlan0 metric 1024
      say "kernel $(ip route get 203.0.113.80 mark 0x52000000 | grep -o 'dev [^ ]*')"
      tunnel_is corp disconnected
      say "$(roamward network --json | jq -r .primary)"
      stop_agent
      """)
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[kernel dev wlan0]", "[wlan0]", "[kernel dev eth7]", "[eth7]"])
  }

  @Test("a default route of a CLAT or of another VPN is no network; the VPN is told, the CLAT is not called one")
  func overlays() throws {
    let seen = try Scene(["corp.yaml": byWiFi]).run(
      """
      go cafe
      ip route del default
      ip route add default via 198.51.100.1 dev wlan0 metric 600
      start_agent
      tunnel_is corp connected
      # A TUN link with a program behind it, as that of clatd.
      "$bin/roamward-wireguard" clat </dev/null >/dev/null 2>&1 &
      within 10 ip link show clat >/dev/null
      ip address add 192.0.0.1/32 dev clat
      ip link set clat up
      before=$(counter observations)
      ip route add default dev clat
      within 5 eval '(( $(counter observations) > before ))'
      say "kernel $(ip route get 203.0.113.80 mark 0x52000000 | grep -o 'dev [^ ]*')"
      say "$(roamward network --json | jq -r .primary) $(field corp state)"
      say "$(roamward status | grep -c 'another VPN' || true)"
      ip link del clat
      "$bin/roamward-wireguard" wg7 </dev/null >/dev/null 2>&1 &
      within 10 ip link show wg7 >/dev/null
      ip link set wg7 up
      ip address add 10.44.0.2/32 dev wg7
      ip route add default dev wg7
      within 5 eval 'roamward status | grep "another VPN (wg7)"'
      say "$(roamward network --json | jq -r .primary) $(field corp state)"
      stop_agent
      """)
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[kernel dev clat]", "[wlan0 connected]", "[0]", "[wlan0 connected]"])
  }

  @Test("a network that the tunnel includes is told in status, with its fate and the reason", arguments: ["prefer-tunnel", "prefer-local"])
  func overlap(_ choice: String) throws {
    let policy = OddFilesTests.always + "    routes: { include: [198.0.0.0/8], on-overlap: \(choice) }\n"
    let seen = try Scene(["corp.yaml": policy]).run(
      """
      sed -i 's|^AllowedIPs.*|AllowedIPs = 198.0.0.0/8|' $policies/corp.conf
      go cafe
      start_agent
      tunnel_is corp connected
      roamward status | grep -o '198.51.100.0/24, which this machine is attached to.*'
      roamward status --json | jq -r '.tunnels[0].notes[] | select(.code == "overlap") | .code'
      stop_agent
      """)
    let fates = [
      "prefer-tunnel": "goes into the tunnel, because corp includes 198.0.0.0/8, and on-overlap is prefer-tunnel",
      "prefer-local": "stays outside, because this machine is attached to it, and on-overlap is prefer-local",
    ]
    #expect(seen.lines == ["198.51.100.0/24, which this machine is attached to, \(fates[choice] ?? "?")", "overlap", "0"])
  }

  @Test("IPv6 that is switched off is left out, and said; IPv4 connects, also under a kill switch")
  func familyOff() throws {
    let scene = try Scene(["corp.yaml": OddFilesTests.always + "    kill-switch: \"on\"\n"])
    let seen = try scene.run(
      """
      sed -i 's|^Address.*|Address = 10.77.0.2/32, fd00:77::2/128|; s|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|' $policies/corp.conf
      go cafe
      sysctl -qw net.ipv6.conf.all.disable_ipv6=1
      remember
      start_agent
      tunnel_is corp connected
      within 3 intranet_loads
      say "$(ip -6 address show dev corp | wc -l) $(counter repairs)"
      dry diff >/dev/null || say differs
      roamward status | grep -o 'IPv6 is switched off.*left out'
      roamward status --json | jq -r '.tunnels[0].notes[].code' | grep family-off
      stop_agent
      as_before
      # A tunnel of IPv6 alone cannot be up, and the reason is told at once.
      sed -i 's|^Address.*|Address = fd00:77::2/128|' $policies/corp.conf
      start_agent
      within 3 field_is corp '"failure-code"' family-off && say "$(field corp failure)"
      stop_agent
      as_before
      """)
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
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).run(
      """
      go cafe
      ip -4 address flush dev wlan0
      start_agent
      within 3 field_is corp '"failure-code"' endpoint-unreachable
      say "$(field corp failure)"
      ip address add 198.51.100.23/24 dev wlan0
      ip route add default via 198.51.100.1 dev wlan0
      tunnel_is corp connected
      stop_agent
      """)
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
    let seen = try scene.run(
      """
      install_plain
      # Its gateway never answers.
      sed -i 's|^Endpoint.*|Endpoint = 203.0.113.10:51999|' $policies/corp.conf
      go cafe
      start_server
      plain_policy <<<'        allow: { routes: [10.98.0.0/24], domains: [] }'
      ways() { for to in 9.9.9.9 203.0.113.80 200.0.0.9 172.20.7.9; do ip route get $to mark 0x52000000 2>&1 | grep -o 'dev plain' || true; done; }
      for address in 200.0.0.1/1 64.0.0.1/2 8.8.8.8/32 198.51.100.1/24 10.98.0.2/8; do
        sed -i "s|address: [^,]*,|address: $address,|" $policies/plain.yaml
        start_agent
        roamward up plain >/dev/null
        within 10 field_is plain state connected
        say "$address: $(ip -br -4 address show dev plain | awk '{print $3}') $(ways | wc -l) $(ip route show table all dev plain | grep -cv 'table local' || true)"
        stop_agent >/dev/null
      done
      start_agent
      roamward up plain >/dev/null
      within 10 field_is plain state connected
      within 5 plain_answers
      # Somebody's route into its link does not get past the kill switch of the other.
      ip route add 203.0.113.80 dev plain table main
      ip rule add to 203.0.113.80 lookup main priority 100
      before=$(ip -j -s link show dev plain | jq '.[0].stats64.tx.packets')
      try_web
      echo x >/dev/udp/203.0.113.80/53 || true
      say "$(($(ip -j -s link show dev plain | jq '.[0].stats64.tx.packets') - before)) into it"
      ip rule del priority 100
      stop_agent
      """)
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[200.0.0.1/1:  0 1]", "[64.0.0.1/2:  0 1]", "[8.8.8.8/32:  0 1]", "[198.51.100.1/24:  0 1]", "[10.98.0.2/8: 10.98.0.2/32 0 2]",
        "[0 into it]",
      ])
  }
}
