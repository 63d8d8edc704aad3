import Testing

/// F42 and F43: what the agent does without. Each is told, held back where a kill switch says so, and mended as
/// soon as there is enough again.
@Suite("Too little of everything", .needsLab)
struct ScarcityTests {
  private let guarded = corpForEverything(killSwitch: "on")
  @Test("of a TUN device: said with its cure, held back, and the tunnel comes up when there is one") func tun() throws {
    let scene = try Scene(["corp.yaml": guarded])
    let seen = try scene.play("Scarcity/tun")
    #expect(["[locked]\n[back]\n0", "[kernel]"].contains(seen), "\(seen)")
  }

  @Test("of a place to write in: a read-only /run costs the sockets there, is told, and nothing is open") func readOnlyRun() throws {
    let scene = try Scene(["corp.yaml": corpForEverything(killSwitch: "always")])
    let seen = try scene.play("Scarcity/read-only-run")
    #expect(seen.lines == ["[1 1]", "[locked]", "[back]"], "\(seen)")
  }

  @Test("of patience: a command under way that ignores SIGTERM does not keep the agent from stopping, and leaves nothing")
  func deafCommand() throws {
    let scene = try Scene([:])
    let deaf = "trap '' TERM; \(CommandTunnel.makesLink); sleep 300 & sleep 300; sleep 300"
    try CommandTunnel(up: deaf, timeout: "5m").write(in: scene)
    let seen = try scene.play("Scarcity/deaf-command")
    #expect(seen.lines == ["0", "[soon]", "up", "down"], "\(seen)")
  }

  @Test(
    "of patience: a `down` that hangs, with a child of another session, is killed with it four seconds after the stop began; nothing of ours is left"
  )
  func hungDown() throws {
    let scene = try Scene([:])
    let hung = """
      trap '' TERM
      ip link del vpn0
      setsid sleep 301 &
      echo $! >child.pid
      echo $$ >down.pid
      sleep 302 & sleep 303; sleep 304
      """
    try CommandTunnel(down: hung, timeout: "5m").write(in: scene)
    let seen = try scene.play("Scarcity/hung-down")
    #expect(seen.lines == ["0", "[cut short]", "[ended]", "[ended]", "[no child]", "[told]"], "\(seen)")
  }

  @Test("of descriptors: said with the cure; what works goes on working, and what was missed is made up for when there are enough")
  func descriptors() throws {
    let scene = try Scene(["corp.yaml": guarded])
    let seen = try scene.play("Scarcity/descriptors")
    #expect(
      seen.lines == [
        "[1]", "[1]", "[locked]", "[calm]", "[still up]", "[not repaired yet]", "[answered]", "[the same]", "0",
      ], "\(seen)")
  }

  @Test("of watches: what is not noticed any more is told, with the cure, and `SIGHUP` reads it all the same") func watches() throws {
    let scene = try Scene([:])
    let seen = try scene.play("Scarcity/watches")
    #expect(["[told]\n[read]", "[no user namespaces]"].contains(seen), "\(seen)")
  }

  @Test("of room for notes: told with the cure, held back all the same, and noted as soon as there is room") func fullDisk() throws {
    let scene = try Scene(["corp.yaml": guarded])
    let seen = try scene.play("Scarcity/full-disk")
    #expect(seen.lines == ["[locked]", "[told]", "[not noted]", "[noted]", "0"], "\(seen)")
  }
}
