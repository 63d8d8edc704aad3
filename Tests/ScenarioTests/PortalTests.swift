import Testing

/// A café whose portal answers every web page with its own, until somebody signs in; and a laptop whose kill switch holds everything back.
@Suite("A captive portal under a kill switch", .needsLab)
struct PortalTests {
  @Test("is reached by one browser alone; nothing else leaves, the tunnel comes up by itself, and nothing remains, time after time")
  func oneBrowser() throws {
    let scene = try leakScene(guarded, "browser.bash")
    let seen = try scene.play("Portal/one-browser")
    let none = "dns4=0 dns6=0 flow4=0 flow6=0 gateway=0"
    let group = "/" + (scene.folder.split(separator: "/").last.map(String.init) ?? "")
    func round(_ time: String) -> [String] {
      [
        "[\(time): nothing]", "[others: \(none)]", "[others: nothing]", "[browser: Please buy a coffee.]", "203.0.113.80",
        "kill switch: portal window open (hotel), the web and DNS flow outside the tunnel for the programs in \(group) only; `roamward resume` closes it",
        "[as if there had been no portal]", "10.77.0.2",
      ]
    }
    #expect(seen.lines.dropLast() == round("first") + round("second"))
    #expect(seen.lines.last?.contains("portal window for programs in \(group)") == true)
  }

  @Test("the window closes when its browser does; none opens to the whole machine, or to nobody")
  func closes() throws {
    let scene = try leakScene(guarded, "browser.bash")
    let seen = try scene.play("Portal/closes")
    #expect(
      seen.lines == [
        "roamward: process N is in the control group of the whole machine",
        "roamward: no process 999999, or this system has no cgroup v2",
        "Error: --only limits a portal window; add --portal", "[guarded]", "Please buy a coffee.", "[closed again]",
      ])
  }
}
