import Testing

@Suite("A tunnel through another one", .needsLab)
struct InnerTunnelScenes {
  /// `lab` goes through `corp`. Its gateway is reached outside too: only the policy keeps its packets inside.
  private func scene(_ inner: String = inner) throws -> Scene {
    let scene = try Scene(["50-corp.yaml": outer, "60-lab.yaml": inner], words: ["inner.bash"])
    try scene.play("lab-gateway")
    try scene.play("InnerTunnel/set-up")
    return scene
  }

  @Test("starts after it and ends before it; none of its packets leaves outside, whatever happens to the two")
  func life() throws {
    let seen = try scene().play("InnerTunnel/life")
    #expect(
      seen.lines == [
        "[disconnected disconnected]", "[dev lab, 0 outside]", "because: lab goes through it; rule 1: always",
        "because: manual override", "through: corp, which carries its packets",
        "[no drift]", "[roamed: 0]", "[killed: 0]", "[without an agent: 0]", "[disconnected, outer-down: 0]", "[0: 0 outside]", "[1]",
      ])
  }

  @Test("takes everything with a kill switch: nothing else leaves, and its own packets go through the outer one")
  func full() throws {
    let seen = try scene(inner + "    include-all-networks: true\n").play("InnerTunnel/full")
    #expect(seen.lines == ["[dev lab 0]", "[blocked]", "[0]", "mtu 1340"])
  }

  @Test("works as a program too: its sockets go through the outer tunnel from the start, or nowhere", .marksSockets)
  func command() throws {
    let scene = try scene()
    let seen = try scene.play("InnerTunnel/command")
    #expect(seen.lines == ["[connected connected 0]", "[received]", "[0 0]"])
  }
}

private let outer = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      on-demand: { rules: [{ action: disconnect }] }
      routes: { include: [10.77.0.0/16] }

  """

private let inner = """
  version: 1
  tunnels:
    lab:
      provider: { wireguard: { config: lab.conf } }
      through: corp
      routes: { include: [10.88.0.0/16] }

  """
