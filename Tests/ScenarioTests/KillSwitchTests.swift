import Testing

@Suite("A kill switch", .needsLab)
struct KillSwitchTests {
  /// The gateway's tunnel for everything, guarded; down at home.
  private func scene(_ killSwitch: String) throws -> Scene {
    let rules = "[{ match: { interface: ethernet }, action: disconnect }, { action: connect }]"
    let scene = try Scene(["corp.yaml": guarded.with("always", "\"\(killSwitch)\"").with("[{ action: connect }]", rules)])
    try scene.play("KillSwitch/set-up")
    return scene
  }

  @Test("holds back everything while the tunnel is not up, also from programs that bind to the link, and after the agent is killed")
  func holds() throws {
    let scene = try scene("on")
    let seen = try scene.play("KillSwitch/holds")
    #expect(seen == "[watched]\n[held]\nblocked:\n[told at login]\n[held without an agent]\n[nothing in clear]\n0\n[open]")
  }

  @Test("is released by hand and for a portal, and outlives the agent where it is for always")
  func releases() throws {
    let scene = try scene("always")
    let seen = try scene.play("KillSwitch/releases")
    #expect(seen == "[held]\n[released]\n[portal]\n0\n[held for always]\n[open]\n[locked]")
  }

  @Test("that the early lock has put up is told by status, and opened by release, without an agent; motd is right")
  func lockedWithoutAgent() throws {
    let scene = try scene("always")
    let seen = try scene.play("KillSwitch/locked-without-agent")
    let blocked = "[1,null,\"guarded\",[\"corp\"]]"
    #expect(
      seen.lines == [
        "Roamward's kill switch blocks traffic, because corp is not up. `roamward status` shows why; `sudo roamward release` suspends the kill switch.",
        "blocked: the kill switch blocks traffic, because corp is not up; no agent is running",
        "         `sudo roamward release` suspends the kill switch", "[8]", "1", "[json 8]", blocked, "[json 8]", blocked, "[portal 8]",
        "[held]",
        "kill switch suspended: no agent is running, its table is removed; with `kill-switch: always`, or a guard that was killed, the next "
          + "start blocks again",
        "[open]", "[8]", "[8]",
        seen.lines.first { $0.contains("an agent is running") } ?? "", "[1]", "[still held]",
      ])
  }
}
