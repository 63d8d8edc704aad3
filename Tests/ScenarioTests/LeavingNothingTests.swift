import Testing

/// `as_before` compares links, addresses, routes and rules of both families, the firewall, resolv.conf and engines, byte for byte.
@Suite("What a tunnel leaves behind is nothing", .needsLab)
struct LeavingNothingTests {
  @Test(
    "when the agent is stopped, when it is told to, and when the policy goes",
    arguments: [
      "kill -TERM $(agent_pid); within 10 test -s $scene/agent.exit; [[ $(<$scene/agent.exit) == 0 ]]",
      "kill -INT $(agent_pid); within 10 test -s $scene/agent.exit; [[ $(<$scene/agent.exit) == 0 ]]",
      "roamward down corp",
      "rm $policies/corp.yaml",
    ])
  func afterTheEnd(_ end: String) throws {
    let scene = try Scene()
    let seen = try scene.play("LeavingNothing/after-the-end", with: ["END_IT": end])
    #expect(seen.lines.first == "[the tunnel is to be seen]")
    #expect(Int(seen.lines.dropFirst().first ?? "") ?? 0 > 0)
  }

  @Test("when the agent is killed at any moment of connecting and a new one comes home")
  func afterKilling() throws {
    let scene = try Scene()
    try scene.play("LeavingNothing/at-home")
    for _ in 0..<10 {
      let delay = Int.random(in: 0...600)
      try scene.play("LeavingNothing/killed-while-connecting", with: ["DELAY": delay])
    }
    // And once in the middle of it for certain, which the new one takes over.
    try scene.play("LeavingNothing/killed-while-connected")
  }

  @Test("when a killed agent is cleaned up after")
  func cleanup() throws {
    let scene = try Scene()
    let seen = try scene.play("LeavingNothing/cleanup")
    #expect(seen.contains("[something remains after 3 s]"))
  }

  /// Between the routes and the rule that leads to them lies a moment that chance does not hit.
  @Test(
    "when the agent is killed with its routes made and its rules not yet",
    arguments: ["cleanup_agent", "go home; start_agent", "rm $policies/corp.yaml; start_agent"])
  func orphanedRoutes(_ cure: String) throws {
    let scene = try Scene(["corp.yaml": corp.with("[10.77.0.0/16]", "[default], exclude: [198.18.0.0/15]")])
    try scene.play("LeavingNothing/orphaned-routes")
    try scene.play("LeavingNothing/orphaned-routes-cured", with: ["CURE": cure])
  }
}
