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
    let seen = try scene.run(
      """
      go cafe
      remember
      start_agent
      tunnel_is corp connected
      as_before >/dev/null || say "the tunnel is to be seen"
      grep -c 10.77.0.1 $scene/after
      \(end)
      within 5 as_before
      """)
    #expect(seen.lines.first == "[the tunnel is to be seen]")
    #expect(Int(seen.lines.dropFirst().first ?? "") ?? 0 > 0)
  }

  @Test("when the agent is killed at any moment of connecting and a new one comes home")
  func afterKilling() throws {
    let scene = try Scene()
    try scene.run("go home; remember")
    for _ in 0..<10 {
      let delay = Int.random(in: 0...600)
      try scene.run(
        """
        start_agent
        go cafe
        sleep \(String(Double(delay) / 1000))
        kill_agent
        start_agent
        go home
        within 5 as_before || { say "after \(delay) ms"; exit 1; }
        [[ $(stop_agent) == 0 ]]
        as_before
        """)
    }
    // And once in the middle of it for certain, which the new one takes over.
    try scene.run(
      """
      start_agent
      go cafe
      tunnel_is corp connected
      kill_agent
      ip link show corp >/dev/null
      start_agent
      tunnel_is corp connected
      within 5 intranet_loads
      go home
      within 5 as_before
      """)
  }

  @Test("when a killed agent is cleaned up after")
  func cleanup() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      remember
      for delay in 0.05 0.15 0.3 3; do
        start_agent
        [[ $delay != 3 ]] || tunnel_is corp connected
        sleep $delay
        kill_agent
        as_before >/dev/null || say "something remains after $delay s"
        cleanup_agent
        within 3 as_before
      done
      """)
    #expect(seen.contains("[something remains after 3 s]"))
  }

  /// Between the routes and the rule that leads to them lies a moment that chance does not hit.
  @Test(
    "when the agent is killed with its routes made and its rules not yet",
    arguments: ["cleanup_agent", "go home; start_agent", "rm $policies/corp.yaml; start_agent"])
  func orphanedRoutes(_ cure: String) throws {
    let scene = try Scene(["corp.yaml": corp.with("[10.77.0.0/16]", "[default], exclude: [198.18.0.0/15]")])
    try scene.run(
      """
      go home
      remember
      go cafe
      start_agent
      tunnel_is corp connected
      kill_agent
      ip rule del priority 21000
      ip -6 rule del priority 21000
      [[ -n $(ip route show table 21000 type throw) ]]
      """)
    try scene.run("\(cure); go home; within 3 as_before")
  }
}
