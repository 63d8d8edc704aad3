import Testing

@Suite("What the machine refuses", .needsLab)
struct StepFailureTests {
  @Test("a route in the way: no rule leads to half a table, what was made goes, and it comes up once it can") func foreignRoute() throws {
    let scene = try Scene()
    let seen = try scene.play("StepFailure/foreign-route")
    #expect(seen.lines == ["[no rule]", "[no name servers]", "[theirs is untouched]", "0"], "\(seen)")
  }

  @Test("a resolv.conf that cannot be written never takes a tunnel down, and status says so") func readOnlyResolvConf() throws {
    let scene = try Scene()
    let seen = try scene.play("StepFailure/read-only-resolv-conf")
    #expect(seen.lines == ["1", "[works]", "0"], "\(seen)")
  }

  @Test("an agent without CAP_NET_ADMIN makes nothing, leaves nothing, and says why") func noCapability() throws {
    let scene = try Scene()
    let seen = try scene.play("StepFailure/no-capability")
    #expect(seen.contains("[status 77]") && seen.contains("[untouched]"), "\(seen)")
    #expect(seen.contains("CAP_NET_ADMIN"), "\(seen)")
  }

  @Test("killed while policies are applied and confirmed, it has the old set or the new one, and never a part", .enabled(if: isDebugBuild))
  func trial() throws {
    let scene = try Scene()
    try scene.play("StepFailure/trial")
    let places = scene.read("places").lines.filter { $0.contains("/trial") || $0.contains("/local/") }.compactMap {
      Int($0.prefix { $0.isNumber })
    }
    #expect(places.count >= 15)
    for place in places {
      let seen = try scene.play("StepFailure/trial-2", with: ["PLACE": place])
      #expect(["[old]", "[new]"].contains(seen), "place \(place): \(seen)")
    }
  }
}
