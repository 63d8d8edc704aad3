import NetworkTypes
import Testing

/// The agent's record, as a user reads it.
@Suite struct HistoryTests {
  @Test("shows a walk, replays it, explains a moment of it, and what other policies would have made of it")
  func walk() throws {
    let scene = try Scene()
    let seen = try scene.play("History/walk")
    let history = scene.read("history")
    #expect(history.contains("network: wifi wlan0, ssid \"Cafe\""))
    #expect(history.contains("corp: connecting -> connected"))
    #expect(history.contains("corp: manual override (down)") && history.contains("(no agent ran)"))
    #expect(scene.read("defects").contains("1 damaged lines of the record are left out"))
    for kind in ["decision", "network", "override", "state"] { #expect(scene.read("kinds").contains(kind)) }
    #expect(seen.contains("[replayed]") && scene.read("replay").contains("recorded decisions are reproduced"))
    #expect(seen.contains("[status 1]") && scene.read("late").contains("nothing is recorded for"))
    #expect(!seen.contains("[first 0]") && seen.contains("[first "), "\(seen)\n\(scene.read("late"))")
    #expect(
      seen.lines.filter { $0.hasPrefix("missing") } == [
        "missing in the record: gateway-mac: no policy asked for it at all times, so it was not always read"
      ], "\(seen)")
    // The walk takes seconds, on a slow machine more than five.
    let differences = scene.read("differences")
    #expect(differences.contains("corp: connect") || differences.contains("differences of less than 5 s"), "\(differences)")
    #expect(differences.contains("corp up") && differences.contains("trusted networks: none"))
    #expect(seen.contains("[simulated]") && scene.read("beside").contains("trusted networks: none"), "\(scene.read("beside"))")
    #expect(scene.read("page.html").contains("default-src 'none'"))
    // A page without policies is the record alone.
    #expect(scene.read("bare.html").contains("default-src 'none'") && scene.read("bare").isEmpty, "\(scene.read("bare"))")
    #expect(Set(seen.lines.filter { $0.allSatisfy(\.isNumber) && $0.count == 3 }) == ["600", "700"])
  }
}
