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
    let seen = try scene.play("End/in-recovery", with: ["DELAY": delay])
    let isKept = killSwitch == "always"
    #expect(
      seen.lines == [
        "[status 0]", "[links 0, notes 0]", isKept ? "[held]" : "[open]", isKept ? "[does not go outside]" : "[goes outside]",
      ])
  }
}
