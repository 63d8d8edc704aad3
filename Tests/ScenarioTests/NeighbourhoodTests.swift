import Testing

/// Printers, file servers and whatever else stands in the same network as the laptop, under a tunnel for everything.
@Suite("The neighbourhood", .needsLab)
struct NeighbourhoodTests {
  /// The private networks of homes. On the home's router there are two of them, and a host of a third behind it; in the café one.
  private let places = """
    for address in 192.168.7.1/24 192.168.8.1/24; do ip -n home address add $address dev lan0; done
    ip -n home address add 192.168.99.1/32 dev lo
    ip -n cafe address add 192.168.9.1/24 dev lan0
    at_home() { go home; ip address add 192.168.7.23/24 dev eth0; }
    in_cafe() { go cafe; ip address add 192.168.9.23/24 dev wlan0; }
    answers() { busybox ping -c 1 -W 2 "$1" >/dev/null 2>&1; }
    refuses() { ! busybox ping -c 1 -W 1 "$1" >/dev/null 2>&1; }

    """

  @Test(
    "is reached on the networks that are named, as far as the machine is attached to it and no further, and that follows every change",
    arguments: [
      guarded, enforced, enforced.with(", enforce: true", ""),
    ])
  func attached(_ policy: String) throws {
    let policy =
      policy.with("version: 1", "version: 1\nnetworks: { home: { gateway: 192.0.2.1, gateway-mac: '02:00:5e:10:00:01' } }")
      .with("include: [default]", "include: [default], lan: allow, lan-networks: [home]")
    let scene = try leakScene(policy)
    let seen = try scene.run(
      places + """
        # All of them answer where nothing is in the way.
        at_home; ip address add 192.168.8.23/24 dev eth0
        for address in 192.168.7.1 192.168.8.1 192.168.99.1; do within 5 answers $address; done
        in_cafe; within 5 answers 192.168.9.1
        say seen
        at_home
        start_agent
        tunnel_is corp connected
        within 10 answers 192.168.7.1; say "the printer at home"
        refuses 192.168.8.1; refuses 192.168.99.1; say "and no other private network"
        # A cable to another one.
        ip address add 192.168.8.23/24 dev eth0
        within 10 answers 192.168.8.1; say "the new one"
        ip address del 192.168.8.23/24 dev eth0
        within 10 refuses 192.168.8.1; say "until it goes"
        in_cafe
        tunnel_is corp connected
        within 10 refuses 192.168.9.1; refuses 192.168.9.1; say "nobody in the café"
        at_home
        within 20 answers 192.168.7.1; say "home again"
        seen_by 203.0.113.80
        """, limit: 200)
    #expect(
      seen.lines == [
        "[seen]", "[the printer at home]", "[and no other private network]", "[the new one]", "[until it goes]", "[nobody in the café]",
        "[home again]", "10.77.0.2",
      ])
  }

  @Test(
    "that has the numbers of the company's network is what the policy says it is", arguments: ["prefer-local", "prefer-tunnel", "refuse"])
  func overlap(_ choice: String) throws {
    let scene = try Scene([
      "corp.yaml": unguarded.with("include: [default]", "include: [10.77.0.0/16, 192.168.7.0/24], on-overlap: \(choice)")
    ])
    let seen = try scene.run(
      places + """
        # The same number at home and in the company; who answers says where it is.
        sed -i 's|^AllowedIPs.*|AllowedIPs = 10.77.0.0/16, 192.168.7.0/24|' $policies/corp.conf
        ip -n gateway address add 192.168.7.1/32 dev lo
        for node in home gateway; do mkdir $node; echo "$node" >$node/index.html; on $node busybox httpd -p 192.168.7.1:8080 -h $PWD/$node; done
        who() { curl --silent --max-time 2 http://192.168.7.1:8080/ || echo nobody; }
        who_is() { [[ $(who) == "$1" ]]; }
        # While the tunnel follows the machine, an answer may come later than `who` waits.
        somewhere() { who >whose; not grep -qx nobody whose; }
        at_home; within 5 who_is home
        start_agent
        go cafe
        tunnel_is corp connected
        within 10 who_is gateway; say "in the café the company"
        at_home
        case \(choice) in
          prefer-local) tunnel_is corp connected; within 20 who_is home ;;
          prefer-tunnel) tunnel_is corp connected; within 20 who_is gateway ;;
          refuse) within 20 eval '[[ $(field corp failure) == *"on-overlap is refuse"* ]]'; within 10 who_is home ;;
        esac
        within 5 somewhere; say "at home $(<whose)"
        { dry plan --up corp; roamward status; } >told 2>&1
        grep -o '192.168.7.0/24 stays outside, because this machine is attached to it\\|attached to 192.168.7.0/24, which the tunnel includes, and on-overlap is refuse\\|192.168.7.0/24 dev eth0 (attached): goes inside, because corp includes 192.168.7.0/24, and on-overlap is prefer-tunnel' told | sort -u
        go cafe
        tunnel_is corp connected
        within 20 who_is gateway; say "and the company again"
        """, limit: 200)
    let told =
      switch choice {
      case "prefer-local": ["[at home home]", "192.168.7.0/24 stays outside, because this machine is attached to it"]
      case "prefer-tunnel":
        [
          "[at home gateway]",
          "192.168.7.0/24 dev eth0 (attached): goes inside, because corp includes 192.168.7.0/24, and on-overlap is prefer-tunnel",
        ]
      default: ["[at home home]", "attached to 192.168.7.0/24, which the tunnel includes, and on-overlap is refuse"]
      }
    #expect(seen.lines == ["[in the café the company]"] + told + ["[and the company again]"])
  }

  @Test("of the same numbers is not the same place: home is its router, not its prefix")
  func twins() throws {
    let scene = try Scene([
      "corp.yaml": corp.with(
        "- { match: { interface-name: \"eth*\" }, action: disconnect }", "- { match: { network: home }, action: disconnect }"
      )
      .with("version: 1", "version: 1\nnetworks: { home: { subnet: 192.168.7.0/24, gateway-mac: '02:00:5e:10:00:01' } }")
      .with("- { match: { ssid: Cafe }, action: connect }", "- { action: connect }")
    ])
    let seen = try scene.run(
      """
      # Both routers hand out the commonest numbers there are, and hide them behind their own.
      for place in home cafe; do
        ip -n $place address add 192.168.7.1/24 dev lan0
        on $place nft 'table ip hide { chain c { type nat hook postrouting priority srcnat; oifname "wan0" ip saddr 192.168.7.0/24 masquerade; }; }'
      done
      settle_in() { ip address flush dev $1; ip address add 192.168.7.23/24 dev $1; ip route replace default via 192.168.7.1 dev $1; }
      go home; settle_in eth0
      start_agent
      within 20 field_is corp decision disconnect
      say "at home $(field corp state)"
      go cafe; settle_in wlan0
      tunnel_is corp connected
      within 10 intranet_loads; say "in the café connected"
      go home; settle_in eth0
      within 20 field_is corp decision disconnect
      tunnel_is corp disconnected; say "at home disconnected"
      """, limit: 200)
    #expect(seen.lines == ["[at home disconnected]", "[in the café connected]", "[at home disconnected]"])
  }

  /// The company's network is where the laptop stands, and its gateway is reached at the address that it has outside.
  @Test("that is the tunnel's own other end: from inside, nothing is led around, and the gateway answers all the same")
  func inside() throws {
    let scene = try Scene([
      "corp.yaml": unguarded.with("include: [default]", "include: [10.77.0.0/16, 192.0.2.0/24, 203.0.113.0/25], on-overlap: prefer-local")
    ])
    let seen = try scene.run(
      """
      # All that it includes, and its own gateway's address too.
      sed -i 's|^AllowedIPs.*|AllowedIPs = 10.77.0.0/16, 192.0.2.0/24, 203.0.113.0/25|' $policies/corp.conf
      go home
      start_agent
      tunnel_is corp connected
      way_to 192.0.2.1
      busybox ping -c 1 -W 5 192.0.2.1 >/dev/null && say "the neighbour"
      within 10 intranet_loads; say "the company"
      ip route get 203.0.113.10 mark 0x52000000 | grep -o 'dev [^ ]*'
      field corp state
      """)
    #expect(seen.lines == ["dev eth0", "[the neighbour]", "[the company]", "dev eth0", "connected"])
  }
}
