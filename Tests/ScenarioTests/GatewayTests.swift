import Testing

@Suite("A gateway that does not answer", .needsLab)
struct GatewayTests {
  @Test("keeps a full tunnel connecting, with the reason, and swallows no traffic; when it comes back, so does the tunnel")
  func unreachable() throws {
    let scene = try Scene(["corp.yaml": corp.with("10.77.0.0/16", "default")])
    let seen = try scene.run(
      """
      take_everything
      ip -n internet route add 10.77.0.0/16 via 203.0.113.10
      ip -n internet link set gateway down
      go cafe
      start_agent
      within 3 ip link show corp
      for _ in 1 2 3; do
        say "$(field corp state) $(seen_by 203.0.113.80) $(ip rule | grep -c 21000 || true)"
        sleep 0.5
      done
      roamward status | sed -n 1p
      within 16 field_is corp failure 'the peer did not answer within 15 s'
      say "$(field corp state) $(seen_by 203.0.113.80)"
      ip -n internet link set gateway up
      tunnel_is corp connected
      say "$(seen_by 203.0.113.80) $(field corp failure)"
      """)
    #expect(
      seen.lines == [
        "[connecting 198.51.100.23 0]", "[connecting 198.51.100.23 0]", "[connecting 198.51.100.23 0]",
        "corp is connecting, because rule 2: ssid \"Cafe\" is \"Cafe\"", "[connecting 198.51.100.23]", "[10.77.0.2 null]",
      ])
  }

  @Test("whose name does not resolve is told so, and asked for again")
  func unresolvable() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      sed -i 's|^Endpoint.*|Endpoint = vpn.corp.example:51820|' $policies/corp.conf
      answer_endpoint_with cafe ''
      go cafe
      start_agent
      within 3 eval '[[ $(field corp failure) == *vpn.corp.example* ]]'
      say "$(field corp state)"
      field corp failure
      answer_endpoint_with cafe 203.0.113.10
      tunnel_is corp connected
      """)
    #expect(seen.lines == ["[connecting]", "the endpoint vpn.corp.example cannot be resolved: there is no name vpn.corp.example"])
  }

  @Test("is given up after a while on a new network, and what went into the tunnel goes outside again")
  func lostWhileRoaming() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      ip -n internet link set gateway down
      go mobile
      within 3 field_is corp state reasserting
      # The other network's file came last, and the agent puts its own back.
      within 3 grep -q 10.77.0.1 $laptop/resolv.conf
      say "$(way_to 10.77.0.1) $(grep -c 10.77.0.1 $laptop/resolv.conf)"
      within 18 field_is corp state connecting
      within 1 way_is 10.77.0.1 wwan0
      within 1 not grep -q 10.77.0.1 $laptop/resolv.conf && say "outside"
      ip -n internet link set gateway up
      tunnel_is corp connected
      intranet_loads && say "back"
      """)
    #expect(seen.lines == ["[dev corp 1]", "[outside]", "[back]"])
  }
}
