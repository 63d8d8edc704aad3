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
    try scene.run(
      """
      second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 >$policies/lab.conf
      chmod 600 $policies/lab.conf
      install_plain
      plain_policy <<'POLICY'
          on-demand: { rules: [{ action: connect }] }
          routes: { include: [default] }
          kill-switch: "on"
      POLICY
      sed -i 's|routes: .10.98.0.0/24.|routes: [0.0.0.0/0]|' "$policies/plain.yaml"
      watch_inner
      """)
    return scene
  }

  /// All tunnels are up, and both connections begun.
  private static let begin = """
    go cafe
    start_server
    start_unit
    all_up() { field_is plain state connected && field_is lab state connected && field_is vpn state connected; }
    within 20 all_up
    begin_flow 10.98.0.1 7777
    begin_flow 10.88.0.1 7778
    flow_goes_on 7777 && flow_goes_on 7778 && say flows
    watch_cafe
    babble & babbler=$!
    trap 'kill $babbler' EXIT

    """

  private static let end = """

    kill $babbler
    trap - EXIT
    say "outside: $(clear) of others, $(inner_packets) of the inner tunnel"
    stop_unit
    say "left: $(plain_process)$(pgrep -f 'sleep infinity')"
    """

  private static let last = ["[outside: 0 of others, 0 of the inner tunnel]", "0", "[left: ]"]

  @Test("keeps their programs, their links and what flows through them, again and again; nothing leaves outside")
  func keeps() throws {
    let seen = try scene().run(
      Self.begin + """
        kept >before
        for round in 1 2 3; do
          restart_unit
          within 20 all_up
          diff before <(kept) && flow_goes_on 7777 && flow_goes_on 7778 && say "kept $round"
        done
        say "$(awk '{ print NF }' starts | tr '\\n' ' ')"
        count_in_log 'replaces the provider'
        roamward message plain statistics | jq -c .connected
        """ + Self.end)
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
    let begin = change == "a full store" ? Self.begin.replacing("start_unit", with: "start_unit 0") : Self.begin
    let seen = try scene.run(
      begin + """
        kept >before
        [[ ! -e prepared ]] || mv prepared between
        restart_unit
        rm -f between
        within 30 all_up
        within 10 plain_answers
        kept >after
        [[ $(grep -o 'provider [0-9]*' before) != $(grep -o 'provider [0-9]*' after) ]] && say "another provider"
        [[ $(grep -o 'command [0-9]*' before) == $(grep -o 'command [0-9]*' after) ]] && say "the same command"
        grep -o 'replaces the provider: [^"]*' agent.log || say "stopped before"
        restart_unit
        within 20 all_up
        """ + Self.end)
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
