import Testing

/// F42 and F43: what the agent does without. Each is told, held back where a kill switch says so, and mended as
/// soon as there is enough again.
@Suite("Too little of everything", .needsLab)
struct ScarcityTests {
  private let guarded = corpForEverything(killSwitch: "on")
  private let words = """
    take_everything
    locked() { nft list table inet roamward >/dev/null; }

    """

  @Test("of a TUN device: said with its cure, held back, and the tunnel comes up when there is one") func tun() throws {
    let scene = try Scene(["corp.yaml": guarded])
    let seen = try scene.run(
      words + """
        go cafe
        remember
        ip link add probe type wireguard 2>/dev/null && { say kernel; exit 0; }
        # A folder's device is another's: the agent sees an empty one in its own mount namespace.
        mount --bind /dev/null /dev/net/tun
        start_agent
        within 10 eval '[[ $(field corp failure) == *"/dev/net/tun"* ]]'
        locked && say locked
        umount /dev/net/tun
        within 30 field_is corp state connected
        say back
        stop_agent
        as_before
        """, limit: 120)
    #expect(["[locked]\n[back]\n0", "[kernel]"].contains(seen), "\(seen)")
  }

  @Test("of a place to write in: a read-only /run costs the sockets there, is told, and nothing is open") func readOnlyRun() throws {
    let scene = try Scene(["corp.yaml": corpForEverything(killSwitch: "always")])
    let seen = try scene.run(
      words + """
        go cafe
        start_agent
        tunnel_is corp connected
        kill_agent
        mkdir -p run
        mount -t tmpfs -o ro tmpfs run
        status=0
        "$bin/roamwardd" --policies "$policies" --state-dir "$scene/state" --socket "$scene/run/control.sock" "${inputs[@]}" 2>poor.log || status=$?
        say "$status $(grep -c 'Read-only file system' poor.log)"
        locked && say locked
        umount run
        start_agent
        tunnel_is corp connected
        say back
        """, limit: 120)
    #expect(seen.lines == ["[1 1]", "[locked]", "[back]"], "\(seen)")
  }

  @Test("of patience: a command under way that ignores SIGTERM does not keep the agent from stopping, and leaves nothing")
  func deafCommand() throws {
    let scene = try Scene([:])
    let deaf = "trap '' TERM; \(CommandTunnel.makesLink); sleep 300 & sleep 300; sleep 300"
    try CommandTunnel(up: deaf, timeout: "5m").write(in: scene)
    let seen = try scene.run(
      """
      go cafe
      remember
      start_agent
      within 5 eval 'ip -br address show vpn0 | grep -q 10.99'
      SECONDS=0
      stop_agent
      # It has two seconds to end by itself; without that it would be five minutes, or the ten seconds that a stop may take at most.
      ((SECONDS < 9)) && say soon
      cat calls
      as_before
      """, limit: 90)
    #expect(seen.lines == ["0", "[soon]", "up", "down"], "\(seen)")
  }

  @Test(
    "of patience: a `down` that hangs, with a child of another session, is killed with it four seconds after the stop began; nothing of ours is left"
  )
  func hungDown() throws {
    let scene = try Scene([:])
    let hung = """
      trap '' TERM
      ip link del vpn0
      setsid sleep 301 &
      echo $! >child.pid
      echo $$ >down.pid
      sleep 302 & sleep 303; sleep 304
      """
    try CommandTunnel(down: hung, timeout: "5m").write(in: scene)
    let seen = try scene.run(
      """
      go cafe
      remember
      start_agent
      tunnel_is vpn connected
      begun=${EPOCHREALTIME/./}
      stop_agent
      took=$((${EPOCHREALTIME/./} - begun))
      # Not cut short it would take ten seconds, and end with 1.
      ((took > 3900000 && took < 9000000)) && say "cut short" || say "$took"
      # What has ended can be signalled until the first process of the lab has taken note of it.
      for file in down.pid child.pid; do within 2 not kill -0 "$(<$file)" && say ended; done
      pgrep -f '^sleep 30[1-4]' || say 'no child'
      grep -q 'vpn: its programs did not end within 4 s' agent.log && say told
      as_before
      """, limit: 90)
    #expect(seen.lines == ["0", "[cut short]", "[ended]", "[ended]", "[no child]", "[told]"], "\(seen)")
  }

  @Test("of descriptors: said with the cure; what works goes on working, and what was missed is made up for when there are enough")
  func descriptors() throws {
    let scene = try Scene(["corp.yaml": guarded])
    let seen = try scene.run(
      words + """
        go cafe
        # Too few to begin with.
        for few in 6 10; do
          status=0
          (ulimit -n $few && exec "$bin/roamwardd" --policies "$policies" --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" "${inputs[@]}" 2>few.log) ||
            status=$?
          grep -q 'Too many open files.*LimitNOFILE=' few.log && say "$status" || cat few.log
        done
        start_agent
        tunnel_is corp connected
        process=$(agent_pid) index=$(link_index corp)
        limit() { prlimit --pid "$process" --nofile="$1": ; }
        limit 3
        # Any change makes it look.
        ip address add 198.51.100.99/32 dev wlan0
        within 5 grep -q 'cannot be observed: Too many open files.*LimitNOFILE=' agent.log
        # Somebody waits for an answer all the while, and something of ours is removed.
        roamward status >status.txt &
        asking=$!
        ip rule del priority 21750
        locked && say locked
        before=$(ticks)
        sleep 2
        (($(ticks) - before < 60)) && say calm || say "busy: $(($(ticks) - before))"
        [[ $(link_index corp) == "$index" ]] && say 'still up'
        ip rule | grep -q '^21750:' || say 'not repaired yet'
        limit 1024
        wait $asking && grep -q connected status.txt && say answered
        within 10 eval 'ip rule | grep -q "^21750:"'
        within 10 intranet_loads
        [[ $(agent_pid) == "$process" && $(link_index corp) == "$index" && $(field corp state) == connected ]] && say 'the same'
        stop_agent
        """, limit: 120)
    #expect(
      seen.lines == [
        "[1]", "[1]", "[locked]", "[calm]", "[still up]", "[not repaired yet]", "[answered]", "[the same]", "0",
      ], "\(seen)")
  }

  @Test("of watches: what is not noticed any more is told, with the cure, and `SIGHUP` reads it all the same") func watches() throws {
    let scene = try Scene([:])
    let seen = try scene.run(
      """
      # As much of the lab as has limits of its own. There is no network in it, and none is needed.
      limited() { unshare --user --map-root-user --net bash -c 'echo 0 >/proc/sys/user/max_inotify_instances; exec "$@"' limited "$@"; }
      limited true 2>/dev/null || { say 'no user namespaces'; exit 0; }
      limited timeout 60 "$bin/roamwardd" --policies "$policies" --state-dir "$scene/state" --socket "$ROAMWARD_SOCKET" "${inputs[@]}" \\
        2>>"$scene/agent.log" &
      within 5 eval 'roamward status | found "changes of policies, .*resolv.conf are not detected: .*max_user_instances"'
      say told
      printf 'version: 1\\ntunnels: { corp: { provider: { wireguard: { config: corp.conf } } } }\\n' >$policies/corp.yaml
      process=$(roamward status --json | jq .pid)
      kill -HUP "$process"
      within 5 field_is corp name corp
      say read
      kill -TERM "$process"
      wait
      """, limit: 90)
    #expect(["[told]\n[read]", "[no user namespaces]"].contains(seen), "\(seen)")
  }

  @Test("of room for notes: told with the cure, held back all the same, and noted as soon as there is room") func fullDisk() throws {
    let scene = try Scene(["corp.yaml": guarded])
    let seen = try scene.run(
      words + """
        mount -t tmpfs -o size=64k,mode=700 tmpfs "$scene/state"
        head -c 1M /dev/zero 2>/dev/null >"$scene/state/ballast" || true
        go cafe
        remember
        start_agent
        tunnel_is corp connected
        locked && say locked
        roamward status | found 'state cannot be written: No space left on device; make room there' && say told
        ls "$scene/state" | grep -q '^link-' || say 'not noted'
        rm "$scene/state/ballast"
        within 10 eval '! roamward status | found "cannot be written"'
        within 10 test -s "$scene/state/link-corp"
        say noted
        stop_agent
        as_before
        """, limit: 90)
    #expect(seen.lines == ["[locked]", "[told]", "[not noted]", "[noted]", "0"], "\(seen)")
  }
}
