import Testing

/// A machine that others reach, with a full tunnel: its ports, and relays that carry the tunnel's own packets.
@Suite("A server with a full tunnel", .needsLab)
struct ServerTests {
  private func scene(_ settings: String = "", routes: String = "include: [default]") throws -> Scene {
    let policy = """
      version: 1
      tunnels:
        corp:
          provider: { wireguard: { config: corp.conf } }
          on-demand: { rules: [{ action: connect }] }
          routes: { \(routes) }
      \(settings.isEmpty ? "" : "    \(settings)\n")
      """
    let scene = try Scene(["corp.yaml": policy])
    try scene.run(
      """
      sed -i 's|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|' $policies/corp.conf
      ip -n internet route add 10.77.0.0/16 via 203.0.113.10
      """)
    return scene
  }

  private static let words = """
    go cafe
    mkdir -p $scene/www && echo served >$scene/www/index.html
    busybox httpd -p 8080 -h $scene/www
    # A container behind a bridge, with a published port.
    ip netns add box
    ip link add guests type bridge
    ip address add 172.31.0.1/24 dev guests
    ip link set guests up
    ip link add port0 type veth peer name eth0 netns box
    ip link set port0 master guests up
    ip -n box address add 172.31.0.2/24 dev eth0
    ip -n box link set eth0 up
    ip -n box route add default via 172.31.0.1
    ip netns exec box busybox httpd -p 80 -h $scene/www
    echo 1 >/proc/sys/net/ipv4/ip_forward
    nft 'table ip publish { chain in { type nat hook prerouting priority dstnat; iifname "wlan0" tcp dport 8081 dnat to 172.31.0.2:80; }; }'
    served() { [[ $(on internet curl -s --max-time 2 http://198.51.100.23:$1/) == served ]]; }
    within 5 served 8080
    within 5 served 8081
    # The kernel tells of a link's state some time after the link has it.
    unknown_states() { ip -j link | jq -e '.[] | select(.ifname != "lo" and .operstate == "UNKNOWN")'; }
    within 5 not unknown_states
    # From outside: both ports; from inside: how the internet sees this machine's own connections.
    ways() { echo "$(served 8080 && echo host || echo -) $(served 8081 && echo container || echo -) $(seen_by 203.0.113.80)"; }
    ways_are() { [[ $(ways) == "$1" ]]; }

    """

  @Test("ports are unreachable, which plan, doctor and status tell, until answers leave by the link of arrival")
  func answers() throws {
    let seen = try scene().run(
      Self.words + """
        say "$(ways)"
        dry plan | grep -c 'port 8080 of this machine get no answer, because the answers go into it; cure: .routes: { answer-by-arrival'
        roamward doctor --policies $policies "${inputs[@]}" --state-dir $scene/state --json | jq -r '.findings[] | select(.message | contains("8080")) | .severity + " " + .cure' || true
        remember
        start_agent
        tunnel_is corp connected
        within 5 ways_are "- - 10.77.0.2"
        roamward status --json | jq -r '.tunnels[0].notes[] | select(.code == "unanswered") | .text' | cut -d ' ' -f 1-14
        sed -i 's/include: .default./&, answer-by-arrival: true/' $policies/corp.yaml
        within 10 ways_are "host container 10.77.0.2"
        say "$(ways) $(roamward status --json | jq '[.tunnels[0].notes[] | select(.code == "unanswered")] | length') $(counter repairs)"
        dry diff >/dev/null && say "no drift"
        say "$(on internet busybox ping -c 1 -W 5 198.51.100.23 | grep -c ' 0% packet loss')"
        stop_agent
        as_before
        say "$(ways)"
        """, limit: 120)
    #expect(
      seen.lines == [
        "[host container 198.51.100.23]", "1", "risk `routes: { answer-by-arrival: true }`",
        "connections from beyond the local network to port 8080 of this machine get no", "[host container 10.77.0.2 0 0]", "[no drift]",
        "[1]", "0", "[host container 198.51.100.23]",
      ], "\(seen)")
  }

  @Test("the same under a kill switch, where nothing else gets past it, while the tunnel is up and while it is not")
  func underKillSwitch() throws {
    let seen = try scene("kill-switch: \"on\"", routes: "include: [default], answer-by-arrival: true").run(
      Self.words + """
        start_agent
        tunnel_is corp connected
        within 10 ways_are "host container 10.77.0.2"
        say "$(ways)"
        # A program that binds itself to the network's link or address is no answer.
        say "$(curl -s --max-time 2 --interface wlan0 http://203.0.113.80/ || echo blocked) $(curl -s --max-time 2 --interface 198.51.100.23 http://203.0.113.80/cgi-bin/whoami || echo blocked)"
        # A program of no privileges serves too.
        runuser -u nobody -- busybox httpd -p 8082 -h $scene/www
        within 5 served 8082 && say unprivileged
        on gateway ip link set gw0 down
        roamward doctor --policies $policies "${inputs[@]}" --state-dir $scene/state --json | jq '[.findings[] | select(.message | contains("8080"))] | length' || true
        sed -i 's/, answer-by-arrival: true//' $policies/corp.yaml
        within 10 not served 8080
        say "$(served 8081 && echo container || echo -) $(served 8082 && echo unprivileged || echo -)"
        roamward status --json | jq -r '.tunnels[0].notes[] | select(.code == "unanswered") | .text' | grep -o 'its kill switch drops them'
        stop_agent
        """, limit: 120)
    #expect(
      seen.lines == [
        "[host container 10.77.0.2]", "[blocked blocked]", "[unprivileged]", "0", "[- -]", "its kill switch drops them", "0",
      ], "\(seen)")
  }

  @Test("where the kernel checks return paths strictly, the option is told as one without effect, and the cure gives it its effect")
  func strictPaths() throws {
    let seen = try scene(routes: "include: [default], answer-by-arrival: true").run(
      Self.words + """
        for link in all wlan0; do echo 1 >/proc/sys/net/ipv4/conf/$link/rp_filter; done
        start_agent
        tunnel_is corp connected
        roamward status | grep -o '.answer-by-arrival. has no effect' || true
        roamward status --json | jq -r '.tunnels[0].notes[] | select(.code == "unanswered").text' | grep -o 'cure: .*'
        within 5 ways_are "- - 10.77.0.2"
        sysctl -qw net.ipv4.conf.all.rp_filter=2
        within 10 ways_are "host container 10.77.0.2"
        within 5 eval '! roamward status | grep "has no effect" >/dev/null'
        stop_agent
        """, limit: 120)
    #expect(
      seen.lines == ["`answer-by-arrival` has no effect", "cure: sysctl net.ipv4.conf.all.rp_filter=2", "0"], "\(seen)")
  }

  @Test(
    "a relay on this machine is told by check, plan and status as what it is; packets that go round are noted, and excluded they do not")
  func relay() throws {
    let seen = try scene().run(
      """
      sed -i 's|^Endpoint.*|Endpoint = 127.0.0.1:51899|' $policies/corp.conf
      go cafe
      cat >$scene/relay <<'END'
      use IO::Socket::INET; use IO::Select;
      my $in = IO::Socket::INET->new(Proto => "udp", LocalAddr => "127.0.0.1", LocalPort => 51899) or die;
      my $out = IO::Socket::INET->new(Proto => "udp", PeerAddr => "203.0.113.10", PeerPort => 51820) or die;
      my $select = IO::Select->new($in, $out); my $client;
      while (1) { for my $socket ($select->can_read) { my $packet;
        if ($socket == $in) { $client = $in->recv($packet, 65535) or next; $out->send($packet) }
        else { defined $out->recv($packet, 65535) or next; $in->send($packet, 0, $client) if $client } } }
      END
      perl $scene/relay &
      within 5 eval "ss -Hlun 'sport = :51899' | grep -q ."
      { roamward check $policies 2>&1 || true; } | grep -o 'its endpoint 127.0.0.1:51899 is a relay on this machine, whose own packets go into the tunnel that they carry'
      dry plan | grep -c 'is a relay on this machine'
      start_agent
      tunnel_is corp connected
      roamward status | grep -c 'is a relay on this machine'
      # The relay's packets go into the tunnel that they carry, and are carried again.
      for i in {1..200}; do echo x >/dev/udp/203.0.113.80/9; done
      within 10 eval "roamward status --json | jq -e '.tunnels[0].notes[] | select(.code == \\"one-way\\")'"
      say "goes round"
      sed -i 's|include: .default.|&, exclude: [203.0.113.10/32]|' $policies/corp.yaml
      within 10 eval '[[ $(seen_by 203.0.113.80) == 10.77.0.2 ]]'
      say "$(roamward check $policies 2>&1 | grep -c relay || true) $(roamward status | grep -c 'is a relay' || true)"
      stop_agent
      """, limit: 120)
    #expect(
      seen.lines == [
        "its endpoint 127.0.0.1:51899 is a relay on this machine, whose own packets go into the tunnel that they carry", "1", "1",
        "[goes round]", "[0 0]", "0",
      ], "\(seen)")
  }
}
