import Testing

@Suite("What the agent tells", .needsLab)
struct TellingTests {
  @Test("monitors is each state once and in order, with the decisions that led there")
  func monitor() throws {
    let scene = try Scene()
    try scene.play("Telling/monitor")
    #expect(scene.read("states").lines == ["connecting", "connected", "disconnecting", "disconnected"])
    #expect(scene.read("decisions").lines.filter { !$0.contains("null") } == ["corp connect 2", "corp disconnect 1"])
    #expect(scene.read("networks").lines.filter { $0 != "null null" } == ["wlan0 Cafe", "eth0 Cafe"])
    #expect(scene.read("lines").contains("corp: connecting -> connected (rule 2: ssid \"Cafe\" is \"Cafe\")"))
  }

  @Test("a recording of a walk, with what was said on it, lives again in a simulation, and decides the same")
  func record() throws {
    let scene = try Scene()
    let seen = try scene.play("Telling/record")
    let recording = scene.read("walk.yaml")
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == ["[the same]", "[status 1]"], "\(scene.read("differences"))\n\(recording)")
    #expect(recording.contains(#""down":"corp","until":1800,"reason":"printer""#) && recording.contains(#""resume":"corp""#))
    #expect(scene.read("simulated").contains("corp: manual override (down) for 30 min"))
    #expect(scene.read("refusal").contains("error: corp: expected the decision ignore, found connect"))
  }

  @Test("its log at the usual level is no place, address or name, and at no level a key")
  func privacy() throws {
    let scene = try Scene()
    let seen = try scene.play("Telling/privacy")
    #expect(seen.lines == ["0", "[but tunnels]", "[and all of it when asked]", "info.log:0", "agent.log:0"])
  }
}
