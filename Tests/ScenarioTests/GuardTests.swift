import Glibc
import Testing

@Suite(
  "A guard of OpenVPN", .needsLab, .enabled(if: access("/usr/sbin/openvpn", X_OK) == 0, "openvpn is not installed (scripts/setup --vm)"),
  .marksSockets)
struct GuardedOpenVPNTests {
  @Test("lets nothing of another program leave: before its link, with it, while agent and program are killed, then until a release")
  func life() throws {
    let scene = try Scene([:], words: ["leaks.bash", "guard.bash"])
    try scene.run(openVPN)
    let seen = try scene.run(
      """
      rm $policies/*
      sed -i 's/^client$/&\\nredirect-gateway def1/' pki/office.ovpn
      reached() { busybox ping -c 1 -W 1 10.99.0.1 >/dev/null; }
      go cafe
      watch_guard
      start_agent
      start_strays
      within 20 eval '(( $(outside) > 100 ))'; say "seen"
      guard --endpoint 203.0.113.10:1194 -- sh -c 'until [ -e go ]; do sleep 0.05; done; exec openvpn --config pki/office.ovpn'
      within 5 eval '[[ $(guards) == 1 ]]'
      forget
      roamward status | grep -A 3 '^guard: sh' | sed -E 's/\\(process [0-9]*\\) (for .*|just now)/(process N) for T/; s/uses: .*/uses: U/'
      seen_outside "without a link"
      touch go
      within 20 reached
      say "$(status_of links | jq -c .) $(way_to 203.0.113.80 | cut -c 1-7) $(( $(endpoint) > 0 ))"
      seen_outside "connected"
      # Other programs send into the tunnel as fast as they can.
      loses_nothing() { [[ $(ping -c 20 -i 0.05 -W 1 10.99.0.1) == *' 0% packet loss'* ]]; }
      within 10 loses_nothing && say "0% packet loss"
      [[ $(ss -Huane 2>/dev/null) == *fwmark:0x52000000* ]] && say marked
      forget
      kill_agent; forget; seen_outside "agent killed"
      within 5 reached && say "reached without an agent"
      start_agent
      within 5 eval '[[ $(guards) == 1 ]]'; within 5 reached && say "resumed $(( $(status_of pid) == program ))"
      seen_outside "agent started"
      kill -STOP $(agent_pid); forget
      disown $program; kill -KILL $program; sleep 0.5
      seen_outside "program killed"
      kill -CONT $(agent_pid)
      within 5 eval '[[ $(status_of held-since) != null ]]'; forget
      seen_outside "held"
      roamward release | sed 's/[0-9][0-9]*)/N)/'
      within 5 is_open; within 20 eval '(( $(outside) > 100 ))'; say "open"
      within 5 nothing_left; say "nothing left"
      stop_strays
      stop_agent
      """)
    #expect(
      seen.lines == [
        "[seen]", "guard: sh (process N) for T", "  link:    none yet; all other traffic is blocked",
        "  outside: its own packets, to 203.0.113.10:1194", "  uses: U", "[without a link: 0 of many outside]", "[[\"tun0\"] dev tun 1]",
        "[connected: 0 of many outside]", "[0% packet loss]", "[marked]", "[agent killed: 0 of many outside]", "[reached without an agent]",
        "[resumed 1]", "[agent started: 0 of many outside]", "[program killed: 0 of many outside]",
        "[held: 0 of many outside]", "sh (guard N) has ended", "[open]", "[nothing left]", "0",
      ])
  }
}

@Suite("A guard", .needsLab, .marksSockets)
struct GuardTests {
  private func scene(_ policies: [String: String] = [:]) throws -> Scene { try Scene(policies, words: ["leaks.bash", "guard.bash"]) }

  @Test("is its program: standard input, exit status, signals; it ends what the program leaves, and leaves nothing")
  func program() throws {
    let seen = try scene().run(
      """
      go cafe
      remember
      start_agent
      echo hello | roamward guard -- sh -c 'read word; echo "$word $1"; exit 0' sh 'an  argument' 2>/dev/null && true
      say "$?"
      within 5 nothing_left; say "nothing left"
      guard -- sh -c 'trap "echo ended >ended; exit 0" TERM; echo started >started; while :; do sleep 0.05; done'
      within 5 test -s started
      kill -TERM $program; wait $program; say "$? $(cat ended)"
      within 5 nothing_left; say "nothing left"
      # In sessions of their own; one ignores SIGTERM.
      guard -- sh -c 'setsid sleep 600 & setsid sh -c "trap \\"\\" TERM; sleep 601; sleep 602" & sleep 0.5; exit 0'
      wait $program && true; say "$?"
      # SIGKILL comes after two seconds.
      within 3 eval 'not pgrep -x sleep'; is_closed || say "open too early"
      within 5 nothing_left; say "nothing left"
      stop_agent
      as_before
      """)
    #expect(
      seen.lines.filter { $0 != "[open too early]" } == [
        "hello an  argument", "[0]", "[nothing left]", "[0 ended]", "[nothing left]", "[0]", "[nothing left]", "0",
      ])
  }

  @Test("stays closed when its program is killed or fails, says so, and opens when a person ends it", arguments: ["KILL", "SEGV", "code"])
  func failures(end: String) throws {
    let seen = try scene().run(
      """
      go cafe
      start_agent
      if [[ \(end) == code ]]; then
        guard -- sh -c 'echo $$ >pid; until [ -e go ]; do sleep 0.05; done; exit 3'
        within 5 test -s pid; touch go
      else
        guard -- sh -c 'echo $$ >pid; exec sleep 600'
        within 5 test -s pid; within 5 pgrep -fx 'sleep 600' >/dev/null; kill -\(end) "$(<pid)"
      fi
      within 5 eval 'grep -q "the kill switch stays closed" guard.log'
      grep -o 'was ended by signal.*closed\\|has failed with.*closed' guard.log
      grep -c "sudo kill $program$" guard.log
      is_closed && say "$(guards) closed"
      kill -TERM $program; wait $program && true; say "$?"
      within 5 nothing_left; say "nothing left"
      stop_agent
      """)
    let (words, code) =
      switch end {
      case "KILL": ("was ended by signal 9; the kill switch stays closed", 137)
      case "SEGV": ("was ended by signal 11; the kill switch stays closed", 139)
      default: ("has failed with code 3; the kill switch stays closed", 3)
      }
    #expect(seen.lines == [words, "1", "[1 closed]", "[\(code)]", "[nothing left]", "0"], "\(seen)")
  }

  @Test(
    "stays closed when `roamward guard` itself is killed, alone, with its program or with the agent, until a release",
    arguments: ["guard", "both", "agent", "agent-first"])
  func killed(what: String) throws {
    let seen = try scene().run(
      """
      go cafe
      watch_guard
      start_agent
      start_strays
      guard -- sh -c 'echo $$ >pid; exec sleep 600'
      within 5 test -s pid; within 5 eval '[[ $(guards) == 1 ]]'; disown $program; forget
      case \(what) in
        guard) kill -KILL $program ;;
        both) kill -KILL $program "$(<pid)" ;;
        agent) kill -KILL $program "$(<pid)" $(agent_pid); within 5 test -s agent.exit; start_agent ;;
        agent-first) kill_agent; kill -KILL $program; start_agent ;;
      esac
      within 5 eval '[[ $(status_of held-since) != null ]]'
      within 5 eval 'not runs "$(<pid)"'
      seen_outside "killed"
      roamward status | grep -A 1 '^guard:' | sed 's/(process [0-9]*)/(process N)/; s/killed .* ago/killed T ago/'
      "$bin/roamward" plan --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" 2>&1 | grep -c 'was killed, and blocks all traffic'
      # Another agent, and another network.
      kill_agent; start_agent; go home; within 5 eval '[[ $(guards) == 1 ]]'
      is_closed && say "still closed"
      go cafe; forget; seen_outside "back"
      roamward release | sed 's/[0-9][0-9]*)/N)/'
      within 5 nothing_left; within 20 eval '(( $(outside) > 100 ))'; say "open, nothing left"
      stop_strays
      stop_agent
      """)
    #expect(
      seen.lines.filter { !$0.contains("Killed") } == [
        "[killed: 0 of many outside]", "guard: sh (process N) was killed T ago",
        "  all traffic is blocked; `roamward release` ends the guard",
        "1", "[still closed]", "[back: 0 of many outside]", "sh (guard N) has ended", "[open, nothing left]", "0",
      ], "\(seen)")
  }

  @Test("opens at the next start if a person ended it while no agent ran") func endsWithoutAgent() throws {
    let seen = try scene().run(
      """
      go cafe
      start_agent
      guard -- sh -c 'echo $$ >pid; exec sleep 600'
      within 5 test -s pid; within 5 eval '[[ $(guards) == 1 ]]'
      kill_agent; is_closed && say "closed"
      kill -TERM $program; wait $program && true; say "$?"
      start_agent
      within 5 nothing_left; say "nothing left"
      stop_agent
      """)
    #expect(seen.lines.filter { !$0.contains("Killed") } == ["[closed]", "[143]", "[nothing left]", "0"], "\(seen)")
  }

  @Test("lets its program reach its endpoints alone, of both families, and no other program reach these")
  func endpoints() throws {
    let seen = try scene().run(
      """
      go cafe
      start_agent
      cat >send <<'PERL'
      use Socket qw(:all);
      for (['203.0.113.80', 7777], ['203.0.113.80', 7778], ['203.0.113.53', 53], ['2001:db8::80', 7777], ['2001:db8::53', 53]) {
        my ($address, $port) = @$_;
        my $v6 = $address =~ /:/;
        my $to = $v6 ? pack_sockaddr_in6($port, inet_pton(AF_INET6, $address)) : pack_sockaddr_in($port, inet_aton($address));
        for my $type (SOCK_DGRAM, SOCK_STREAM) {
          socket(my $s, $v6 ? AF_INET6 : AF_INET, $type, 0); fcntl($s, 4, 2048);
          $type == SOCK_DGRAM ? send($s, 'x', 0, $to) : connect($s, $to);
        }
      }
      PERL
      on cafe nft 'table inet watch { set seen { typeof ip daddr . meta l4proto . th dport; flags dynamic; size 99; }; set seen6 { typeof ip6 daddr . meta l4proto . th dport; flags dynamic; size 99; }; chain c { type filter hook prerouting priority -300; iifname "lan0" add @seen { ip daddr . meta l4proto . th dport }; iifname "lan0" meta l4proto { tcp, udp } add @seen6 { ip6 daddr . meta l4proto . th dport }; }; }'
      arrived() { sleep 0.3; for set in seen seen6; do on cafe nft -j list set inet watch $set | jq -r '.nftables[].set.elem // empty | .[].concat | join(" ")'; on cafe nft flush set inet watch $set; done | sort | tr '\\n' ','; }
      # A link that is just up may have dropped the answer for the router's address.
      sees_all() { perl send; [[ $(arrived | tr -cd , | wc -c) == 10 ]]; }
      within 5 sees_all && echo 10
      guard --endpoint 203.0.113.80:7777 --endpoint 2001:db8::80 --endpoint www.example:53 -- sh -c 'until [ -e go ]; do sleep 0.05; done; perl send; sleep 600'
      within 5 eval '[[ $(guards) == 1 ]]'
      arrived >/dev/null
      perl send; say "$(arrived)"
      status_of endpoints | jq -c .
      # The program's last command: it sleeps before too, while it waits for the file.
      touch go; within 5 pgrep -fx 'sleep 600'; sleep 0.3; arrived
      kill $program
      """)
    // www.example is 203.0.113.80 and 2001:db8::80.
    #expect(
      seen.lines == [
        "10", "[]", "[\"203.0.113.80:53\",\"203.0.113.80:7777\",\"2001:db8::80\",\"[2001:db8::80]:53\"]",
        "2001:db8::80 tcp 7777,2001:db8::80 udp 7777,203.0.113.80 tcp 7777,203.0.113.80 udp 7777,",
      ])
  }

  @Test("takes the link that is named, if it is a tunnel; else those that appear; a packet may take any, also beside a tunnel")
  func links() throws {
    let seen = try scene(["corp.yaml": guarded]).run(
      """
      take_everything
      links() { roamward status --json | jq -c '[.guards[] | .links]'; }
      make() { ip tuntap add $1 mode tun; ip address add 10.88.0.$2/32 dev $1; ip link set $1 up; }
      # Packets that the firewall lets into a link: the device has no reader, and drops them.
      into() { nft -j list counter inet tries $1 | packets; }
      nft 'table inet tries { counter tun7 { }; counter vpn0 { }; chain c { type filter hook postrouting priority 300; oifname tun7 udp dport 9 counter name tun7; oifname vpn0 udp dport 9 counter name vpn0; }; }'
      try() { perl -MSocket -e 'socket(my $s, AF_INET, SOCK_DGRAM, 0); setsockopt($s, SOL_SOCKET, 25, "$ARGV[0]\\0"); send($s, "x", 0, pack_sockaddr_in(9, inet_aton("203.0.113.99")))' $1; }
      go cafe
      make old0 1
      start_agent
      tunnel_is corp connected
      guard --link vpn0 -- sleep 600; one=$program
      within 5 eval '[[ $(guards) == 1 ]]'
      make tun7 7; sleep 0.5; links
      try tun7; say "tun7 $(into tun7)"
      make vpn0 8; within 5 eval '[[ $(links) == "[[\\"vpn0\\"]]" ]]'; links
      try tun7; try vpn0; say "tun7 $(into tun7) vpn0 $(into vpn0)"
      # The tunnel beside it carries what is routed into it.
      intranet_loads && say "inside"
      guard -- sleep 601; two=$program
      within 5 eval '[[ $(guards) == 2 ]]'; links
      roamward status --json | jq -c '[.firewall.situation, (.firewall.guards | length), (.firewall.blocking | length)]'
      make tun8 9; within 5 eval '[[ $(links) == "[[\\"vpn0\\"],[\\"tun8\\"]]" ]]'; links
      roamward down corp >/dev/null; within 5 field_is corp state disconnected
      kill $two; within 10 eval '[[ $(guards) == 1 ]]'; links
      ip link del vpn0; within 5 eval '[[ $(links) == "[[]]" ]]'; links
      kill $one; within 10 eval '[[ $(guards) == 0 ]]'
      stop_agent
      """)
    #expect(
      seen.lines == [
        "[[]]", "[tun7 0]", "[[\"vpn0\"]]", "[tun7 0 vpn0 1]", "[inside]", "[[\"vpn0\"],[]]", "[\"guarded\",3,1]",
        "[[\"vpn0\"],[\"tun8\"]]", "[[\"vpn0\"]]", "[[]]", "0",
      ])
  }

  @Test("ends with the agent, the program first; cleanup ends it too; and a plan, a diff and `state` know it") func ends() throws {
    let seen = try scene().run(
      """
      go cafe
      watch_guard
      start_agent
      start_strays
      cat >program <<'SH'
      trap 'sleep 0.2; nft list table inet roamward >/dev/null && "$lab" on cafe nft list counter inet watch outside >last; exit 0' TERM
      sleep 600 &
      while :; do wait; done
      SH
      lab=$lab guard -- sh program
      within 5 eval '[[ $(guards) == 1 ]]'; within 5 eval 'pgrep -P "$(pgrep -P $program)" -x sleep'; forget
      "$bin/roamward" plan --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" 2>&1 | sed "s/$program/N/; s|$policies|POLICIES|"
      "$bin/roamward" diff --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" >/dev/null && say "no drift"
      "$bin/roamward" state --state-dir "$scene/state" --json | jq -r '.objects[] | select(.purpose | contains("guard")) | .purpose'
      kill -TERM $(agent_pid)
      within 5 eval 'not kill -0 $program'
      say "closed until then: $(grep -o 'packets [0-9]*' last)"
      within 10 test -s agent.exit
      within 5 nothing_left; say "nothing left"
      start_agent
      guard -- sleep 600
      within 5 eval '[[ $(guards) == 1 ]]'
      kill_agent; forget
      cleanup_agent
      runs $program || say "ended"
      seen_outside "after cleanup"
      ls state | grep -c guard- || true
      start_agent
      within 5 is_open; say "open"
      stop_strays
      stop_agent
      """)
    #expect(
      seen.lines == [
        "roamward: no tunnels are defined in POLICIES", "nothing to do: the system is in the desired state",
        "note: sh (guard N) blocks all traffic outside of its link, but for its own to every address", "[no drift]",
        "the programs of a guard (3)", "records a guard, so that it goes on after a crash of the agent",
        "says that a guard has not ended as a person wanted: without its process, it stays closed",
        "[closed until then: packets 0]", "[nothing left]", "[ended]", "[after cleanup: 0 of many outside]", "0", "[open]", "0",
      ])
  }

  @Test("holds wherever the agent is killed: the program is protected as long as it runs, and nothing is left after the next start")
  func killedAnywhere() throws {
    let scene = try scene()
    let seen = try scene.run(
      """
      go cafe
      watch_guard
      start_strays
      is_program() { pgrep -P $program -x sleep >/dev/null; }
      ROAMWARD_FAULT_LOG=$scene/places start_agent
      # Its start may go on after it answers.
      is_started() { local before; before=$(wc -l <places); sleep 0.3; (($(wc -l <places) == before)); }
      within 5 is_started
      first=$(wc -l <places)
      guard -- sleep 1000
      within 5 is_program
      kill $program; within 5 nothing_left
      last=$(wc -l <places)
      stop_agent
      protected=0 over=0
      for ((n = first + 1; n <= last; n++)); do
        rm -f agent.exit
        ROAMWARD_DIE_AT=$n start_agent
        guard -- sleep 1000; disown $program
        within 5 eval 'is_program || [[ -s agent.exit ]]'
        if [[ ! -s agent.exit ]]; then
          kill $program; within 5 eval '[[ -s agent.exit ]] || nothing_left'
          # The last places may be those of its stop.
          sleep 0.2; kill -TERM $(agent_pid) 2>/dev/null || true; within 5 test -s agent.exit
        fi
        # A caller whose agent dies before its answer never becomes the program, but ends.
        within 5 eval 'is_program || not runs $program'
        if is_program; then
          forget; sleep 0.3; (( $(outside) == 0 )) || say "$n: $(outside) outside"
          start_agent; within 5 eval '[[ $(guards) == 1 ]]'
          (( $(outside) == 0 )) || say "$n: $(outside) outside after the start"
          kill $program; protected=$((protected + 1))
        else
          start_agent; over=$((over + 1))
        fi
        within 10 nothing_left || say "$n: left: $(ls state)"
        stop_agent >/dev/null
        [[ ! -e state/provider-groups ]] || say "$n: a group is left"
      done
      # The next agent is killed too, wherever it is when it goes on with the guard.
      start_agent
      guard -- sleep 1000; disown $program
      within 5 is_program; forget
      kill_agent
      rm places; ROAMWARD_FAULT_LOG=$scene/places start_agent; kill_agent
      for ((n = 1; n <= $(wc -l <places); n++)); do
        rm -f agent.exit
        ROAMWARD_DIE_AT=$n start_agent >/dev/null 2>&1 & starter=$!
        within 5 eval '[[ -s agent.exit ]] || [[ $(guards) == 1 ]]'
        kill $starter 2>/dev/null || true
        # It may die by itself meanwhile.
        [[ -s agent.exit ]] || { kill -KILL $(agent_pid) 2>/dev/null || true; within 5 test -s agent.exit; }
        is_program && protected=$((protected + 1))
      done
      seen_outside "successors killed"
      start_agent; within 5 eval '[[ $(guards) == 1 ]]'
      kill $program; within 5 nothing_left
      stop_agent
      echo "$((last - first)) places, $over over; $protected of $(wc -l <places) places of a successor" >told
      (( last - first >= 12 && over >= 8 )) && say "killed everywhere"
      stop_strays
      """, limit: 400)
    #expect(seen.lines.filter { !$0.contains("Killed") } == ["0", "[successors killed: 0 of many outside]", "0", "[killed everywhere]"])
    print("a guard's agent killed: \(scene.read("told"))")
  }

  @Test("works with the capabilities that the unit leaves the agent, for a program that has all") func ofUnit() throws {
    let seen = try scene().run(
      """
      unit=$(sed -n 's/^CapabilityBoundingSet=//p' "$tests/../../../packaging/systemd/roamwardd.service")
      set=-all; for capability in $unit; do name=${capability#CAP_}; set+=,+${name,,}; done
      # Groups of root's, as systemd makes them, for the agent and for its caller; without CAP_SYS_ADMIN it mounts no hierarchy.
      [[ -e /sys/fs/cgroup/cgroup.procs || -e /sys/fs/cgroup/unified/cgroup.procs ]] || mount -t cgroup2 none /sys/fs/cgroup
      groups=/sys/fs/cgroup; [[ -e $groups/cgroup.procs ]] || groups+=/unified
      group=$groups/${scene##*/}
      mkdir $group $group/agent $group/caller
      trap 'for one in /agent /caller ""; do within 5 rmdir $group$one; done' EXIT
      mkdir wrap; ln -s "$bin/roamward" wrap/roamward
      cat >wrap/roamwardd <<SH
      #!/bin/sh
      echo \\$\\$ >$group/agent/cgroup.procs
      exec setpriv --bounding-set $set --no-new-privs $bin/roamwardd "\\$@"
      SH
      chmod 755 wrap/roamwardd; bin=$PWD/wrap
      go cafe
      watch_guard
      start_agent
      grep -q '^CapEff:.*[1-9a-f]' /proc/$(agent_pid)/status && not grep -q '^CapBnd:.*1ffffffffff$' /proc/$(agent_pid)/status && say "few"
      start_strays
      bash -c 'echo $BASHPID >$0/cgroup.procs; exec "$@"' $group/caller "$bin/roamward" guard -- sh -c 'setsid sleep 600 & ip tuntap add tun5 mode tun; ip address add 10.88.0.5/32 dev tun5; ip link set tun5 up; sleep 601' 2>guard.log &
      program=$!
      within 5 eval '[[ $(status_of links | jq -c .) == "[\\"tun5\\"]" ]]' || cat guard.log; say "linked"
      forget; seen_outside "up"
      kill -KILL $program; disown $program
      within 5 eval '[[ $(status_of held-since) != null ]]'; roamward release >/dev/null
      within 5 nothing_left; say "nothing left"
      # What has ended may still wait for its parent.
      within 2 not pgrep -x sleep && say "all ended"
      stop_strays; stop_agent
      """)
    #expect(seen.lines == ["[few]", "[linked]", "[up: 0 of many outside]", "[nothing left]", "[all ended]", "0"])
  }

  @Test("is refused where it could not hold, before anything is blocked") func refused() throws {
    let seen = try scene().run(
      """
      go cafe
      start_agent
      refuse() { local status=0; "$bin/roamward" guard "$@" 2>&1 | sed 's|/[^ ]*/||' || status=$?; is_open || say closed; }
      refuse -- no-such-program
      refuse -- /etc/passwd
      refuse --link wlan0 -- true
      refuse --endpoint 203.0.113.10/24 -- true
      refuse --endpoint no-such-name.example -- true | sed 's/resolved: .*; write/resolved: X; write/'
      ip netns add other; ip netns exec other "$bin/roamward" guard -- true 2>&1 | sed 's/;.*//' || true
      setpriv --reuid 65534 --clear-groups "$bin/roamward" guard -- true 2>&1 || true
      # A suspension needs something to suspend.
      "$bin/roamward" guard -- sleep 600 2>/dev/null & program=$!
      within 5 eval '[[ $(guards) == 1 ]]'
      roamward release >/dev/null
      refuse -- true
      roamward resume >/dev/null
      kill $program
      within 5 nothing_left
      # Somebody is logged in from the internet.
      busybox nc -ll -p 2222 -e cat & listener=$!
      within 5 eval 'ss -Hltn "sport = :2222" | grep -q .'
      on internet busybox nc 198.51.100.23 2222 < <(sleep 60) >/dev/null &
      within 5 eval 'ss -Htn state established "sport = :2222" | grep -q .'
      far=$(ss -Htn state established 'sport = :2222' | head -n 1 | awk '{ print $NF }')
      far=${far//[\\[\\]]/}; far=${far/::ffff:/}
      SSH_CONNECTION="${far%:*} ${far##*:} 198.51.100.23 2222" "$bin/roamward" guard -- true 2>&1 | grep -o 'would cut the SSH session' || true
      kill $listener
      within 5 nothing_left; say "nothing left"
      stop_agent
      """)
    #expect(
      seen.lines == [
        "roamward: no-such-program is not found; nothing was blocked",
        "roamward: passwd is no program that can be executed; nothing was blocked",
        "roamward: wlan0 cannot be the program's link: it is no link of a tunnel, or one of ours; leave it out, or name another",
        "roamward: \"203.0.113.10/24\" is no endpoint; write an address or a name, with or without a port: 203.0.113.10:1194, [2001:db8::1]:1194",
        "roamward: the endpoint no-such-name.example cannot be resolved: X; write its address",
        "roamward: the program would run in another network or process namespace than the agent, where its kill switch has no effect",
        "roamward: only root and the agent's own user may do this; you are user 65534",
        "roamward: the kill switch is suspended, and so would be the guard; `roamward resume` ends the suspension",
        "would cut the SSH session", "[nothing left]", "0",
      ])
  }
}
