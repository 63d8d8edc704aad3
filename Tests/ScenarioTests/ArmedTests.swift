import Testing

/// The company's tunnel, armed on every network but cables, and armed again after the shortest time without data. Its file has
/// persistent keepalives.
private let corpArmed = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      on-demand:
        timing: { release-delay: 0s, idle: 20s }
        rules:
          - { match: { interface-name: "eth*" }, action: disconnect }
          - action: evaluate-connection
            connections: [ { domains: [corp.example], action: connect-always } ]
      routes: { include: [10.77.0.0/16] }
      dns: { servers: [10.77.0.1], match-domains: [corp.example] }

  """

/// Counts what goes to WireGuard's port at the routers of café and mobile.
private let counting = """
  count_datagrams() {
    for place in cafe mobile; do
      on $place nft 'table inet armed; delete table inet armed
        table inet armed { chain c { type filter hook prerouting priority -300; udp dport 51820 counter; }; }'
    done
  }
  datagrams() { for place in cafe mobile; do on $place nft list table inet armed; done | grep -o 'packets [0-9]*' | awk '{ n += $2 } END { print n }'; }
  declare -A link=([cafe]=wlan0 [mobile]=wwan0 [nothing]=null)
  network_link_is() { [[ $(roamward status --json | jq -r .primary.link) == "$1" ]]; }
  asks() { on laptop busybox nslookup intranet.corp.example 10.77.0.1 | grep -q 'Address.*10.77.0.1$'; }
  sessions() { on laptop wg show corp latest-handshakes | awk '$2 > 0' | wc -l; }

  """

@Suite("An armed tunnel on real links", .needsLab)
struct ArmedTests {
  /// Runs a script in the café, where the tunnel is armed. `before`: what happens there before the agent starts.
  private func armed(after before: String, _ script: String) throws -> [String] {
    try Scene(["corp.yaml": corpArmed]).run(counting + "go cafe\n\(before)\nstart_agent\ntunnel_is corp armed\n" + script).lines
  }

  @Test("sends nothing on any network; a look-up connects it and is answered; idle, it is armed again")
  func life() throws {
    let seen = try armed(
      after: "count_datagrams",
      """
      # The counters see a handshake where there is one.
      roamward up corp >/dev/null
      tunnel_is corp connected
      (($(datagrams) > 0)) && say "counted"
      sleep 22
      say "by hand: $(field corp state)"
      roamward resume corp >/dev/null
      tunnel_is corp armed
      say "sessions $(sessions)"
      count_datagrams
      for place in mobile nothing cafe mobile cafe; do
        go $place
        within 5 network_link_is ${link[$place]}
        say "$place $(field corp state)"
      done
      sleep 6
      say "armed: $(datagrams) datagrams, 10.77.0.1 $(way_to 10.77.0.1), handshakes $(sessions)"
      within 2 asks && say "answered"
      tunnel_is corp connected
      intranet_loads && say "intranet"
      (($(datagrams) > 0)) && say "counted"
      tunnel_is corp armed
      count_datagrams
      sleep 6
      say "again: $(datagrams) datagrams, sessions $(sessions), keepalive $(on laptop wg show corp persistent-keepalive | cut -f 2)"
      intranet_loads && say "intranet"
      tunnel_is corp connected
      say "keepalive $(on laptop wg show corp persistent-keepalive | cut -f 2)"
      """)
    #expect(
      seen == [
        "[counted]", "[by hand: connected]", "[sessions 0]", "[mobile armed]", "[nothing armed]", "[cafe armed]", "[mobile armed]",
        "[cafe armed]",
        "[armed: 0 datagrams, 10.77.0.1 dev corp, handshakes 0]", "[answered]",
        "[intranet]", "[counted]", "[again: 0 datagrams, sessions 0, keepalive off]", "[intranet]", "[keepalive 25]",
      ])
  }

  @Test("whose gateway is dead leads nowhere rather than outside, says so, and connects when it is back")
  func deadGateway() throws {
    let seen = try armed(
      after: "on gateway nft 'table inet dead { chain input { type filter hook input priority 0; udp dport 51820 drop; }; }'",
      """
      field corp notes | grep -o 'armed: comes up at the first packet; until its gateway answers, 10.77.0.0/16 and names in corp.example are unreachable'
      asks && say "answered" || say "not answered"
      within 5 field_is corp state connecting
      tunnel_is corp armed
      field corp failure
      say "$(way_to 10.77.0.1)"
      on gateway nft delete table inet dead
      within 10 asks && say "answered"
      tunnel_is corp connected
      say "$(field corp failure)"
      """)
    #expect(
      seen == [
        "armed: comes up at the first packet; until its gateway answers, 10.77.0.0/16 and names in corp.example are unreachable",
        "[not answered]",
        "a packet asked for it, and the peer did not answer within 15 s; armed again", "[dev corp]", "[answered]", "[null]",
      ])
  }

  @Test("stays when the agent is killed, and works; the next agent arms it again, and a clean-up leaves nothing")
  func killed() throws {
    let seen = try armed(
      after: "remember",
      """
      kill_agent
      say "$(way_to 10.77.0.1)"
      within 2 asks && say "answered"
      start_agent
      tunnel_is corp armed
      say "sessions $(sessions)"
      within 2 asks && say "answered"
      tunnel_is corp connected
      kill_agent
      cleanup_agent
      as_before && say "nothing left"
      start_agent
      tunnel_is corp armed
      say "stopped $(stop_agent)"
      as_before && say "nothing left"
      """)
    #expect(
      seen == [
        "[dev corp]", "[answered]", "[sessions 0]", "[answered]", "[nothing left]", "[stopped 0]", "[nothing left]",
      ])
  }

  @Test("whose gateway's name cannot be resolved is armed, and connects once it can")
  func unresolvedName() throws {
    let seen = try armed(
      after: """
        sed -i 's|^Endpoint.*|Endpoint = vpn.corp.example:51820|' $policies/corp.conf
        on cafe nft 'table inet portal { chain c { type filter hook prerouting priority -300; iifname "lan0" udp dport 53 drop; }; }'
        """,
      """
      asks || say "not answered, $(field corp state)"
      on cafe nft delete table inet portal
      within 40 asks && say "answered"
      tunnel_is corp connected
      """)
    #expect(seen == ["[not answered, armed]", "[answered]"])
  }

  /// The kernel's times of the first packet into the tunnel's link and of the handshake that leaves because of it. The least of ten,
  /// because on a busy machine any of them can be late.
  @Test("begins its handshake within a millisecond of the first packet") func handshake() throws {
    let seen = try armed(
      after: "",
      """
      perl "$tests/stamps" wlan0 203.0.113.10:51820 outside & outside=$!
      within 5 grep -q listening outside
      for i in {1..10}; do
        perl "$tests/stamps" corp 10.77.0.9 inside-$i & inside=$!
        within 5 grep -q listening inside-$i
        before=$(wc -l <outside)
        busybox ping -c 1 -W 1 10.77.0.9 >/dev/null || true
        # Each is written by a process of its own.
        within 5 eval '(($(wc -l <outside) > before && $(wc -l <inside-$i) > 1))'
        say "$(sed -n 2p inside-$i) $(sed -n $((before + 1))p outside)"
        kill $inside
        roamward down corp --wait 20 >/dev/null
        roamward resume corp >/dev/null
        tunnel_is corp armed
      done
      kill $outside
      """)
    let delays = seen.compactMap { line -> Double? in
      let times = line.split { "[] ".contains($0) }.compactMap { word -> (Int, Double)? in
        let parts = word.split(separator: ".")
        return parts.count == 2 ? (Int(parts[0]) ?? 0, (Double(parts[1]) ?? 0) / 1e6) : nil
      }
      return times.count == 2 ? Double(times[1].0 - times[0].0) * 1000 + times[1].1 - times[0].1 : nil
    }
    #expect(delays.count == 10 && delays.allSatisfy { $0 > 0 }, "\(seen)")
    #expect((delays.min() ?? 9) < 1, "\(delays) ms")
    print("Handshake of an armed tunnel: \(delays.sorted()) ms after the first packet")
  }
}
