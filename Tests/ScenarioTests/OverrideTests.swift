import Testing

@Suite("A person's word outranks the rules", .needsLab)
struct OverrideTests {
  @Test("down stays down through a flap of the same network, and until resume")
  func down() throws {
    let scene = try Scene()
    let seen = try scene.play("Override/down")
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[disconnected down connect]", "[down while the link is down]", "[disconnected down]", "[disconnected down]", "[null]",
      ])
    #expect(seen.contains("manual:  override (down) "))
    #expect(seen.contains("until the network changes; `roamward resume corp` ends it"))
    #expect(seen.contains("rules:   connect (overridden)"))
  }

  @Test("down lasts while the same network comes back piece by piece")
  func piecemeal() throws {
    let scene = try Scene()
    let seen = try scene.play("Override/piecemeal")
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[down]", "[down]", "[down]"])
  }

  @Test("up at home stays up, and ends on another network")
  func up() throws {
    let scene = try Scene()
    let seen = try scene.play("Override/up")
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[connected up disconnect]", "[connected]"])
  }

  @Test("about a tunnel that does not exist, or is disabled, is refused with the reason")
  func refused() throws {
    let scene = try Scene([
      "corp.yaml": corp,
      "off.yaml": corp.with("corp:\n    class: enterprise", "off:\n    enabled: false"),
    ])
    let seen = try scene.play("Override/refused")
    let lines = seen.lines
    #expect(lines.filter { $0.contains("no tunnel is named \"nope\"") }.count == 4)
    #expect(lines.filter { $0.contains("; known: corp, off") }.count == 3)
    #expect(lines.contains { $0.contains("off is disabled by its policy (enabled: false, ") })
    #expect(lines.contains { $0.contains("no agent answers at") })
    #expect(lines.filter { $0.hasPrefix("[") } == ["[1]", "[1]", "[1]", "[1]", "[2]", "[1]", "[disconnected]", "[8]"])
  }

  @Test("is known to `evaluate --live` and `explain`: text, JSON and exit status") func dryRun() throws {
    let seen = try Scene().play("Override/dry-run")
    let held = "held down by hand; `roamward resume` ends that"
    #expect(
      seen.lines == ["[10]", "0", "[15]", held, "[15]", held, held, "[10]", "[15]", "held up by hand", "held up by hand"], "\(seen)")
  }

  @Test("on a tunnel whose on-demand is off is all there is")
  func onDemandOff() throws {
    let scene = try Scene(["corp.yaml": corp.with("on-demand:\n", "on-demand:\n      enabled: false\n")])
    let seen = try scene.play("Override/on-demand-off")
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[disconnected]", "[connected]", "[connected]", "[disconnected]"])
  }

  @Test("until the network changes: a notice of an earlier version holds, and what is learnt later lets a twin of the network end it")
  func identity() throws {
    let scene = try Scene()
    let seen = try scene.play("Override/identity")
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[down]", "[down under another name]", "[learnt]", "[digest]", "[down after a restart]", "[another router]", "[another digest]",
      ])
  }
}
