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
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      setpriv --reuid 65534 --regid 65534 --clear-groups perl sleeper & foreign=$!
      within 5 eval '[[ $(tr "\\0" " " </proc/'$foreign'/cmdline) == *pwned* ]]'
      roamward state --state-dir "$scene/state" >state.out
      roamward state --json --state-dir "$scene/state" >state.json
      grep -c pwned state.out state.json || true
      # The engine, and where the kernel has WireGuard none, is the agent's.
      [[ -z $(engine_pid corp) ]] || grep -q "process *$(engine_pid corp) " state.out
      kill_agent
      "$bin/roamwardd" --cleanup --dry-run --policies "$policies" --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" "${inputs[@]}" >dry.out
      grep -c pwned dry.out || true
      cleanup_agent
      kill -0 $foreign && say alive
      kill $foreign
      """)
    #expect(seen.lines == ["state.out:0", "state.json:0", "0", "[alive]"])
  }

  @Test("its titles are escaped where it is the agent's own user's")
  func own() throws {
    let scene = try Scene()
    try scene.write("sleeper", sleeper)
    try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      perl sleeper & own=$!
      within 5 eval '[[ $(tr "\\0" " " </proc/'$own'/cmdline) == *pwned* ]]'
      roamward state --state-dir "$scene/state" >state.out
      roamward state --json --state-dir "$scene/state" >state.json
      kill $own
      grep -q pwned state.out
      grep -q pwned state.json
      """)
    for name in ["state.out", "state.json"] { expectPrintable(scene.read(name), name) }
    #expect(!scene.read("state.out").lines.contains { $0.hasPrefix("root: all is well") })
  }

  @Test("networks, links and names are escaped, in text, JSON and the log")
  func network() throws {
    let scene = try Scene()
    let commands = [
      "status", "status --json", "network", "network --json", "explain corp", "state --state-dir '\(scene.folder)/state'",
      "dns corp.example",
    ]
    let script = commands.enumerated().map { "roamward \($1) >out-\($0) 2>&1 || true" }.joined(separator: "\n")
    let dry = ["evaluate --explain", "evaluate --json", "plan", "network"].enumerated().map {
      "dry \($1) \($1 == "network" ? "" : "--set ssid=hex:42c29b33316de280aee2808b") >dry-\($0) 2>&1 || true"
    }.joined(separator: "\n")
    try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      ip link add $'x\\e[31m\\xc2\\x9by' type veth peer name peer0
      ip link set $'x\\e[31m\\xc2\\x9by' up
      ip address add 192.0.2.77/24 dev $'x\\e[31m\\xc2\\x9by'
      ip link set $'x\\e[31m\\xc2\\x9by' alias $'roamward:\\e[31mcorp\\xe2\\x80\\xae'
      printf 'B\\xc2\\x9b31m\\xe2\\x80\\xae\\xe2\\x80\\x8b' >"$laptop/ssid"
      printf 'nameserver 192.0.2.53\\nsearch a\\e[31mb.example \\xc2\\x9b31m.example\\n' >>"$laptop/resolv.conf"
      sleep 2
      within 5 grep -q 42c29b33316d agent.log
      \(script)
      \(dry)
      """)
    for name in (0..<commands.count).map({ "out-\($0)" }) + (0..<4).map({ "dry-\($0)" }) + ["agent.log"] {
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
    let seen = try scene.run(
      """
      go cafe
      cp name "$laptop/ssid"
      start_agent
      tunnel_is corp connected
      roamward status >out-status
      roamward network >out-network
      dry explain corp >out-explain
      dry evaluate --explain >out-evaluate
      roamward cat --policies policies >out-cat
      roamward check policies >out-check 2>&1 || true
      say "$(roamward network --json | jq -r .links.wlan0.ssid)"
      say "$(roamward status --json | jq -r .primary.ssid)"
      say "$(roamward status --json | jq -r '.tunnels[0].rule.name')"
      grep -L -F "$(cat name)" out-status out-network out-explain out-evaluate out-cat || true
      """)
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
