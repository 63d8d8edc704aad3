import Testing

/// The commands that show a running agent, in a terminal and for programs.
@Suite("Looking at a running agent", .needsLab)
struct LookingTests {
  @Test("status has the tunnel's network, one value for scripts and an exit status; it watches, and leaves the terminal as it was")
  func status() throws {
    let scene = try Scene(["corp.yaml": corp])
    let seen = try scene.play("Looking/status")
    #expect(
      seen.lines == [
        "[8]", "[0]", "connected", "10.77.0.2/32", "roamward: --field: no field \"nosuch\"", "[2]", "  address: 10.77.0.2/32",
        "  routes:  10.77.0.0/16", "  names:   10.77.0.1 for all names", "1", "[no colour in a pipe]", "[colour]", "0", "[no colour]",
        "0", "roamward: the agent has stopped; waiting for it to return", "roamward: the agent has returned", "[restored]",
      ], "\(seen)")
  }

  @Test("metrics count what happened; a bug report has no key, no password and no place; nobody else can read it") func reports() throws {
    let scene = try Scene(["corp.yaml": corp, "lab.yaml": lab])
    let seen = try scene.play("Looking/reports")
    #expect(
      seen.lines == [
        "roamward_up 1", "roamward_tunnel_state{tunnel=\"corp\",state=\"connected\"} 1",
        "roamward_tunnel_changes_total{tunnel=\"corp\",state=\"connected\"} 1", "metrics.prom", "# EOF", "roamward_up 0", "1",
        "[nothing written]", "26 files,", "[not twice]", "600", "4", "[absent]", "[absent]", "[absent]", "[absent]", "[absent]",
      ], "\(seen)")
  }

  private let lab = """
    version: 1
    tunnels:
      lab:
        enabled: false
        provider: { command: { up: [/bin/true, --password, hunter2-Correct], down: [/bin/true], interface: lab0 } }
        on-demand: { rules: [{ action: connect }] }

    """
}
