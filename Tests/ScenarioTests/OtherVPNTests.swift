import Testing

@Suite("Beside other VPNs", .needsLab)
struct OtherVPNTests {
  private let full = enforced.with(", enforce: true", "")

  private let words = """
    export WG_QUICK_USERSPACE_IMPLEMENTATION=wireguard-go
    # What is theirs, in order: rules, routes of their tables, their tables of nftables.
    theirs() { ip rule; ip -6 rule; for table in 52 7120 51820 main; do ip route show table $table 2>/dev/null || true; done; nft list ruleset; }
    without_ours() { grep -v -e 'proto 82' -e 'dev corp'; }

    """

  private func theirGateway(_ scene: Scene, allowed: String) throws {
    try scene.run(
      """
      umask 077
      second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 >$scene/theirs.conf
      sed -i 's|^AllowedIPs.*|AllowedIPs = \(allowed)|' $scene/theirs.conf
      """)
  }

  @Test("what wg-quick routes stays wg-quick's under a full tunnel, which says so; an enforced one takes it")
  func wgQuickSplit() throws {
    let scene = try leakScene(full)
    try theirGateway(scene, allowed: "10.88.0.0/16")
    let seen = try scene.run(
      words + """
        go cafe
        wg-quick up $scene/theirs.conf >/dev/null 2>&1
        theirs >before
        start_agent
        tunnel_is corp connected
        # A handshake that was lost is begun again after five seconds.
        within 10 busybox ping -c 1 -W 5 10.88.0.1 && say "theirs works"
        way_to 10.88.0.1; way_to 203.0.113.80
        roamward status | grep '^other'
        dry plan | grep -E '^(other|route).*(theirs)'
        sed -i 's/include: .default./include: [default], enforce: true/' $policies/corp.yaml
        within 5 way_is 10.88.0.1 corp
        stop_agent >/dev/null
        theirs >after; diff before after && say "untouched"
        wg-quick down $scene/theirs.conf >/dev/null 2>&1
        """)
    #expect(
      seen.lines == [
        "[theirs works]", "dev theirs", "dev corp", "other: another VPN (theirs) routes 10.88.0.0/16 in the main table; not touched",
        "route: corp: 10.88.0.0/16 dev theirs (made by hand, or by a DHCP client's script): goes outside, because another VPN of this machine routes it",
        "other: another VPN (theirs) routes 10.88.0.0/16 in the main table; not touched", "[untouched]",
      ])
  }

  @Test("wg-quick's tunnel for everything: its own packets stay outside of ours; come later, it comes before ours, and that is said")
  func wgQuickFull() throws {
    let scene = try leakScene(full)
    try theirGateway(scene, allowed: "0.0.0.0/0")
    let seen = try scene.run(
      words + """
        go cafe
        wg-quick up $scene/theirs.conf >/dev/null 2>&1
        theirs >before
        start_agent
        tunnel_is corp connected
        way_to 203.0.113.80
        ip route get 203.0.113.10 mark 51820 | grep -o 'dev [^ ]*'
        ip rule show priority 20900
        roamward status | grep '^other'
        theirs | without_ours >during; without_ours <before | diff - during | grep -v roamward | grep -c '^[<>].*rule' || true
        stop_agent >/dev/null
        theirs >after; diff before after && say "untouched"
        wg-quick down $scene/theirs.conf >/dev/null 2>&1
        start_agent
        tunnel_is corp connected
        wg-quick up $scene/theirs.conf >/dev/null 2>&1
        within 10 eval 'roamward status | grep -o "by rule 21748: goes outside"'
        way_to 203.0.113.80
        wg-quick down $scene/theirs.conf >/dev/null 2>&1
        within 5 way_is 203.0.113.80 corp
        """, limit: 60)
    #expect(
      seen.lines == [
        "dev corp", "dev wlan0", "20900:\tfrom all fwmark 0xca6c lookup main proto 82",
        "other: wg-quick (theirs) routes everything (IPv4) by rule 32765; not touched", "0", "[untouched]", "dev theirs",
      ])
  }

  @Test("Tailscale's rules, table and marks, made by hand: read, told of, kept clear of and not touched")
  func tailscale() throws {
    let scene = try leakScene(full)
    let seen = try scene.run(
      words + """
        go cafe
        ip tuntap add mode tun tailscale0; ip address add 100.101.102.103/32 dev tailscale0; ip link set tailscale0 up
        ip route add 100.64.0.0/10 dev tailscale0 table 52
        ip rule add priority 5210 fwmark 0x80000/0xff0000 lookup main
        ip rule add priority 5230 fwmark 0x80000/0xff0000 lookup default
        ip rule add priority 5250 fwmark 0x80000/0xff0000 unreachable
        ip rule add priority 5270 lookup 52
        # Somebody has taken our first place.
        ip rule add priority 21750 to 192.0.2.99 lookup main
        theirs >before
        start_agent
        tunnel_is corp connected
        ip rule | grep 'proto 82'
        roamward status | grep -E '^(other|note)'
        way_to 100.64.0.7; way_to 203.0.113.80
        ip route get 203.0.113.80 mark 0x80000 | grep -o 'dev [^ ]*'
        stop_agent >/dev/null
        theirs >after; diff before after && say "untouched"
        """)
    #expect(
      seen.lines == [
        "21751:\tnot from all fwmark 0x52000000/0xff000000 lookup 21751 proto 82",
        "note: the rule \"priority 21750 lookup 254 protocol 0\" is not Roamward's, and uses a number from 21000 to 23000; its place is left to it",
        "other: Tailscale (tailscale0) routes 100.64.0.0/10 by rule 5270; not touched", "dev tailscale0", "dev corp", "dev wlan0",
        "[untouched]",
      ])
  }
}
