import Testing

/// Our own gateway stops answering, or the network drops its UDP, while a person's packets go into the tunnel.
@Suite("A gateway of ours that dies", .needsLab, .marksSockets)
struct DeadOwnGatewayTests {
  private func scene() throws -> Scene {
    let scene = try Scene([:], words: ["providers.bash", "client.bash", "dead.bash"])
    try scene.play("DeadOwnGateway/set-up-1")
    // The program chooses its provider by its name, and `roamward` is the command's.
    try scene.play("DeadOwnGateway/set-up-2")
    return scene
  }

  @Test("is doubted, what is tried is told, given up, and found again when it is back")
  func ownGateway() throws {
    let scene = try scene()
    let seen = try scene.play("DeadOwnGateway/own-gateway")
    print(scene.read("dead.log"))
    #expect(seen.lines == ["[reasserting]", "[back, failure null]", "0"], "\(seen)\n\(scene.read("dead.log"))")
  }

  @Test("where the network drops UDP, it goes by the relay within a minute, and what is tried is told meanwhile")
  func otherWay() throws {
    let scene = try scene()
    let seen = try scene.play("DeadOwnGateway/other-way")
    print(scene.read("dead.log"))
    #expect(
      seen.lines == [
        "[by TCP to the relay 203.0.113.10:443, because 203.0.113.10:51821 does not answer by UDP]", "0",
      ], "\(seen)\n\(scene.read("dead.log"))")
  }
}
