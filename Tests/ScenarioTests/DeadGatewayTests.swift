import Testing

@Suite("A gateway that dies", .needsLab)
struct DeadGatewayTests {
  @Test("while traffic goes into the tunnel is doubted, then given up with the reason, and found again when it is back")
  func dies() throws {
    let scene = try Scene()
    let seen = try scene.play("DeadGateway/dies")
    print(seen.lines.last ?? "")
    #expect(
      seen.lines.dropLast() == [
        "the peer has not answered for 24 s,", "[doctor 1 1 1]", "[3 connecting 1 1]", "[told]", "[back, failure null]",
      ])
  }

  @Test("while the machine is without a network does not count as connected when the network is back")
  func diesMeanwhile() throws {
    let scene = try Scene()
    let seen = try scene.play("DeadGateway/dies-meanwhile")
    #expect(seen.lines == ["[reasserting]", "[0]"])
  }
}

@Suite("An engine that hangs", .needsLab)
struct HungEngineTests {
  @Test("is killed and begun again, and people are answered meanwhile") func hangs() throws {
    let scene = try Scene()
    let seen = try scene.play("DeadGateway/hung-engine")
    #expect(seen.lines == ["[people are answered]", "[another engine]", "[the hung one is gone]", "[back]"])
  }
}

@Suite("At home by the gateway's hardware address", .needsLab)
struct GatewayMACTests {
  @Test("an idle machine never connects, whatever the kill switch", arguments: ["off", "on", "always"])
  func idle(killSwitch: String) throws {
    let policy = (killSwitch == "off" ? corp : corpForEverything(killSwitch: killSwitch))
      .with("match: { interface-name: \"eth*\" }", "match: { gateway-mac: \"02:00:5e:10:00:01\" }").with(
        "{ action: ignore }", "{ action: connect }")
    let scene = try Scene(["corp.yaml": policy])
    let seen = try scene.play("DeadGateway/idle")
    #expect(seen.lines.last == "[disconnected 0]")
  }
}
