import Testing

/// A machine that others reach, with a full tunnel: its ports, and relays that carry the tunnel's own packets.
@Suite("A server with a full tunnel", .needsLab)
struct ServerTests {
  private func scene(_ settings: String = "", routes: String = "include: [default]") throws -> Scene {
    let policy = """
      version: 1
      tunnels:
        corp:
          provider: { wireguard: { config: corp.conf } }
          on-demand: { rules: [{ action: connect }] }
          routes: { \(routes) }
      \(settings.isEmpty ? "" : "    \(settings)\n")
      """
    let scene = try Scene(["corp.yaml": policy])
    try scene.play("Server/set-up")
    return scene
  }

  @Test("ports are unreachable, which plan, doctor and status tell, until answers leave by the link of arrival")
  func answers() throws {
    let seen = try scene().play("Server/answers")
    #expect(
      seen.lines == [
        "[host container 198.51.100.23]", "1", "risk `routes: { answer-by-arrival: true }`",
        "connections from beyond the local network to port 8080 of this machine get no", "[host container 10.77.0.2 0 0]", "[no drift]",
        "[1]", "0", "[host container 198.51.100.23]",
      ], "\(seen)")
  }

  @Test("the same under a kill switch, where nothing else gets past it, while the tunnel is up and while it is not")
  func underKillSwitch() throws {
    let seen = try scene("kill-switch: \"on\"", routes: "include: [default], answer-by-arrival: true").play(
      "Server/under-kill-switch")
    #expect(
      seen.lines == [
        "[host container 10.77.0.2]", "[blocked blocked]", "[unprivileged]", "0", "[- -]", "its kill switch drops them", "0",
      ], "\(seen)")
  }

  @Test("where the kernel checks return paths strictly, the option is told as one without effect, and the cure gives it its effect")
  func strictPaths() throws {
    let seen = try scene(routes: "include: [default], answer-by-arrival: true").play("Server/strict-paths")
    #expect(
      seen.lines == ["`answer-by-arrival` has no effect", "cure: sysctl net.ipv4.conf.all.rp_filter=2", "0"], "\(seen)")
  }

  @Test(
    "a relay on this machine is told by check, plan and status as what it is; packets that go round are noted, and excluded they do not")
  func relay() throws {
    let seen = try scene().play("Server/relay")
    #expect(
      seen.lines == [
        "its endpoint 127.0.0.1:51899 is a relay on this machine, whose own packets go into the tunnel that they carry", "1", "1",
        "[goes round]", "[0 0]", "0",
      ], "\(seen)")
  }
}
