import Testing

/// A machine that arrives on a network, with an agent that lets networks settle for so long that a wait would be seen.
@Suite("Arriving on a network", .needsLab)
struct StartAtOnceTests {
  @Test("its first events start the tunnel; the way back waits for the network to settle, and `status` says so") func arrival() throws {
    let scene = try Scene(["corp.yaml": corp])
    let seen = try scene.play("StartAtOnce/arrival")
    #expect(seen.lines == ["[corp connected]", "[a release waits]", "acts on this network"], "\(seen)")
  }

  @Test("a rule that asks for the network's domains waits for them") func late() throws {
    let rule = "{ match: { dns-domain: elsewhere.example }, action: disconnect }"
    let scene = try Scene(["corp.yaml": corp.replacing("rules:\n", with: "rules:\n        - \(rule)\n")])
    let seen = try scene.play("StartAtOnce/late")
    #expect(seen.lines == ["[a start waits]"], "\(seen)")
  }
}
