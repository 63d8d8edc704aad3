import Testing

@Suite("A gateway that dies", .needsLab)
struct DeadGatewayTests {
  @Test("while traffic goes into the tunnel is doubted, then given up with the reason, and found again when it is back")
  func dies() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      intranet_loads
      roamward monitor --json >events.json 2>/dev/null &
      monitor=$!
      since() { echo $(((${EPOCHREALTIME/./} - began) / 100000)); }
      # Nothing goes in or out: what it has received before it would otherwise acknowledge ten seconds later.
      on gateway nft 'table inet dead {
        chain input { type filter hook input priority 0; udp dport 51820 drop; }
        chain output { type filter hook output priority 0; udp sport 51820 drop; }
      }'
      began=${EPOCHREALTIME/./}
      while :; do busybox ping -c 1 -W 1 10.77.0.1 >/dev/null 2>&1 || true; sleep 5; done &
      pings=$!
      within 25 field_is corp state reasserting
      doubted=$(since)
      field corp reason | cut -c 1-35
      dry doctor >doctor.txt && status=0 || status=$?
      say "doctor $status $(grep -c 'problem .*corp is reasserting: the peer has not answered for' doctor.txt) $(grep -c '^1 problem.* checks passed$' doctor.txt)"
      within 36 eval '[[ $(field corp failure) == "the peer stopped answering"* ]]'
      failed=$(since)
      status=0; roamward wait corp --for connected --timeout 2s >/dev/null 2>&1 || status=$?
      say "$status $(field corp state) $((doubted <= 260)) $((failed <= 620))"
      grep -q '"reasserting"' events.json && grep -q 'stopped answering' events.json && say "told"
      on gateway nft delete table inet dead
      tunnel_is corp connected
      kill $pings $monitor
      within 3 intranet_loads && say "back, failure $(field corp failure)"
      echo "reasserting after $doubted, failed after $failed tenths of a second"
      """)
    print(seen.lines.last ?? "")
    #expect(
      seen.lines.dropLast() == [
        "the peer has not answered for 24 s,", "[doctor 1 1 1]", "[3 connecting 1 1]", "[told]", "[back, failure null]",
      ])
  }

  @Test("while the machine is without a network does not count as connected when the network is back")
  func diesMeanwhile() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      sleep 1.2
      way=$(ip -4 route show default) way6=$(ip -6 route show default | head -n 1)
      ip route del default; ip -6 route del default || true
      within 3 field_is corp state reasserting
      # Nothing goes in or out: what it has received before it would otherwise acknowledge ten seconds later.
      on gateway nft 'table inet dead {
        chain input { type filter hook input priority 0; udp dport 51820 drop; }
        chain output { type filter hook output priority 0; udp sport 51820 drop; }
      }'
      ip route add $way; [[ -z $way6 ]] || ip -6 route add $way6
      within 3 eval '[[ $(field corp timers) == *restart* ]]'
      sleep 3
      say "$(field corp state)"
      within 16 eval '[[ $(field corp failure) == "the peer has not answered on this network"* ]]'
      on gateway nft delete table inet dead
      tunnel_is corp connected
      say "$(grep -c 'from=reasserting to=connected' agent.log || true)"
      """)
    #expect(seen.lines == ["[reasserting]", "[0]"])
  }
}

@Suite("At home by the gateway's hardware address", .needsLab)
struct GatewayMACTests {
  @Test("an idle machine never connects, whatever the kill switch", arguments: ["off", "on", "always"])
  func idle(killSwitch: String) throws {
    let policy = (killSwitch == "off" ? corp : corpForEverything(killSwitch: killSwitch))
      .with("match: { interface-name: \"eth*\" }", "match: { gateway-mac: \"02:00:5e:10:00:01\" }").with(
        "{ action: ignore }", "{ action: connect }")
    let scene = try Scene(["corp.yaml": policy])
    let seen = try scene.run(
      """
      go home
      ip neigh flush all
      start_agent
      within 2 field_is corp decision disconnect
      # It arrives, with nothing to send.
      go nothing
      sleep 0.5
      ip neigh flush all
      go home
      ip neigh flush all
      began=${EPOCHREALTIME/./}
      within 2 field_is corp decision disconnect
      echo "decided after $(((${EPOCHREALTIME/./} - began) / 1000)) ms" >&2
      sleep 7
      say "$(field corp state) $(count_in_log 'to=connecting')"
      """)
    #expect(seen.lines.last == "[disconnected 0]")
  }
}
