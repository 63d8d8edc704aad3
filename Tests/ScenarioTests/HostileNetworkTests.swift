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

  private func leaks(_ policy: String, _ attack: String) throws -> String {
    try leakScene(policy).run(
      """
      watch_places
      go cafe
      see_leaks
      start_agent
      tunnel_is corp connected
      \(attack)
      forget_leaks
      start_strays
      sleep 1.5; stop_strays
      leaked
      """)
  }

  @Test(
    "that pushes routes by DHCP gains nothing (TunnelVision, CVE-2024-3661), and is told of",
    arguments: ["128.0.0.0/1", "203.0.113.0/24", "203.0.113.80/32"])
  func pushedRoutes(prefix: String) throws {
    let attack = """
      ip route add \(prefix) via 198.51.100.1 dev wlan0 proto dhcp
      within 10 eval 'roamward status | grep -F "\(prefix) via 198.51.100.1 dev wlan0 (DHCP): goes inside"' >/dev/null
      dry plan --up corp | grep -F '\(prefix) via' | cut -d : -f 1-3
      dry explain corp | grep -cF '\(prefix) via'
      """
    let seen = try leaks(enforced, attack)
    #expect(seen.lines == ["route: corp: \(prefix) via 198.51.100.1 dev wlan0 (DHCP)", "1", none])
    // A table that is asked before the main one does not need to be told.
    #expect(try leaks(plain, attack).lines.last?.contains("flow4=0 flow6=0 gateway=0") == true)
  }

  @Test("that calls a public prefix local pulls nothing out, whether routes are enforced or not (TunnelCrack's LocalNet)")
  func localNet() throws {
    let attack = """
      on cafe bash -c 'echo 1 >/proc/sys/net/ipv4/conf/lan0/proxy_arp; echo 1 >/proc/sys/net/ipv6/conf/lan0/proxy_ndp'
      ip -n cafe neighbour add proxy 2001:db8::80 dev lan0
      # The gateway itself is in it.
      ip address add 203.0.113.77/25 dev wlan0
      sleep 0.5
      """
    #expect(try leaks(plain, attack) == none)
    #expect(try leaks(enforced, attack) == none)
  }

  @Test(
    "that advertises itself as a router of IPv6, with a prefix, a route and a name server, gets no packet, whether routes are enforced or not"
  )
  func routerAdvertisement() throws {
    let attack = """
      for key in accept_ra accept_ra_defrtr accept_ra_pinfo autoconf; do echo 1 >/proc/sys/net/ipv6/conf/wlan0/$key; done
      echo 128 >/proc/sys/net/ipv6/conf/wlan0/accept_ra_rt_info_max_plen 2>/dev/null || true
      on cafe bash -c 'echo 1 >/proc/sys/net/ipv6/conf/lan0/proxy_ndp'
      for name in 2001:db8::80 2001:db8::53; do ip -n cafe neighbour add proxy $name dev lan0; done
      cp $laptop/resolv.conf before
      on cafe "$tests/advertise" lan0 2001:db8::/64 2001:db8::/48 2001:db8:2::1
      within 10 eval 'ip -6 address show dev wlan0 | grep -F 2001:db8::' >/dev/null
      within 10 eval 'ip -6 route show dev wlan0 | grep -F "proto ra"' >/dev/null
      sleep 0.5
      cmp before $laptop/resolv.conf
      """
    #expect(try leaks(plain, attack) == none)
    #expect(try leaks(enforced, attack) == none)
  }

  @Test("that has the prefix of somebody inside does not get what was being said to him")
  func continued() throws {
    let seen = try leakScene(plain).run(
      """
      go cafe
      on cafe nft 'table inet watch { counter n { }; chain c { type filter hook prerouting priority -300; ip saddr 10.77.0.2 counter name n; }; }'
      heard() { on cafe nft -j list counters table inet watch | jq '.nftables[].counter.packets // empty'; }
      start_agent
      tunnel_is corp connected
      perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0); connect($s, pack_sockaddr_in(7777, inet_aton("10.50.0.5")));
        while (1) { send($s, "leak", 0); select(undef, undef, undef, 0.01) }' &
      on cafe ip address add 10.50.0.5/24 dev lan0
      ip address add 10.50.0.23/24 dev wlan0
      within 10 eval 'ip route show table 21750 | grep -F "throw 10.50.0.0/24"' >/dev/null
      busybox ping -c 1 -W 5 10.50.0.5 >/dev/null && say "a neighbour"
      sleep 0.5; heard
      kill -STOP $(agent_pid)
      nft delete table inet roamward
      within 10 eval '(( $(heard) > 0 ))' && say "seen without the firewall"
      kill $!
      kill -CONT $(agent_pid)
      """)
    #expect(seen.lines == ["[a neighbour]", "0", "[seen without the firewall]"])
  }

  private static let listener = "\(Lab.unpacked)/rdnssd/sbin/rdnssd"

  @Test(
    "that advertises a name server gets no question past the tunnel, though a program of this machine puts it into resolv.conf",
    .enabled(if: access(listener, X_OK) == 0, "rdnssd is not unpacked (scripts/setup --vm)"))
  func advertisedNameServer() throws {
    let scene = try leakScene(plain.with("routes:", "dns: { servers: [10.77.0.1] }\n    routes:"))
    let seen = try scene.run(
      """
      go cafe
      echo 1 >/proc/sys/net/ipv6/conf/wlan0/accept_ra
      # Debian's own hook, for the laptop's file.
      sed -e "s|^sysconfdir=.*|sysconfdir=$laptop|" -e 's|/sbin/resolvconf|/nonexistent|' '\(Lab.unpacked)/rdnssd/etc/rdnssd/merge-hook' >hook
      echo 'echo run >>hook.log' >>hook
      chmod +x hook
      listen() {
        mkdir -p /run/rdnssd; : >hook.log; : >/run/rdnssd/resolv.conf
        \(Self.listener) -f -u root -H "$PWD/hook" </dev/null >/dev/null 2>&1 &
        # It may not be listening yet when it is told.
        within 10 eval 'on cafe "$tests/advertise" lan0 2001:db8:2::/64 2001:db8:66::/48 2001:db8:2::1; sleep 0.2; test -s hook.log'
      }
      servers() { grep '^nameserver' $laptop/resolv.conf | cut -d ' ' -f 2 | paste -sd ' '; }
      listen; rogue=$!
      servers
      kill $rogue; wait $rogue || true; go home; go cafe
      start_agent
      tunnel_is corp connected
      servers
      listen; rogue=$!
      within 10 eval '[[ $(servers) == 10.77.0.1 ]]'
      field corp state
      roamward diff | grep -ci 'resolv' || true
      # It is told again and again, and nothing comes of it.
      for _ in 1 2 3; do on cafe "$tests/advertise" lan0 2001:db8:2::/64 2001:db8:66::/48 2001:db8:2::1; sleep 0.1; done
      within 10 eval '[[ $(servers) == 10.77.0.1 ]]'
      say "$(fetch http://intranet.corp.example/ | grep -o intranet)"
      stop_agent >/dev/null
      servers
      kill $rogue
      """)
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
    let seen = try scene.run(
      """
      sed -i 's|^Address.*|Address = 10.77.0.2/32, 2001:db8:77::2/128|' $policies/corp.conf
      go cafe
      start_agent
      tunnel_is corp connected
      for node in cafe gateway; do
        from=lan0; [[ $node == cafe ]] || from=gw0
        on $node nft -f - <<NFT
      table inet replies {
        counter n { }
        counter n6 { }
        chain c {
          type filter hook prerouting priority -300
          iifname $from ip saddr 10.77.0.2 meta l4proto { tcp, udp } th sport 40000 counter name n
          iifname $from ip6 saddr 2001:db8:77::2 counter name n6
          iifname $from icmp type destination-unreachable counter name n
          iifname $from icmpv6 type destination-unreachable counter name n6
        }
      }
      NFT
      done
      # Connections are tracked in a namespace where somebody asks for it.
      nft 'table inet track { chain c { type filter hook prerouting priority 0; ct state new counter; }; }'
      traces() { grep -cE '(dst=10.77.0.2|dst=2001:0*db8:0*77:[0:]*:0*2) ' /proc/net/nf_conntrack || true; }
      answers() { for node in cafe gateway; do on $node nft -j list counters table inet replies | jq '.nftables[].counter.packets // empty'; done | paste -sd ' '; }
      # The neighbour knows where the laptop is; from the café's router, and from the internet that the tunnel leads to.
      ip -n cafe route add 10.77.0.2/32 via 198.51.100.23 dev lan0
      ip -n cafe route add 2001:db8:77::2/128 via 2001:db8:2::23 dev lan0
      poke() {
        on cafe "$tests/forge" 198.51.100.1 10.77.0.2
        on cafe "$tests/forge" 203.0.113.80 10.77.0.2
        for from in 2001:db8:2::1 2001:db8::80; do on cafe "$tests/forge" $from 2001:db8:77::2; done
        on cafe busybox ping -6 -c 1 -W 1 2001:db8:77::2 >/dev/null 2>&1 || true
        on cafe busybox arping -c 1 -w 1 -I lan0 -s 198.51.100.1 10.77.0.2 | grep -o 'Received [0-9]*' || true
        # Asked for the address as a neighbour's, whether it is one.
        ip -n cafe route replace 2001:db8:77::2/128 dev lan0
        on cafe busybox ping -6 -c 1 -W 2 2001:db8:77::2 >/dev/null 2>&1 || true
        ip -n cafe -6 neighbour show 2001:db8:77::2 dev lan0 | grep -o 'lladdr' || true
        ip -n cafe route replace 2001:db8:77::2/128 via 2001:db8:2::23 dev lan0
      }
      for value in 0 1 2; do
        for file in all wlan0 corp; do echo $value >/proc/sys/net/ipv4/conf/$file/rp_filter; done
        poke; sleep 0.2
        say "$(answers) $(traces)"
      done
      kill -STOP $(agent_pid)
      nft delete table inet roamward; nft delete table arp roamward
      poke; sleep 0.2
      # In both families; the first two counters are the neighbour's.
      read -r n n6 _ < <(answers); ((n > 0 && n6 > 0 && $(traces) > 0)) && say "seen without the firewall"
      kill -CONT $(agent_pid)
      within 5 nft list table arp roamward >/dev/null
      """, limit: 120)
    let quiet = ["Received 0", "[0 0 0 0 0]"]
    #expect(seen.lines == quiet + quiet + quiet + ["Received 1", "[seen without the firewall]"])
  }
}
