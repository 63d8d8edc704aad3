import Testing

/// F38: what policies were when they were good last outlives the agent.
@Suite("The last good policies", .needsLab)
struct LastGoodTests {
  private let guarded = corpForEverything(killSwitch: "on")

  @Test("a broken edit, and the agent killed: the same tunnel, the same routes, and no packet in clear") func killed() throws {
    let scene = try Scene(["corp.yaml": guarded])
    let seen = try scene.play("LastGood/killed")
    #expect(
      seen.lines.prefix(11) == [
        "[watched]", "corp.yaml: broken at line 16; its last known good version of 20", "1", "[as it was]", "[1,1]", "2", "0",
        "[for root alone]",
        "[open]", "[guarded]", "0",
      ], "\(seen)")
  }

  @Test("nothing leaves in clear from the broken edit to the next agent's first look") func noGap() throws {
    let scene = try Scene(["corp.yaml": guarded])
    let seen = try scene.play("LastGood/no-gap")
    #expect(seen.lines == ["[watched]", "[nothing in clear]"], "\(seen)")
  }

  @Test("what was removed or edited well while no agent ran counts; a torn copy is refused, told, and harms nothing") func copies() throws {
    let scene = try Scene(["corp.yaml": guarded])
    try scene.write("policies/other.yaml", corp.with("corp:", "other:").with("[10.77.0.0/16]", "[10.99.0.0/16]"))
    let seen = try scene.play("LastGood/copies")
    #expect(
      seen.lines == [
        "[corp]", "policy: 1 error; no policy is active", "state/policies is damaged and is ignored", "[still locked]",
        "damaged-policies", "0",
      ], "\(seen)")
  }

  @Test(
    "killed at any step of taking over policies, it comes back to the set before or after, and never to none", .enabled(if: isDebugBuild))
  func everyStep() throws {
    let scene = try Scene()
    try scene.play("LastGood/every-step")
    try scene.play("LastGood/every-step-2")
    let places = scene.read("places").lines.filter { $0.hasSuffix("state/policies") }.compactMap { Int($0.prefix { $0.isNumber }) }
    #expect(places.count == 6, "before, between and after, twice")
    for place in places {
      let seen = try scene.play("LastGood/every-step-3", with: ["PLACE": place])
      #expect(seen == (place == places[0] || place == places[1] ? "[0 0]" : "[1 1]"), "place \(place): \(seen)")
    }
  }
}
