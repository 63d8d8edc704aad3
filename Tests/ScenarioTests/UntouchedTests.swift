import Testing

/// Links of others, and settings of the whole machine.
@Suite("What is not Roamward's", .needsLab)
struct UntouchedTests {
  @Test("links of the machine's own, their addresses and every setting of its kernel stay as they are, at each moment of a tunnel's life")
  func untouched() throws {
    let scene = try leakScene(guarded.with("include: [default]", "include: [default], enforce: true"))
    let seen = try scene.play("Untouched/untouched")
    #expect(
      seen.lines == [
        "[a setting is seen]", "[a link is seen]", "[settings while it is up]", "[settings while it is held back]",
        "[the tunnel's link was seen]", "[as before]",
      ])
  }

  /// An Ethernet port that leads nowhere is up and has an address; some programs take it for the network.
  @Test("what the rules judge is the link that the best default route leads by, and not another that is up")
  func primary() throws {
    let scene = try Scene()
    let seen = try scene.play("Untouched/primary")
    #expect(
      seen.lines == ["[a cable that leads nowhere]", "[a way that is worse]", #"["eth0","wlan0"]"#, "[the better one]"])
  }
}
