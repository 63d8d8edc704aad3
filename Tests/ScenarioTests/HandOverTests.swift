import Glibc
import Testing

/// The agent as a unit, with tunnels of several kinds: an installed provider that takes everything under a kill switch (`plain`), a tunnel
/// through it (`lab`) and a command (`vpn`).
@Suite("A restart of the agent", .needsLab)
struct HandOverScenes {
  private func scene() throws -> Scene {
    let scene = try Scene(["60-lab.yaml": inner], words: ["providers.bash", "inner.bash", "unit.bash"])
    var command = CommandTunnel()
    command.up += "; sleep infinity </dev/null >/dev/null 2>&1 &"
    try command.write(in: scene)
    try scene.play("HandOver/prepare")
    return scene
  }

  /// All tunnels are up, and both connections begun.
  private static let last = ["[outside: 0 of others, 0 of the inner tunnel]", "0", "[left: ]"]

  @Test("keeps their programs, their links and what flows through them, again and again; nothing leaves outside")
  func keeps() throws {
    let seen = try scene().play("HandOver/keeps")
    #expect(seen.lines == ["[flows]", "[kept 1]", "[kept 2]", "[kept 3]", "[1 2 2 2 ]", "0", "true"] + Self.last)
  }

  @Test(
    "replaces what cannot go on, and nothing leaves outside meanwhile", arguments: ["a killed provider", "a full store", "another option"])
  func replaces(_ change: String) throws {
    let between = [
      "a killed provider": "pkill -KILL -f 'python3 .*/providers/plain-udp'",
      "another option": "sed -i 's|routes: .0.0.0.0/0.|routes: [0.0.0.0/1, 128.0.0.0/1]|' policies/plain.yaml",
    ]
    let scene = try scene()
    if let script = between[change] {
      try scene.write("prepared", "#!/bin/bash\ncd '\(scene.folder)'\n\(script)\n")
      chmod("\(scene.folder)/prepared", 0o755)
    }
    let seen = try scene.play("HandOver/replaces", with: ["KEPT": change == "a full store" ? 0 : 64])
    let reason = [
      "a killed provider": "replaces the provider: its program has ended",
      "another option": "replaces the provider: its policy or its manifest was changed",
    ]
    #expect(seen.lines == ["[flows]", "[another provider]", "[the same command]", reason[change] ?? "[stopped before]"] + Self.last)
  }
}

private let inner = """
  version: 1
  tunnels:
    lab:
      provider: { wireguard: { config: lab.conf } }
      through: plain
      on-demand: { rules: [{ action: connect }] }
      routes: { include: [10.88.0.0/16] }

  """
