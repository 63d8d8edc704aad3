import Testing

/// Links of others, and settings of the whole machine.
@Suite("What is not Roamward's", .needsLab)
struct UntouchedTests {
  @Test("links of the machine's own, their addresses and every setting of its kernel stay as they are, at each moment of a tunnel's life")
  func untouched() throws {
    let scene = try leakScene(guarded.with("include: [default]", "include: [default], enforce: true"))
    let seen = try scene.run(
      """
      # What the kernel lets be set, but for the tunnel's own link and for what counts.
      settings() { grep -rs '' /proc/sys/net/ipv4 /proc/sys/net/ipv6 /proc/sys/net/core | grep -v -e '/corp/' -e 'stable_secret' -e '/nf_' || true; }
      carriers() { grep -H '' /sys/class/net/{eth0,wlan0,wwan0}/carrier_changes; }
      others() { sed 's/^Deleted //' events | grep -E '^[0-9]+: (eth0|wlan0|wwan0)[@: ]|^    link.*(eth0|wlan0|wwan0)' || true; }
      go cafe
      settings >settings.before; carriers >carriers.before
      ip -o monitor link address >events 2>&1 & monitor=$!
      # Both eyes are open.
      echo 2 >/proc/sys/net/ipv4/conf/wlan0/rp_filter
      settings | diff settings.before - >/dev/null || say "a setting is seen"
      echo 0 >/proc/sys/net/ipv4/conf/wlan0/rp_filter
      see() { ip link set wlan0 mtu 1400; ip link set wlan0 mtu 1500; [[ -n $(others) ]]; }
      within 5 see; say "a link is seen"
      sleep 0.5; kill $monitor; wait $monitor 2>/dev/null || true
      settings | diff settings.before - && carriers | diff carriers.before -
      ip -o monitor link address >events 2>&1 & monitor=$!
      sleep 0.5
      start_agent
      tunnel_is corp connected
      settings | diff settings.before - && say "settings while it is up"
      roamward down corp >/dev/null; tunnel_is corp disconnected
      settings | diff settings.before - && say "settings while it is held back"
      roamward resume corp >/dev/null; tunnel_is corp connected
      ip rule del priority 21750; within 10 eval 'ip rule show priority 21750 | grep 21750' >/dev/null
      stop_agent >/dev/null
      "$bin/roamwardd" --release 2>>$scene/agent.log
      sleep 0.5; kill $monitor; wait $monitor 2>/dev/null || true
      grep -q corp events && say "the tunnel's link was seen"
      others
      carriers | diff carriers.before - && settings | diff settings.before - && say "as before"
      """, limit: 120)
    #expect(
      seen.lines == [
        "[a setting is seen]", "[a link is seen]", "[settings while it is up]", "[settings while it is held back]",
        "[the tunnel's link was seen]", "[as before]",
      ])
  }

  /// An Ethernet port that leads nowhere is up and has an address; some programs take it for the network.
  @Test("what the rules judge is the link that the best default route leads by, and not another that is up")
  func primary() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      primary_is() { [[ $(roamward status --json | jq -r .primary.link) == "$1" ]]; }
      go cafe
      # A cable without a way out, and one whose way is worse.
      ip link set eth0 up; ip address add 192.0.2.23/24 dev eth0
      start_agent
      tunnel_is corp connected
      primary_is wlan0 && say "a cable that leads nowhere"
      ip route add default via 192.0.2.1 dev eth0 metric 20100
      sleep 1; within 10 primary_is wlan0; field_is corp decision connect && say "a way that is worse"
      roamward network --json | jq -c '.links | keys'
      # Now the cable's way is the best one there is.
      ip route replace default via 198.51.100.1 dev wlan0 metric 20200; ip route del default via 198.51.100.1 dev wlan0 metric 0
      ip -6 route replace default via 2001:db8:2::1 dev wlan0 metric 20200; ip -6 route del default via 2001:db8:2::1 dev wlan0 metric 1024
      within 20 primary_is eth0; within 20 field_is corp decision disconnect && say "the better one"
      """, limit: 120)
    #expect(
      seen.lines == ["[a cable that leads nowhere]", "[a way that is worse]", #"["eth0","wlan0"]"#, "[the better one]"])
  }
}
