import Testing

@Suite("A person's word outranks the rules", .needsLab)
struct OverrideTests {
  @Test("down stays down through a flap of the same network, and until resume")
  func down() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      roamward down corp --wait 60
      say "$(field corp state) $(field corp override) $(field corp decision)"
      roamward status | grep -E 'manual: |rules: '
      ip link set wlan0 down && sleep 0.4
      say "$(field corp override) while the link is down"
      "$lab" lease cafe wlan0 && sleep 0.6
      say "$(field corp state) $(field corp override)"
      kill -HUP $(agent_pid) && sleep 0.3
      say "$(field corp state) $(field corp override)"
      roamward resume corp && tunnel_is corp connected
      say "$(field corp override)"
      """)
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[disconnected down connect]", "[down while the link is down]", "[disconnected down]", "[disconnected down]", "[null]",
      ])
    #expect(seen.contains("manual:  override (down) "))
    #expect(seen.contains("until the network changes; `roamward resume corp` ends it"))
    #expect(seen.contains("rules:   connect (overridden)"))
  }

  @Test("down lasts while the same network comes back piece by piece")
  func piecemeal() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      roamward down corp --wait 60
      ip -6 route del default
      sleep 0.4
      say "$(field corp override)"
      ip route del default
      ip -6 route add default via 2001:db8:2::1 dev wlan0
      sleep 0.4
      say "$(field corp override)"
      ip route add default via 198.51.100.1 dev wlan0
      sleep 0.4
      say "$(field corp override)"
      """)
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[down]", "[down]", "[down]"])
  }

  @Test("up at home stays up, and ends on another network")
  func up() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go home
      remember
      start_agent
      roamward up corp --wait 60 && within 3 intranet_loads
      say "$(field corp state) $(field corp override) $(field corp decision)"
      sleep 0.5
      say "$(field corp state)"
      go cafe
      within 3 field_is corp override null
      tunnel_is corp connected
      go home
      tunnel_is corp disconnected
      within 3 as_before
      """)
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[connected up disconnect]", "[connected]"])
  }

  @Test("about a tunnel that does not exist, or is disabled, is refused with the reason")
  func refused() throws {
    let scene = try Scene([
      "corp.yaml": corp,
      "off.yaml": corp.with("corp:\n    class: enterprise", "off:\n    enabled: false"),
    ])
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      for words in 'up nope' 'down nope' 'resume nope' 'up off' 'up' 'wait nope'; do
        roamward $words 2>&1 || say "$?"
      done
      say "$(field off state)"
      kill_agent
      roamward status 2>&1 || say "$?"
      """)
    let lines = seen.lines
    #expect(lines.filter { $0.contains("no tunnel is named \"nope\"") }.count == 4)
    #expect(lines.filter { $0.contains("; known: corp, off") }.count == 3)
    #expect(lines.contains { $0.contains("off is disabled by its policy (enabled: false, ") })
    #expect(lines.contains { $0.contains("no agent answers at") })
    #expect(lines.filter { $0.hasPrefix("[") } == ["[1]", "[1]", "[1]", "[1]", "[2]", "[1]", "[disconnected]", "[8]"])
  }

  @Test("is known to `evaluate --live` and `explain`: text, JSON and exit status") func dryRun() throws {
    let seen = try Scene().run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      live() { dry evaluate --live --exit-code "$@" >live || say "$?"; }
      live && grep -c overridden live || true
      roamward down corp >/dev/null
      live
      grep -o 'held down by hand; `roamward resume` ends that' live
      live --json && jq -r '.. | strings | select(test("held down by hand"))' live | sort -u
      dry explain corp | grep -o 'held down by hand; `roamward resume` ends that' | sort -u
      roamward resume corp >/dev/null
      tunnel_is corp connected
      live
      # Held up where the rules say no.
      go home
      tunnel_is corp disconnected
      roamward up corp >/dev/null
      live
      grep -o 'held up by hand' live
      dry explain corp | grep -o 'held up by hand' | sort -u
      """)
    let held = "held down by hand; `roamward resume` ends that"
    #expect(
      seen.lines == ["[10]", "0", "[15]", held, "[15]", held, held, "[10]", "[15]", "held up by hand", "held up by hand"], "\(seen)")
  }

  @Test("on a tunnel whose on-demand is off is all there is")
  func onDemandOff() throws {
    let scene = try Scene(["corp.yaml": corp.with("on-demand:\n", "on-demand:\n      enabled: false\n")])
    let seen = try scene.run(
      """
      go cafe
      start_agent
      sleep 0.5
      say "$(field corp state)"
      roamward up corp --wait 60 && say "$(field corp state)"
      roamward resume corp && sleep 0.4 && say "$(field corp state)"
      roamward down corp --wait 60 && say "$(field corp state)"
      """)
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[disconnected]", "[connected]", "[connected]", "[disconnected]"])
  }

  @Test("until the network changes: a notice of an earlier version holds, and what is learnt later lets a twin of the network end it")
  func identity() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      # As version 0.1 wrote it, before the router's hardware address was known.
      cat >$scene/state/holds.json <<JSON
      {"corp": {"up": false, "since": 1, "reason": null, "until": {"network":
        {"link": "wlan0", "type": "wifi", "ssid": "Cafe", "gateways": ["198.51.100.1"], "gateway-mac": null}}}}
      JSON
      start_agent
      sleep 0.5
      say "$(field corp override)"
      ip link set wlan0 down && ip link set wlan0 name wifi7 && ip link set wifi7 up && "$lab" lease cafe wifi7
      sleep 0.5
      say "$(field corp override) under another name"
      not fetch http://198.51.100.1/ 2>/dev/null
      within 3 grep -q "02:00:5e:10:00:02" $scene/state/holds.json && say learnt
      digest=$(roamward status --json | jq -r .primary.network.ipv4)
      [[ $digest =~ ^[0-9a-f]{8}$ ]] && roamward status | found ", identity $digest" && say digest
      stop_agent && start_agent && sleep 0.5
      say "$(field corp override) after a restart"
      on cafe ip link set lan0 address 02:00:5e:10:00:99
      ip neighbour flush dev wifi7 && not fetch http://198.51.100.1/ 2>/dev/null
      within 3 field_is corp override null && say "another router"
      [[ $(roamward status --json | jq -r .primary.network.ipv4) != "$digest" ]] && say "another digest"
      """)
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[down]", "[down under another name]", "[learnt]", "[digest]", "[down after a restart]", "[another router]", "[another digest]",
      ])
  }
}
