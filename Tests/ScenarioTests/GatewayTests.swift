import Testing

@Suite("A gateway that does not answer", .needsLab)
struct GatewayTests {
  @Test("keeps a full tunnel connecting, with the reason, and swallows no traffic; when it comes back, so does the tunnel")
  func unreachable() throws {
    let scene = try Scene(["corp.yaml": corp.with("10.77.0.0/16", "default")])
    let seen = try scene.play("Gateway/unreachable")
    #expect(
      seen.lines == [
        "[connecting 198.51.100.23 0]", "[connecting 198.51.100.23 0]", "[connecting 198.51.100.23 0]",
        "corp is connecting, because rule 2: ssid \"Cafe\" is \"Cafe\"", "[connecting 198.51.100.23]", "[10.77.0.2 null]",
      ])
  }

  @Test("whose name does not resolve is told so, and asked for again")
  func unresolvable() throws {
    let scene = try Scene()
    let seen = try scene.play("Gateway/unresolvable")
    #expect(seen.lines == ["[connecting]", "the endpoint vpn.corp.example cannot be resolved: there is no name vpn.corp.example"])
  }

  @Test("is given up after a while on a new network, and what went into the tunnel goes outside again")
  func lostWhileRoaming() throws {
    let scene = try Scene()
    let seen = try scene.play("Gateway/lost-while-roaming")
    #expect(seen.lines == ["[dev corp 1]", "[outside]", "[back]"])
  }
}
