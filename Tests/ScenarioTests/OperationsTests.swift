import Testing

@Suite("Looking, cleaning up and changing by hand", .needsLab)
struct OperationsTests {
  @Test("diff is empty once the agent has converged, and names what somebody has changed since") func diff() throws {
    let scene = try Scene(["corp.yaml": corp.with("class: enterprise", "kill-switch: \"on\"")])
    let seen = try scene.play("Operations/diff")
    let lines = seen.lines
    #expect(lines.first == "[same]", "\(seen)")
    #expect(seen.contains("-route 10.77.0.0/16 dev corp table 21") && seen.contains("[1]"), "\(seen)")
    for part in [
      "-rule priority 21", "+resolv.conf nameserver 192.0.2.99", "-resolv.conf nameserver 10.77.0.1", "+link corp mtu 1300",
      "+address 10.77.9.9/32 dev corp", "+table inet roamward: accept",
    ] { #expect(seen.contains(part), "\(part) in \(seen)") }
    #expect(seen.contains("firewall kernel resolver"), "\(seen)")
    #expect(seen.contains("-table inet roamward: 10.77.0.0/16"), "\(seen)")
    #expect(seen.contains("[repaired]") && lines.last == "[2]", "\(seen)")
  }

  @Test("plan and diff find nothing to do at rest, also after `down` by hand and after `release`") func planUnderOverrides() throws {
    let scene = try Scene(["corp.yaml": corp.with("class: enterprise", "kill-switch: \"on\"")])
    let seen = try scene.play("Operations/plan-under-overrides")
    #expect(seen.contains("note: kill switch suspended by hand; `roamward resume` ends it"), "\(seen)")
    let override = "note: corp: manual override: down; `roamward resume corp` ends it"
    #expect(seen.contains("nothing to do") && seen.lines.last == override, "\(seen)")
  }

  @Test(
    "a tunnel that fails beside one that is up is told first, and is a problem for the doctor; what is not acted on is told by evaluate")
  func troubleFirst() throws {
    let lab = """
      version: 1
      tunnels:
        lab:
          provider: { command: { up: [/bin/false], down: [/bin/true], interface: lab0 } }
          on-demand: { rules: [{ name: everywhere, action: connect }] }
          routes: { include: [10.99.0.0/16] }
        off:
          enabled: false
          provider: { command: { up: [/bin/true], down: [/bin/true], interface: off0 } }
          on-demand: { rules: [{ action: connect }] }

      """
    let scene = try Scene(["corp.yaml": corp, "lab.yaml": lab])
    let seen = try scene.play("Operations/trouble-first")
    #expect(seen.contains("because: rule 1 \"everywhere\": always"), "\(seen)")
    #expect(seen.contains("[doctor 1]") && seen.contains("problem lab is connecting; the last attempt failed:"), "\(seen)")
    #expect(seen.contains("[corp 10]") && seen.contains("[off 15]") && seen.contains("[lab 10]"), "\(seen)")
    #expect(seen.contains("[\"connect\",\"disabled\"]"), "\(seen)")
    #expect(seen.lines.last == "ssid \"Cafe\" is \"Cafe\"", "\(seen)")
  }

  @Test("state says what is ours and why, with the agent and after it; a dry clean-up changes nothing and says what the real one does")
  func stateAndCleanup() throws {
    let scene = try Scene()
    let seen = try scene.play("Operations/state-and-cleanup")
    let lines = seen.lines
    #expect(
      lines.first?.hasPrefix("address") == true && lines.first?.contains("link") == true && lines.first?.contains("route rule") == true,
      "\(seen)")
    #expect(lines.dropFirst().first == "2", "\(seen)")
    #expect(seen.contains("[nothing changed]\n[clean]\nno leftover state"), "\(seen)")
    #expect(lines.last == "another agent", "\(seen)")
    let running = scene.read("running.txt")
    #expect(running.hasPrefix("agent: running"))
    #expect(running.contains("because rule 2: ssid \"Cafe\" is \"Cafe\"") && running.contains("corp.yaml:"), "\(running)")
    #expect(running.contains("route     10.77.0.0/16 dev corp table 21"), "\(running)")
    let silent = scene.read("silent.txt")
    #expect(silent.hasPrefix("agent: running (process ") && silent.contains("but it does not answer at"), "\(silent)")
    #expect(silent.contains("corp: unknown, as the agent does not answer") && !silent.contains("leftover"), "\(silent)")
    #expect(scene.read("left.txt").hasPrefix("agent: not running"))
    let dry = scene.read("dry.txt")
    #expect(dry.contains("resolv.conf: put back") && dry.contains("ip rule del") && dry.contains("ip link del dev corp"), "\(dry)")
  }

  @Test("policies on trial come back by themselves, also after a crash, and stay when they are confirmed") func trial() throws {
    let scene = try Scene()
    let seen = try scene.play("Operations/trial")
    #expect(
      seen.lines.filter { !$0.contains("active on trial") } == [
        "trial", "already on trial", "[back in time]", "[nothing kept]", "[still on trial]", "[back after a crash]",
        "policies reverted: the previous set is active again", "policies confirmed", "corp.conf corp.yaml 0", "[kept]", "1",
        "no policies are on trial",
      ], "\(seen)")
  }

  @Test("a reboot in the middle of a trial brings the set before back, from the early lock on") func rebootInTrial() throws {
    let scene = try Scene(["corp.yaml": corp.with("class: enterprise", "kill-switch: always")])
    let seen = try scene.play("Operations/reboot-in-trial")
    #expect(
      seen.lines == [
        "10.78.0.0/16", "10.77.0.0/16", "[the set before]", "0", "its last known good version", "0", "0", "[resolv.conf is the host's own]",
      ], "\(seen)")
  }

  @Test("what would cut the caller's SSH session is refused, also under sudo and in a multiplexer, unless it is said") func session() throws
  {
    let scene = try Scene([
      "corp.yaml": corp.with("[10.77.0.0/16]", "[default]").with("action: connect", "action: ignore")
        .with("{ match: { interface-name: \"eth*\" }, action: disconnect }", "{ match: { interface-name: \"eth*\" }, action: ignore }")
    ])
    let seen = try scene.play("Operations/session")
    #expect(
      seen.lines.filter { $0 != "" }.map { $0.hasPrefix("would cut") ? "would cut" : $0 } == [
        "[refused 1]", "would cut", "--even-ssh", "[refused 1]", "[refused 1]", "disconnected", "[neighbour]", "[refused 1]",
        "--confirm-within",
        "[on trial]", "[as said]",
      ], "\(seen)")
  }
}
