import Glibc
import NetworkTypes
import Testing

/// Names and arguments that others choose neither control the terminal of a reader, nor pass for the agent's.
@Suite("What a hostile neighbour calls things", .needsLab)
struct EscapeTests {
  /// A process of somebody's that bears our marks, with a title of its own choosing.
  private let sleeper = """
    use strict;
    $ENV{ROAMWARD_LINK} = "corp";
    $ENV{ROAMWARD_TUNNEL} = "corp\\e[31mX\\nroot: all is well";
    $ENV{ROAMWARD_ACTION} = "up\\e[2J";
    exec { "/bin/sleep" } "sl\\e]0;pwned\\aeep\\n\\xc2\\x9b31m", "600";
    """

  @Test("a process of another user is not the agent's, whatever its environment says", .enabled(if: geteuid() == 0))
  func foreign() throws {
    let scene = try Scene()
    try scene.write("sleeper", sleeper)
    let seen = try scene.play("Escape/foreign")
    #expect(seen.lines == ["state.out:0", "state.json:0", "0", "[alive]"])
  }

  @Test("its titles are escaped where it is the agent's own user's")
  func own() throws {
    let scene = try Scene()
    try scene.write("sleeper", sleeper)
    try scene.play("Escape/own")
    for name in ["state.out", "state.json"] { expectPrintable(scene.read(name), name) }
    #expect(!scene.read("state.out").lines.contains { $0.hasPrefix("root: all is well") })
  }

  @Test("networks, links and names are escaped, in text, JSON and the log")
  func network() throws {
    let scene = try Scene()
    try scene.play("Escape/network")
    for name in (0..<7).map({ "out-\($0)" }) + (0..<4).map({ "dry-\($0)" }) + ["agent.log"] {
      #expect(!scene.read(name).isEmpty, "\(name)")
      expectPrintable(scene.read(name), name)
    }
    #expect(scene.read("agent.log").contains("42c29b33316d"))
  }

  @Test(
    "a name that joins its characters is shown as it is everywhere, and one that hides some is not",
    arguments: ["Familie 👩\u{200d}👩\u{200d}👧", "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}", "東京 ☕\u{fe0f}", "شبكة"])
  func joined(name: String) throws {
    let policy = """
      version: 1
      tunnels:
        corp:
          description: "\(name)"
          provider: { wireguard: { config: corp.conf } }
          on-demand:
            rules:
              - { name: "\(name)", match: { ssid: "\(name)" }, action: connect }
              - { name: "co\u{200d}rp", match: { ssid: Home }, action: connect }
              - { action: disconnect }
          routes: { include: [10.77.0.0/16] }

      """
    let scene = try Scene(["corp.yaml": policy])
    try scene.write("name", name)
    let seen = try scene.play("Escape/joined")
    #expect(seen.lines == Array(repeating: "[\(name)]", count: 3))
    let wanted = "# policies/corp.yaml\n" + policy.replacing("co\u{200d}rp", with: "co\\u{200d}rp")
    #expect(scene.read("out-cat").unicodeScalars.elementsEqual(wanted.unicodeScalars))
    for file in ["status", "network", "explain", "evaluate", "check"] {
      let text = scene.read("out-\(file)")
      #expect(!text.contains("\u{fffd}") && !text.contains("hex:"), "\(file): \(text)")
      #expect(!text.contains("co\u{200d}rp"), "\(file)")
    }
  }

  private func expectPrintable(_ text: String, _ name: String) {
    let line = text.lines.first { $0.unicodeScalars.contains { $0.isUnprintable && $0 != "\t" } }
    #expect(line == nil, "\(name)")
  }
}
