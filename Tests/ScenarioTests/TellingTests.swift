import Testing

@Suite("What the agent tells", .needsLab)
struct TellingTests {
  @Test("monitors is each state once and in order, with the decisions that led there")
  func monitor() throws {
    let scene = try Scene()
    try scene.run(
      """
      go home
      start_agent
      roamward monitor --json >events &
      roamward monitor >lines &
      # A policy that is read again is told of.
      listen() { echo "#" >>$policies/corp.yaml; sleep 0.1; test -s events && test -s lines; }
      within 5 listen
      go cafe
      tunnel_is corp connected
      # Without a moment between the two networks, in which the tunnel would be reasserting.
      "$lab" lease home eth0
      tunnel_is corp disconnected
      within 5 grep -q '"to":"disconnected"' events
      within 5 grep -q 'to disconnected\\|-> disconnected' lines
      jq -r 'select(.event == "state") | .to' events >states
      jq -r 'select(.event == "decision") | "\\(.tunnel) \\(.decision) \\(.rule)"' events >decisions
      jq -r 'select(.event == "network") | "\\(.link) \\(.ssid)"' events >networks
      """)
    #expect(scene.read("states").lines == ["connecting", "connected", "disconnecting", "disconnected"])
    #expect(scene.read("decisions").lines.filter { !$0.contains("null") } == ["corp connect 2", "corp disconnect 1"])
    #expect(scene.read("networks").lines.filter { $0 != "null null" } == ["wlan0 Cafe", "eth0 Cafe"])
    #expect(scene.read("lines").contains("corp: connecting -> connected (rule 2: ssid \"Cafe\" is \"Cafe\")"))
  }

  @Test("a recording of a walk, with what was said on it, lives again in a simulation, and decides the same")
  func record() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go home
      start_agent
      roamward monitor --record walk.yaml >/dev/null &
      within 5 test -s walk.yaml
      go cafe
      tunnel_is corp connected
      sleep 1.2
      roamward down corp --for 30m --reason printer >/dev/null
      tunnel_is corp disconnected
      sleep 1.2
      roamward resume corp >/dev/null
      tunnel_is corp connected
      go home
      tunnel_is corp disconnected
      within 5 eval '[[ $(tail -n 3 walk.yaml) == *disconnect* ]]'
      $bin/roamward simulate walk.yaml --policies $policies >simulated 2>differences && say "the same"
      sed 's/"corp":"connect"/"corp":"ignore"/' walk.yaml >lie.yaml
      $bin/roamward simulate lie.yaml --policies $policies 2>refusal >/dev/null || say "status $?"
      """)
    let recording = scene.read("walk.yaml")
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == ["[the same]", "[status 1]"], "\(scene.read("differences"))\n\(recording)")
    #expect(recording.contains(#""down":"corp","until":1800,"reason":"printer""#) && recording.contains(#""resume":"corp""#))
    #expect(scene.read("simulated").contains("corp: manual override (down) for 30 min"))
    #expect(scene.read("refusal").contains("error: corp: expected the decision ignore, found connect"))
  }

  @Test("its log at the usual level is no place, address or name, and at no level a key")
  func privacy() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      walk() {
        start_agent "$@"
        go cafe
        tunnel_is corp connected
        go home
        tunnel_is corp disconnected
        stop_agent >/dev/null
      }
      key=$(sed -n 's/^PrivateKey = //p' $policies/corp.conf)
      go home
      walk --log-level info
      mv agent.log info.log
      walk --log-level trace
      grep -cE 'Cafe|198\\.51\\.|203\\.0\\.|10\\.77\\.|example' info.log || true
      grep -c 'tunnel=corp' info.log | grep -qv '^0$' && say "but tunnels"
      grep -q 'Cafe' agent.log && say "and all of it when asked"
      grep -cF "$key" info.log agent.log || true
      """)
    #expect(seen.lines == ["0", "[but tunnels]", "[and all of it when asked]", "info.log:0", "agent.log:0"])
  }
}
