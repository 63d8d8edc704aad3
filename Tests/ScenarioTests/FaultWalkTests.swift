import Glibc
import Testing

/// The real agent, killed before and after everything that it does (`ROAMWARD_DIE_AT`), in a real network. Every place of every walk is
/// gone through in `AgentTests/FaultInjectionTests`, in a machine in memory; here are a few, spread over the whole walk: 30, or `KILLS`.
@Suite("Killed in the middle of anything", .needsLab, .enabled(if: isDebugBuild, "a release has no places to die at"))
struct FaultWalkTests {
  /// A walk: a policy, the preparation of the scene for it, and a change on the way, after another network.
  struct Walk: CustomStringConvertible {
    let name: String
    let policy: String
    /// The commands that bring up the tunnel; `nil`: it is WireGuard.
    var commands: CommandTunnel?
    var prepare = ""
    var change = ":"
    /// Holds when the change is in force.
    var changed = "true"
    /// At how many places the agent dies, of 30 in all walks.
    var samples = 10

    var deaths: Int { getenv("KILLS").flatMap { Int(String(cString: $0)) }.map { max(1, $0 * samples / 30) } ?? samples }

    var description: String { name }
  }

  static let walks = [
    Walk(name: "split", policy: corp),
    Walk(name: "kill-switch", policy: corpForEverything(killSwitch: "on"), prepare: "take_everything"),
    Walk(name: "command", policy: corp, commands: CommandTunnel(), samples: 5),
    // Other routes and other servers while it is up.
    Walk(
      name: "policy change", policy: corp,
      prepare: "[[ -e original ]] && cp original $policies/corp.yaml || cp $policies/corp.yaml original",
      change: """
        sed 's|10.77.0.0/16|10.77.0.0/17, 10.78.0.0/16|; s|servers: .10.77.0.1.|servers: [10.77.0.2]|' original >new
        mv new $policies/corp.yaml
        """, changed: "[[ $(way_to 10.78.1.1) == 'dev corp' ]]", samples: 5),
  ]

  /// Waits until the agent has died of it, or has come to `goal`; says which.
  private let words = """
    # Starts an agent that dies at a place, without waiting for it to answer.
    doomed_agent() {
      rm -f "$scene/agent.exit"
      {
        status=0
        # shellcheck disable=SC2016 # expanded over there
        ROAMWARD_DIE_AT=$1 bash -c 'echo $BASHPID >"$0/agent.pid"; exec "${@:1}"' "$scene" "$bin/roamwardd" --policies "$policies" --policies "$scene/local" --state-dir "$scene/state" \\
          --socket "$ROAMWARD_SOCKET" "${inputs[@]}" --settle 0ms --log-level debug || status=$?
        echo "$status" >"$scene/agent.exit"
      } </dev/null >/dev/null 2>>"$scene/agent.log" &
    }
    gone() { test -s "$scene/agent.exit"; }
    is() { gone || [[ $(field corp state 2>/dev/null) == "$1" ]]; }
    # The firewall's table may stay after cleaning up: that is what it is for.
    without_firewall() { state | awk '/^table (inet|arp) roamward/ { skip = 1 } !skip { print } skip && /^}/ { skip = 0 }'; }
    clean() { without_firewall >"$scene/after"; diff "$scene/before" "$scene/after"; }
    notes() { find "$scene/state" -mindepth 1 ! -name lock ! -name policies ! -path '*/history' ! -path '*/history/*' | sort; }
    nothing_left() {
      clean && [[ -z $(notes) ]] && [[ -z $(engine_pid corp) ]] && [[ ! -e $ROAMWARD_SOCKET ]]
    }

    """

  /// The number of places that a walk without a death comes to: home, café, another network, home, the end.
  private func count(_ scene: Scene, _ walk: Walk) throws -> Int {
    try scene.run(
      words + """
        changed() { \(walk.changed); }
        \(walk.prepare)
        go home
        remember
        export ROAMWARD_FAULT_LOG=$scene/places
        SETTLE=0ms start_agent
        go cafe
        tunnel_is corp connected 30s
        go mobile
        within 20 field_is corp state connected
        \(walk.change)
        within 20 changed
        go home
        tunnel_is corp disconnected 20s
        stop_agent >/dev/null
        as_before
        """, limit: 120)
    return scene.read("places").lines.count
  }

  @Test("the next start makes what is wanted, and cleaning up leaves nothing", arguments: walks)
  func killed(_ walk: Walk) throws {
    let scene = try Scene(["corp.yaml": walk.policy])
    if let commands = walk.commands {
      try commands.writeProgram(in: scene)
      try scene.write("policies/corp.yaml", walk.policy.with("{ wireguard: { config: corp.conf } }", commands.provider(in: scene)))
    }
    let count = try count(scene, walk)
    #expect(count > 20)
    let step = max(1, count / walk.deaths)
    let places = Array(stride(from: 1, through: count, by: step))
    for (number, place) in places.enumerated() {
      let recovery =
        number % 2 == 0
        ? """
        "$bin/roamwardd" --cleanup --policies "$policies" --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" "${inputs[@]}" 2>>"$scene/agent.log"
        within 5 nothing_left || { say "cleanup after place \(place): $(sed -n \(place)p "$scene/places")"; notes; exit 1; }
        "$bin/roamwardd" --release 2>>"$scene/agent.log"
        """
        : """
        go cafe
        SETTLE=0ms start_agent
        tunnel_is corp connected 20s || { say "restart after place \(place)"; exit 1; }
        go home
        tunnel_is corp disconnected 20s
        stop_agent >/dev/null
        within 5 nothing_left || { say "stop after place \(place): $(sed -n \(place)p "$scene/places")"; notes; exit 1; }
        """
      try scene.run(
        words + """
          changed() { \(walk.changed); }
          \(walk.prepare)
          go home
          without_firewall >"$scene/before"
          doomed_agent \(place)
          within 5 eval 'gone || roamward status'
          go cafe
          within 20 is connected
          go mobile
          sleep 0.3
          within 20 is connected
          gone || { \(walk.change); }
          within 20 eval 'gone || changed'
          go home
          within 20 is disconnected
          # It may die by itself meanwhile.
          gone || { kill -TERM $(agent_pid) 2>/dev/null || true; within 20 gone; }
          [[ $(<"$scene/agent.exit") == 137 ]] || say "it did not die at \(place)"
          \(recovery)
          """, limit: 90)
    }
  }

  @Test("a command's program that is under way when the agent dies is ended before its `down`", arguments: ["cleanup", "restart"])
  func commandUnderWay(_ recovery: String) throws {
    let scene = try Scene([:])
    // Three seconds from when it is not to be slow any more: so it is under way when the agent is killed, however late that is.
    let slow = "[[ ! -e slow ]] || { while [[ -e slow ]]; do sleep 0.05; done; sleep 3; }"
    try CommandTunnel(up: "echo $$ >up.pid; \(slow); \(CommandTunnel.makesLink)").write(in: scene)
    let seen = try scene.run(
      """
      touch slow
      go cafe
      remember
      start_agent
      within 5 test -s up.pid
      kill_agent
      kill -0 $(<up.pid) && say 'still under way'
      rm slow
      case \(recovery) in
        cleanup)
          cleanup_agent
          runs $(<up.pid) || say ended
          sleep 3.5
          as_before && say clean ;;
        restart)
          start_agent
          tunnel_is vpn connected 20s
          sleep 3.5
          field vpn state
          [[ $(way_to 10.99.1.1) == 'dev vpn0' ]] && say routed
          stop_agent
          as_before && say clean ;;
      esac
      """, limit: 90)
    #expect(seen.lines.first == "[still under way]" && seen.lines.last == "[clean]", "\(seen)")
    if recovery == "restart" { #expect(seen.contains("connected\n[routed]\n0"), "\(seen)") }
  }

  @Test("ten deaths in a row open nothing; an agent that is replaced leaves no gap; a second one is refused and harms nobody")
  func lockedThroughout() throws {
    let scene = try Scene(["corp.yaml": corpForEverything(killSwitch: "always")])
    let seen = try scene.run(
      words + """
        take_everything
        watch_cafe
        go cafe
        within 5 watch_sees && say watched
        start_agent
        tunnel_is corp connected 20s
        before=$(clear)
        babble &
        babbling=$!
        start=$EPOCHREALTIME
        kill_agent
        for place in 2 5 9 14 20 26 33 41 50 60; do
          doomed_agent $place
          within 30 eval "gone || field_is corp state connected"
          gone || { kill -KILL $(agent_pid) 2>/dev/null || true; within 5 gone; }
          nft list table inet roamward >/dev/null || say "open after $place"
        done
        start_agent
        tunnel_is corp connected 20s
        # F44
        status=0
        "$bin/roamwardd" --policies "$policies" --state-dir "$scene/state" --socket "$scene/other.socket" 2>second.log || status=$?
        say "$status $(grep -c 'another agent' second.log)"
        field corp state
        # F13: replaced by a new one.
        stop_agent
        start_agent
        tunnel_is corp connected 20s
        kill $babbling
        (( $(clear) == before )) && say 'nothing in clear' || say "$(clear) - $before in clear"
        # F38: a bad file, and killed while it reads it.
        echo 'nonsense: [' >$policies/zz.yaml
        within 5 eval "roamward status | found 'error'"
        field corp state
        kill_agent
        start_agent
        nft list table inet roamward >/dev/null && say 'still locked'
        rm $policies/zz.yaml
        within 20 field_is corp state connected
        (( $(clear) == before )) && say 'nothing in clear'
        """, limit: 150)
    #expect(
      seen.lines == [
        "[watched]", "[1 1]", "connected", "0", "[nothing in clear]", "connected", "[still locked]", "[nothing in clear]",
      ], "\(seen)")
  }

  @Test("what runs a tunnel is killed: told within a second, made anew") func backend() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected 20s
      [[ -n $(engine_pid corp) ]] || { say kernel; exit 0; }
      # Nobody answers, so that the state can be seen.
      on gateway nft 'table inet deaf { chain c { type filter hook input priority 0; udp dport 51820 drop; }; }'
      kill -KILL $(engine_pid corp)
      within 1 eval '[[ $(field corp state) == reasserting ]]'
      roamward status | found 'link is gone' && say told
      on gateway nft delete table inet deaf
      tunnel_is corp connected 20s
      within 5 intranet_loads
      say back
      """, limit: 90)
    #expect(["[told]\n[back]", "[kernel]"].contains(seen), "\(seen)")
  }
}

/// The programs that the scenes start are a debug build's: they have places to die at, and write them down.
let isDebugBuild: Bool = {
  #if DEBUG
    !Lab.programs.split(separator: "/").contains("release")
  #else
    false
  #endif
}()
