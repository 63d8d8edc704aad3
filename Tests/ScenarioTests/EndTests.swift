import Testing

@Suite("The agent's end", .needsLab)
struct EndTests {
  @Test(
    "by SIGTERM, while it still ends what a killed one has left, leaves nothing but what is held back for always",
    arguments: ["\"off\"", "\"on\"", "always"], ["0", "0.3"])
  func inRecovery(killSwitch: String, delay: String) throws {
    let scene = try Scene(["corp.yaml": guarded.with("kill-switch: always", "kill-switch: \(killSwitch)")])
    var tunnel = CommandTunnel()
    tunnel.down = "sleep 2; \(CommandTunnel.removesLink)"
    try tunnel.write(in: scene)
    let seen = try scene.run(
      """
      take_everything
      go cafe
      remember
      start_agent
      tunnel_is corp connected; tunnel_is vpn connected
      kill_agent
      # It answers while the command's `down`, which is owed, runs.
      start_agent
      sleep \(delay)
      say "status $(stop_agent)"
      say "links $(ip -br link show | grep -cE '^(corp|vpn0)' || true), notes $(ls "$scene/state" | grep -cE '^(link|command)-' || true)"
      if nft list table inet roamward >/dev/null 2>&1; then say held; else say open; fi
      if fetch http://203.0.113.80/ >/dev/null 2>&1; then say "goes outside"; else say "does not go outside"; fi
      """)
    let isKept = killSwitch == "always"
    #expect(
      seen.lines == [
        "[status 0]", "[links 0, notes 0]", isKept ? "[held]" : "[open]", isKept ? "[does not go outside]" : "[goes outside]",
      ])
  }
}
