import Testing

/// `disconnect-on-sleep`, beside a double of systemd-logind.
@Suite("Before the machine sleeps", .needsLab)
struct SleepScenes {
  @Test("a tunnel is down when logind's lock is released, its kill switch blocks, and it is up after waking")
  func sleeps() throws {
    let policy = corp.replacing("  corp:\n", with: "  corp:\n    disconnect-on-sleep: true\n    kill-switch: \"on\"\n")
    let scene = try Scene(["corp.yaml": policy])
    let seen = try scene.play("Sleep/sleeps")
    #expect(
      seen.lines == [
        "[locked sleep Roamward delay]", "[corp disconnected sleep]", "the machine goes to sleep (disconnect-on-sleep)",
        "[link: gone]", "[outside: 0]", "[sleeps released wakes locked sleep Roamward delay]", "[connected sleep]", "[twice]",
        "[no lock without the key]",
      ], "\(seen)")
  }

  @Test("nothing is locked and nothing changes where no policy has the key")
  func stays() throws {
    let scene = try Scene()
    #expect(try scene.play("Sleep/stays").lines == ["[connected]", "[sleeps wakes ]"])
  }
}
