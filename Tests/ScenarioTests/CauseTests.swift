import Testing

/// The causes behind "the peer did not answer" that this machine knows: each is told as itself, and cured where it can be.
@Suite("Causes", .needsLab)
struct CauseTests {
  struct Cause: Sendable, CustomTestStringConvertible {
    let code: String
    /// Makes the cause, in the café.
    let make: String
    /// Ends it; the tunnel connects then.
    let mend: String
    let failure: String

    var testDescription: String { "\(code): \(make)" }
  }

  static let causes = [
    Cause(
      code: "endpoint-unreachable", make: "ip route add blackhole 203.0.113.10/32", mend: "ip route del blackhole 203.0.113.10/32",
      failure: "a route of this machine (blackhole) discards what is sent to 203.0.113.10, the tunnel's endpoint"),
    Cause(
      code: "endpoint-unreachable", make: "ip route add prohibit 203.0.113.10/32", mend: "ip route del prohibit 203.0.113.10/32",
      failure: "a route of this machine prohibits what is sent to 203.0.113.10, the tunnel's endpoint"),
    Cause(
      code: "endpoint-unreachable", make: "ip rule add to 203.0.113.10 prohibit priority 90", mend: "ip rule del priority 90",
      failure: "a route of this machine prohibits what is sent to 203.0.113.10, the tunnel's endpoint"),
    Cause(
      code: "endpoint-unreachable", make: "ip route add unreachable 203.0.113.10/32", mend: "ip route del unreachable 203.0.113.10/32",
      failure:
        "203.0.113.10, the tunnel's endpoint, is unreachable: a route of this machine says so, or the next hop does not answer"),
    Cause(
      code: "send-refused",
      make: "nft 'table inet theirs { chain out { type filter hook output priority 0; ip daddr 203.0.113.10 udp dport 51820 drop; }; }'",
      mend: "nft delete table inet theirs",
      failure: "this machine's firewall drops what is sent to 203.0.113.10, UDP port 51820, the tunnel's endpoint"),
  ]

  @Test("of routes, rules and a firewall of this machine are told at once, and go when these do", arguments: causes, ["off", "\"on\""])
  func local(_ cause: Cause, killSwitch: String) throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always + "    kill-switch: \(killSwitch)\n"]).run(
      """
      go cafe
      \(cause.make)
      start_agent
      within 3 field_is corp '"failure-code"' \(cause.code)
      field corp failure
      roamward status | grep -c 'failure: ' || true
      dry doctor | grep -A1 'the last attempt failed' | grep -c 'cure: ' || true
      \(cause.mend)
      tunnel_is corp connected
      roamward status --json | jq -c '.tunnels[0]."failure-code"'
      """)
    #expect(seen.lines == [cause.failure, "1", "1", "null"])
  }

  @Test("a port at which nothing receives is told, once the peer had its time")
  func portClosed() throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).run(
      """
      sed -i 's|^Endpoint.*|Endpoint = 203.0.113.10:51999|' $policies/corp.conf
      go cafe
      start_agent
      within 20 field_is corp '"failure-code"' port-closed
      field corp failure
      """)
    #expect(
      seen.lines == ["the peer did not answer, and 203.0.113.10 or a firewall before it says that nothing receives at UDP port 51999"])
  }

  @Test(
    "a port that another program has is told with that program; the tunnel listens at another one",
    arguments: ["", "as the unit runs it, without a look into other users' processes"])
  func portTaken(_ how: String) throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).run(
      """
      if [[ -n "\(how)" ]]; then
        mkdir "$scene/poor"
        printf '#!/bin/sh\\nexec setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace "%s/roamwardd" "$@"\\n' "$bin" >"$scene/poor/roamwardd"
        chmod +x "$scene/poor/roamwardd"
        ln -s "$bin/roamward" "$scene/poor/roamward"
        bin=$scene/poor
      fi
      as() { runuser -u nobody -- "$@"; }
      holder() { sed "s/taken by .* (process $taker[^)]*)/taken by IT/; s/taken by [^,]*/taken by IT/"; }
      bound() { within 5 eval "[[ -s $1 ]]"; taker=$(cat "$1"); }
      sed -i '/^.Interface/a ListenPort = 47001' $policies/corp.conf
      install -o nobody -d "$scene/taken"
      cat >"$scene/taken/binder" <<'END'
      import os, socket, sys, time
      taken = socket.socket(getattr(socket, sys.argv[1]), socket.SOCK_DGRAM)
      taken.bind(("", 47001))
      open(sys.argv[2], "w").write(str(os.getpid()))
      time.sleep(600)
      END
      as python3 "$scene/taken/binder" AF_INET "$scene/taken/four" &
      bound "$scene/taken/four"
      go cafe
      start_agent
      tunnel_is corp connected
      roamward status --json | jq -r '.tunnels[0].notes[] | select(.code == "port-taken").text' | holder
      roamward status | grep -c 'UDP port 47001 is taken' || true
      dry diff >/dev/null && echo "no difference"
      say "$(counter repairs)"
      kill $taker
      within 5 eval '! ss -Hlun "sport = :47001" | grep . >/dev/null'
      roamward down corp >/dev/null; tunnel_is corp disconnected
      roamward up corp >/dev/null; tunnel_is corp connected
      ss -Hlun 'sport = :47001' | grep . >/dev/null && echo "and has its own again"
      stop_agent
      # A peer that begins the sessions itself needs this port.
      sed -i '/^Endpoint/d' $policies/corp.conf
      as python3 "$scene/taken/binder" AF_INET6 "$scene/taken/six" &
      bound "$scene/taken/six"
      start_agent
      within 3 field_is corp '"failure-code"' port-taken
      field corp failure | holder
      kill $taker
      """)
    #expect(
      seen.lines.filter { !["0", "Terminated"].contains($0) } == [
        "UDP port 47001 is taken by IT, so it listens at another one until it starts again", "1", "no difference", "[0]",
        "and has its own again",
        "UDP port 47001 is taken by IT, and the tunnel has to listen there: a peer without an endpoint begins the sessions",
      ])
  }

  @Test("a clock behind the time of an earlier agent is told beside a peer that does not answer")
  func clockBehind() throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).run(
      """
      sed -i 's|^Endpoint.*|Endpoint = 203.0.113.77:51820|' $policies/corp.conf
      ip -n internet address add 203.0.113.77/25 dev br0
      ip netns exec internet nft 'table inet silent { chain in { type filter hook input priority 0; ip daddr 203.0.113.77 drop; }; }'
      go cafe
      start_agent
      within 20 field_is corp '"failure-code"' peer-timeout
      stop_agent >/dev/null
      touch -d '+3 days' "$scene/state/holds.json"
      start_agent
      within 20 field_is corp '"failure-code"' clock-behind
      field corp failure | grep -o '.*clock is [23] d'
      """)
    let told = "the peer did not answer, and this machine's clock is "
    #expect(seen.lines == [told + "2 d"] || seen.lines == [told + "3 d"])
  }

  @Test("a name that does not exist, and a name server that does not answer, are two causes")
  func names() throws {
    let scene = try Scene(["corp.yaml": OddFilesTests.always])
    let seen = try scene.run(
      """
      sed -i 's|^Endpoint.*|Endpoint = vpn.corp.example:51820|' $policies/corp.conf
      answer_endpoint_with cafe ''
      go cafe
      start_agent
      within 3 field_is corp '"failure-code"' name-unknown
      field corp failure
      stop_agent >/dev/null
      echo 'nameserver 198.51.100.99' >$laptop/resolv.conf
      start_agent
      within 15 field_is corp '"failure-code"' endpoint-unresolved
      field corp failure
      """)
    #expect(seen.lines.first == "the endpoint vpn.corp.example cannot be resolved: there is no name vpn.corp.example")
    #expect(seen.lines.last?.hasPrefix("the endpoint vpn.corp.example cannot be resolved: cannot look up vpn.corp.example: ") == true)
  }

  @Test("on a network of IPv6 alone an IPv4 endpoint is reached by the network's translation, and directly on the next network")
  func translated() throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).run(
      """
      # The network's translator, as far as the endpoint goes: the gateway has that address itself.
      ip -n gateway address add 64:ff9b::cb00:710a/128 dev wan0 nodad
      ip -n internet route add 64:ff9b::/96 via 2001:db8::10
      server=$(on cafe ss -Hlunp 'sport = :53' | grep -o 'pid=[0-9]*' | head -n 1)
      kill "${server#pid=}"
      within 2 not kill -0 "${server#pid=}"
      on cafe dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --interface=lan0 --pid-file= \
        --host-record=ipv4only.arpa,192.0.0.170,64:ff9b::c000:aa --address=/#/
      go cafe
      ip -4 address flush dev wlan0
      echo 'nameserver 2001:db8:2::1' >$laptop/resolv.conf
      start_agent
      tunnel_is corp connected
      field corp endpoint
      dry diff >/dev/null && echo "no difference"
      say "$(counter repairs)"
      go home
      within 10 field_is corp endpoint 203.0.113.10:51820
      tunnel_is corp connected
      stop_agent
      """)
    #expect(seen.lines == ["[64:ff9b::cb00:710a]:51820", "no difference", "[0]", "0"])
  }

  @Test("a name server of a family that is off is left out")
  func serverOfFamilyOff() throws {
    let seen = try Scene(["corp.yaml": OddFilesTests.always]).run(
      """
      sed -i 's|^Address.*|Address = 10.77.0.2/32\\nDNS = fd00:77::1, 10.77.0.1|; s|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|' $policies/corp.conf
      go cafe
      sysctl -qw net.ipv6.conf.all.disable_ipv6=1
      start_agent
      tunnel_is corp connected
      grep ^nameserver $laptop/resolv.conf
      roamward status --json | jq -r '.tunnels[0].notes[] | select(.code == "family-off").text'
      dry diff >/dev/null && echo "no difference"
      """)
    #expect(
      seen.lines == [
        "nameserver 10.77.0.1", "IPv6 is switched off on this machine, so its name server fd00:77::1 is left out", "no difference",
      ])
  }
}
