import Testing

/// On the routers of all places it is counted what comes from the laptop and is not the tunnel's own, while something on the laptop keeps
/// trying: a flow and look-ups of names, by UDP and TCP, IPv4 and IPv6. Every scene first sees such packets where nothing holds them back.
@Suite("Leaks", .needsLab)
struct LeakTests {
  private let none = "dns4=0 dns6=0 flow4=0 flow6=0 gateway=0"

  @Test("none under a kill switch while the tunnel goes up, down and roams, is reconfigured, and while agent and engine are killed")
  func lives() throws {
    let scene = try leakScene(guarded)
    let seen = try scene.run(
      """
      watch_places
      listen_to_strays
      go cafe; see_leaks; go home; see_leaks
      say seen
      # What began before there was anything to hold it back goes on, as a stream of each family.
      start_strays; early=$strays
      within 10 eval '(( $(streams) >= 2 ))'
      start_agent
      tunnel_is corp connected
      sleep 0.2; forget_leaks
      start_strays
      sleep 0.5; say "up $(leaked)"
      roamward down corp >/dev/null; within 5 field_is corp state disconnected; sleep 0.2
      roamward resume corp >/dev/null; tunnel_is corp connected
      say "down and up $(leaked)"
      go cafe; tunnel_is corp connected; go nothing; sleep 0.5; go home; tunnel_is corp connected; go mobile; tunnel_is corp connected
      say "roamed $(leaked)"
      kill_agent; sleep 0.5; start_agent; tunnel_is corp connected
      say "agent killed $(leaked)"
      [[ -z $(engine_pid corp) ]] || kill -KILL "$(engine_pid corp)"
      sleep 0.2; tunnel_is corp connected
      say "engine killed $(leaked)"
      sed -i 's/include: .default./include: [default], exclude: [192.0.2.77]/' $policies/corp.yaml
      within 5 eval 'ip route show table 21750 | grep -F "throw 192.0.2.77"'
      sed -i 's/^PersistentKeepalive.*/PersistentKeepalive = 10/' $policies/corp.conf
      within 10 eval 'wg show corp persistent-keepalive | grep "[[:space:]]10$"'; tunnel_is corp connected
      say "reconfigured $(leaked)"
      stop_agent >/dev/null
      sleep 0.3; say "stopped $(leaked)"
      stop_strays; strays=$early; stop_strays
      """, limit: 120)
    let stages = ["up", "down and up", "roamed", "agent killed", "engine killed", "reconfigured", "stopped"]
    #expect(seen.lines == ["[seen]"] + stages.map { "[\($0) \(none)]" })
  }

  @Test("none on arrival, though at home the tunnel is not wanted and nothing is held back") func arrival() throws {
    let rules = "[{ match: { interface-name: \"eth*\" }, action: disconnect }, { action: connect }]"
    let scene = try leakScene(guarded.with("always", "\"on\"").with("[{ action: connect }]", rules))
    let seen = try scene.run(
      """
      watch_places
      go home
      start_agent
      within 5 field_is corp state disconnected
      start_strays
      within 20 all_leaked
      for place in cafe mobile; do
        go nothing
        within 5 nft list table inet roamward >/dev/null
        sleep 0.1; forget_leaks
        go $place; tunnel_is corp connected
        say "$place $(leaked)"
        go home; within 10 not nft list table inet roamward
      done
      stop_strays
      """)
    #expect(seen.lines == ["[cafe \(none)]", "[mobile \(none)]"])
  }

  @Test("none on the first arrival after the agent's start, though there was no network to leave") func firstArrival() throws {
    let scene = try leakScene(guarded.with("always", "\"on\""))
    let seen = try scene.run(
      """
      watch_places
      go cafe; see_leaks; go nothing
      export SETTLE=500ms
      start_agent
      start_strays
      within 5 nft list table inet roamward >/dev/null
      forget_leaks
      go cafe; tunnel_is corp connected
      say "$(leaked)"
      stop_strays
      """)
    #expect(seen.lines == ["[\(none)]"])
  }

  @Test("none for the time in which a network that has taken another's place settles") func noGap() throws {
    let rules = "[{ match: { interface-name: \"eth*\" }, action: disconnect }, { action: connect }]"
    let scene = try leakScene(guarded.with("always", "\"on\"").with("[{ action: connect }]", rules))
    let seen = try scene.run(
      """
      watch_places
      go cafe; see_leaks; go home
      export SETTLE=6s
      start_agent
      within 20 field_is corp decision disconnect
      within 10 not nft list table inet roamward
      start_strays
      within 20 all_leaked
      # The link comes first and takes nothing's place; so the network is settling when the café does.
      ip link set wlan0 up; ip address add 198.51.100.23/24 dev wlan0; sleep 0.5
      nft list table inet roamward >/dev/null 2>&1 || say "open at home"
      forget_leaks
      ip route replace default via 198.51.100.1 dev wlan0
      within 10 nft list table inet roamward >/dev/null
      say "closed while it settles"
      on cafe nft -j list counters table inet watch | jq -r '[.nftables[].counter.packets // empty] | add' >at-the-cafe
      # What was sent before the table may still wait for the router's hardware address.
      within 5 is_quiet
      forget_leaks; sleep 0.5
      say "$(leaked)"
      echo Cafe >$laptop/ssid
      tunnel_is corp connected
      stop_strays
      """)
    #expect(seen.lines == ["[open at home]", "[closed while it settles]", "[\(none)]"])
    print("packets in clear at the café before the table: \(scene.read("at-the-cafe"))")
  }

  @Test(
    "none from programs that bind to the link, raw sockets and forwarded machines, and whatever rules and tables others put beside ours")
  func waysAround() throws {
    let scene = try leakScene(guarded)
    let seen = try scene.run(
      """
      watch_places
      go cafe
      nobody=(setpriv --reuid nobody --regid nogroup --clear-groups)
      make_box
      # Headers and all written by the program itself, and echoes, bound to the link: seen by themselves.
      raw() {
        "$tests/forge" 198.51.100.23 203.0.113.80 wlan0; "$tests/forge" 2001:db8:2::23 2001:db8::80 wlan0
        busybox ping -c 1 -W 1 -I wlan0 203.0.113.80 >/dev/null 2>&1 || true
        busybox ping -6 -c 1 -W 1 -I wlan0 2001:db8::80 >/dev/null 2>&1 || true
      }
      raw_is_seen() { [[ $(leaked) == *" flow4=5 flow6=5 "* ]]; }
      raw; within 5 raw_is_seen; leaked
      as=("${nobody[@]}"); see_leaks wlan0; say "bound seen"
      as=(nsenter --net=/run/netns/box); see_leaks; say "forwarded seen"
      start_agent
      tunnel_is corp connected
      forget_leaks
      as=("${nobody[@]}"); start_strays wlan0; bound=$strays
      as=(nsenter --net=/run/netns/box); start_strays; forwarded=$strays
      raw; sleep 1; say "up $(leaked)"
      roamward down corp >/dev/null; within 5 field_is corp state disconnected
      raw; sleep 1; say "down $(leaked)"
      roamward resume corp >/dev/null; tunnel_is corp connected
      ip rule add priority 100 lookup main; ip -6 rule add priority 100 lookup main
      nft -f - <<NFT
      table inet theirs {
      $(for hook in prerouting input forward output postrouting; do
        for place in -300 300; do echo "chain $hook$((place + 300)) { type filter hook $hook priority $place; accept; }"; done
      done)
      }
      NFT
      as=(); start_strays; plain=$strays
      sleep 1; say "rules and tables $(leaked)"
      within 5 eval 'roamward status | found "rule 100: goes outside"'
      roamward status | grep -c 'rule 100: goes outside, because that rule looks up the main table before corp.s; the kill switch blocks it'
      for strays in $bound $forwarded $plain; do stop_strays; done
      """, limit: 90)
    #expect(
      seen.lines == [
        "dns4=0 dns6=0 flow4=5 flow6=5 gateway=0", "[bound seen]", "[forwarded seen]", "[up \(none)]", "[down \(none)]",
        "[rules and tables \(none)]", "1",
      ])
  }

  @Test("none that somebody inside the tunnel begins, and none by the port of DHCP; what is forwarded into the tunnel is answered")
  func smallPrint() throws {
    let scene = try leakScene(guarded)
    let seen = try scene.run(
      """
      go cafe
      make_box
      on cafe nft 'table inet watch { counter n { }; chain c { type filter hook prerouting priority -300
        iifname "lan0" ip saddr 10.77.0.1 counter name n
        iifname "lan0" ip daddr 203.0.113.80 udp dport 67 counter name n
      }; }'
      count() { on cafe nft -j list counter inet watch n | jq '.nftables[].counter.packets // empty'; }
      seen() { (( $(count) > 0 )); }
      echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start
      # As nobody, from port 68 to port 67 of somebody far away; and from the gateway to the café's router, by way of the laptop.
      lease() { setpriv --reuid nobody --regid nogroup --clear-groups perl -MSocket=:all -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0);
        setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1); bind($s, pack_sockaddr_in(68, INADDR_ANY)); send($s, "leak", 0, pack_sockaddr_in(67, inet_aton("203.0.113.80")))'; }
      reach() { on gateway busybox ping -c 1 -W 1 198.51.100.1 >/dev/null 2>&1 || true; }
      lease; within 5 seen; on cafe nft reset counters table inet watch >/dev/null; say "a lease"
      start_agent
      tunnel_is corp connected
      within 5 intranet_loads
      on gateway wg set gw0 peer "$(wg show corp public-key)" allowed-ips 10.77.0.2/32,10.99.0.2/32,198.51.100.1/32
      for to in 10.99.0.2 198.51.100.1; do ip -n gateway route add $to dev gw0; done
      ip rule add priority 100 to 198.51.100.1 lookup main
      lease; reach; reach; sleep 0.3; count
      nsenter --net=/run/netns/box busybox ping -c 1 -W 5 10.77.0.1 >/dev/null && say "answered"
      # They would pass, if it were not for the table.
      kill -STOP $(agent_pid)
      nft delete table inet roamward
      reach_and_see() { reach; seen; }
      within 5 reach_and_see && say "seen without the firewall"
      kill -CONT $(agent_pid)
      """)
    #expect(seen.lines == ["[a lease]", "0", "[answered]", "[seen without the firewall]"])
  }

  @Test(
    "none where somebody else's table sends packets another way after the kernel has routed them, and none by a mark that a user gives himself"
  )
  func rerouted() throws {
    let scene = try leakScene(guarded)
    let seen = try scene.run(
      """
      watch_places
      go cafe
      see_leaks
      start_agent
      tunnel_is corp connected
      # As split tunnelling by control groups does it, and as published ports of containers do it.
      ip rule add priority 100 fwmark 1 lookup main; ip -6 rule add priority 100 fwmark 1 lookup main
      nft -f - <<NFT
      table inet theirs {
        chain marks { type route hook output priority mangle; meta mark 0 meta mark set 1; }
        chain ports { type nat hook output priority -100; ip daddr 192.0.2.9 udp dport 9 dnat ip to 203.0.113.80:7777; }
      }
      NFT
      ip rule add priority 101 to 203.0.113.80 lookup main
      as=(setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps +net_raw --ambient-caps +net_raw)
      start_strays '' 0x52000000; marked=$strays
      as=(); start_strays; plain=$strays
      perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0); while (1) { send($s, "leak", 0, pack_sockaddr_in(9, inet_aton("192.0.2.9"))); select(undef, undef, undef, 0.01) }' &
      forget_leaks
      sleep 1; leaked
      # They would go outside, if it were not for the table.
      kill -STOP $(agent_pid)
      nft delete table inet roamward
      within 20 all_leaked
      kill -CONT $(agent_pid)
      within 5 nft list table inet roamward
      sleep 0.2; forget_leaks
      sleep 1; leaked
      kill $!
      for strays in $marked $plain; do stop_strays; done
      """)
    #expect(seen.lines.count { $0 == none } == 2 && seen.lines.last == none)
  }

  @Test(
    "none to the gateway's address by others than the tunnel itself, however return paths are checked (ServerIP)", arguments: [0, 1, 2])
  func serverIP(reversePath: Int) throws {
    let scene = try leakScene(enforced)
    let seen = try scene.run(
      """
      watch_places
      go cafe
      make_box
      as=(nsenter --net=/run/netns/box); see_leaks
      as=(setpriv --reuid nobody --regid nogroup --clear-groups); see_leaks
      for file in all wlan0; do echo \(reversePath) >/proc/sys/net/ipv4/conf/$file/rp_filter; done
      start_agent
      tunnel_is corp connected
      forget_leaks
      start_strays; own=$strays
      as=(nsenter --net=/run/netns/box); start_strays; forwarded=$strays
      sleep 1
      for strays in $own $forwarded; do stop_strays; done
      leaked
      say "$(seen_by 203.0.113.80)"
      """)
    #expect(seen.lines == [none, "[10.77.0.2]"])
  }

  @Test("none where the gateway's name leads elsewhere: nothing but the tunnel's own packets goes there, and it does not connect")
  func forgedEndpoint() throws {
    let scene = try leakScene(guarded)
    let seen = try scene.run(
      """
      sed -i 's|^Endpoint.*|Endpoint = vpn.corp.example:51820|' $policies/corp.conf
      watch_places
      go cafe
      see_leaks
      answer_endpoint_with cafe 203.0.113.80
      # The tunnel's own look-ups and handshakes are seen too; what is not theirs says "leak".
      on cafe nft 'insert rule inet watch passing iifname "lan0" ip daddr 203.0.113.80 udp dport 51820 counter accept'
      on cafe nft 'insert rule inet watch passing iifname "lan0" udp dport 53 @th,64,32 != 0x6c65616b accept'
      start_agent
      within 10 eval '! on cafe nft list chain inet watch passing | grep -F "dport 51820 counter packets 0"'
      forget_leaks
      start_strays
      sleep 2; stop_strays
      leaked
      field corp state
      """)
    #expect(seen.lines.first == none && seen.lines.last != "connected")
  }
}

/// A lab with the gateway's tunnel for everything, and the words of leaks.bash and of these files.
func leakScene(_ policy: String, _ words: String...) throws -> Scene {
  let scene = try Scene(["corp.yaml": policy], words: ["leaks.bash"] + words)
  try scene.run(
    """
    take_everything
    ip -n internet route add 10.77.0.0/16 via 203.0.113.10
    """)
  return scene
}

let guarded = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      kill-switch: always
      on-demand: { timing: { release-delay: 0s }, rules: [{ action: connect }] }
      routes: { include: [default] }

  """

let unguarded = guarded.with("kill-switch: always\n    ", "")

let enforced = unguarded.with("include: [default]", "include: [default], enforce: true")
