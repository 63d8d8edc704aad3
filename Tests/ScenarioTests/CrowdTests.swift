import Glibc
import Testing

/// The effect of fifty hostile clients of an ordinary user on the agent (docs/security-processes.md, "The local socket").
@Suite("A hostile crowd at the local socket", .needsLab, .enabled(if: geteuid() == 0, "other users are root's to become"))
struct CrowdTests {
  @Test("keeps root's status, the firewall's repair and roaming from nothing")
  func crowd() throws {
    let scene = try Scene(["corp.yaml": alwaysGuarded])
    let seen = try scene.play("Crowd/crowd")
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == ["[root is answered]", "[repaired]", "[followed]", "[not busy]", "[down]"],
      "\(scene.read("times"))")
  }

  @Test("gets no more from a request of a client that has gone")
  func gone() throws {
    let scene = try Scene()
    let seen = try scene.play("Crowd/gone")
    #expect(seen.lines == ["[nothing]"])
  }
}

private let alwaysGuarded = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      on-demand: { rules: [{ action: connect }] }
      routes: { include: [default] }
      kill-switch: always

  """
