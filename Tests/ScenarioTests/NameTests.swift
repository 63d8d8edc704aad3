import Testing

/// Two hundred names a second are looked up all the while, at the server that resolv.conf names at that moment, and every server logs
/// its questions. With the plain file one server answers all names; split DNS is tested in Tests/VM/resolvers.
///
/// Under a kill switch no name is asked past the tunnel, in any event. Once a tunnel is connected, only its servers are asked, until nobody
/// wants it any more. One exception: if another program writes resolv.conf, a reader may see its content until the agent has replaced it
/// (some milliseconds); with a full tunnel, its questions go through that tunnel. A name that the plan can answer is answered within five
/// seconds.
@Suite("Names", .needsLab)
struct NameTests {
  /// Five seconds on a quiet machine; ours may be three times slower.
  private static let patience = 15_000

  private static let words = """
    # What a place writes into the file is the agent's to replace: until then programs ask there.
    by_tunnel() { grep -q '^nameserver 10.77.0.1' $laptop/resolv.conf; }
    names_past() { leaked | grep -o 'dns[46]=[0-9]*' | xargs; }
    : >"$scene/outages"
    witness_names
    watch_places

    """

  /// `lookups=6886 unanswered=0 longest=1007 ms (agent)`.
  private func expectAnswered(_ line: String?, atLeast least: Int) throws {
    let numbers = try #require(line).split { !$0.isNumber }.compactMap { Int($0) }
    #expect(numbers.count >= 3 && numbers[0] >= least && numbers[1] == 0 && numbers[2] <= Self.patience, "\(line ?? "")")
    print("Names: \(line ?? "")")
  }

  @Test(
    "under a kill switch they are asked inside alone, while the tunnel goes up, down and roams and agent, engine and peer die; none is lost"
  )
  func guardedNames() throws {
    let scene = try leakScene(
      guarded.with("include: [default] }", "include: [default] }\n    dns: { servers: [10.77.0.1], search-domains: [corp.example] }"),
      "names.bash")
    let seen = try scene.run(
      Self.words + """
        go cafe
        start_asking loose
        within 10 eval '[[ $(seen_of loose) != *cafe=0* ]] && ! [[ $(names_past) == *dns4=0* ]]'
        say seen
        # Until the firewall is there, nothing is promised.
        start_agent; tunnel_is corp connected
        stage up; within 10 all_answered; forget_leaks; sleep 1
        stage down; within 10 all_answered; unanswerable; roamward down corp >/dev/null; within 5 field_is corp state disconnected; sleep 0.5
        stage resumed; roamward resume corp >/dev/null; tunnel_is corp connected; answerable
        stage roaming; within 10 all_answered; for place in home mobile cafe; do go $place; sleep 0.7; tunnel_is corp connected; done
        stage nowhere; within 10 all_answered; unanswerable; go nothing; sleep 0.5; go cafe; tunnel_is corp connected; answerable
        stage agent; within 10 all_answered; kill_agent; sleep 0.5; start_agent; tunnel_is corp connected
        stage engine; within 10 all_answered
        [[ -z $(engine_pid corp) ]] || kill -KILL "$(engine_pid corp)"; sleep 0.5; tunnel_is corp connected
        stage peer; within 10 all_answered; unanswerable
        peer=$(on gateway wg show gw0 peers); on gateway wg set gw0 peer "$peer" remove; sleep 8
        on gateway wg set gw0 peer "$peer" allowed-ips 10.77.0.2/32
        stage back; within 30 eval 'grep -q "^back .*10.77.0.77$" $scene/lookups'; answerable; within 10 all_answered
        stop_asking
        for name in up down resumed agent engine peer back; do say "$name $(seen_of $name | sed 's/asked=[1-9][0-9]*/asked/; s/gateway=[1-9][0-9]*/gateway/')"; done
        say "past $(names_past)"
        waits
        seen_of roaming
        """, limit: 150)
    let stages = ["up", "down", "resumed", "agent", "engine", "peer", "back"]
    #expect(
      Array(seen.lines.prefix(stages.count + 2)) == ["[seen]"] + stages.map { "[\($0) asked home=0 cafe=0 mobile=0 gateway]" } + [
        "[past dns4=0 dns6=0]"
      ])
    try expectAnswered(seen.lines.dropLast().last, atLeast: 2000)
    print("Names, while resolv.conf is written by others: \(seen.lines.last ?? "")")
  }

  @Test("`roamward dns` says whom a name is asked of and why, and who answers; without an answer its status is 1")
  func inquiry() throws {
    let scene = try leakScene(corp, "names.bash")
    let seen = try scene.run(
      """
      dns() { "$lab" on laptop env "ROAMWARD_SOCKET=$ROAMWARD_SOCKET" "$bin/roamward" dns "$1" --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" "${@:2}"; }
      witness_names
      go home
      dns www.example | sed -n 2,3p
      dns intranet.corp.example --up corp | sed -n 2p
      dns www.example --ask | grep -o 'answered by .* in' || true
      go cafe
      dns www.example --ask | tail -n 1
      start_agent; tunnel_is corp connected
      dns intranet.corp.example --ask --json | jq -r '.asked[0].tunnel, .backend, .answer' | sed 's/ in .*:/:/'
      unreachable() { dns www.example --ask >/dev/null || echo "status $?"; }
      on gateway nft 'table inet deaf { chain c { type filter hook input priority 0; iifname "gw0" drop; }; }'
      unreachable
      dns 'not a name' 2>/dev/null || echo "status $?"
      """, limit: 120)
    #expect(
      seen.lines == [
        "  sent to 192.0.2.1 of the network on eth0, because no tunnel that is up brings servers",
        "  DNS backend: file (no resolver service manages it)",
        "  sent to 10.77.0.1 of corp, because resolv.conf knows no names apart, and names the servers of corp",
        "answered by 192.0.2.1 in", "  the plan would use another server: its DNS settings are not active now", "corp", "file",
        "answered by 10.77.0.1 (corp): 10.77.0.77", "status 1", "status 2",
      ])
  }

  @Test(
    "without one they follow the tunnel: the place's server before, the tunnel's from when it is connected, the next place's after; none is lost"
  )
  func followingNames() throws {
    let scene = try leakScene(corp, "names.bash")
    let seen = try scene.run(
      Self.words + """
        go home
        start_agent; within 10 field_is corp state disconnected
        start_asking home; within 10 eval '(( $(seen_at home home) > 200 ))'
        stage leaving; within 10 all_answered; go cafe; tunnel_is corp connected
        within 10 by_tunnel; stage cafe; sleep 1
        stage walking; within 10 all_answered; go mobile; sleep 0.7; tunnel_is corp connected
        within 10 by_tunnel; stage mobile; sleep 1
        stage reconnecting; ip link del corp; within 10 eval '! field_is corp state connected || ip link show corp'; tunnel_is corp connected
        within 10 by_tunnel; stage reconnected; sleep 1
        stage coming; within 10 all_answered; go home; within 10 field_is corp state disconnected
        within 10 grep -qx 'nameserver 192.0.2.1' $laptop/resolv.conf
        stage again; sleep 1
        stop_asking
        for name in home cafe mobile reconnected again; do say "$name $(seen_of $name | sed 's/=[1-9][0-9]*//g')"; done
        waits
        for name in leaving walking reconnecting coming; do say "$name $(seen_of $name)"; done
        """, limit: 120)
    #expect(
      Array(seen.lines.prefix(5)) == [
        "[home asked home cafe=0 mobile=0 gateway=0]", "[cafe asked home=0 cafe=0 mobile=0 gateway]",
        "[mobile asked home=0 cafe=0 mobile=0 gateway]",
        "[reconnected asked home=0 cafe=0 mobile=0 gateway]", "[again asked home cafe=0 mobile=0 gateway=0]",
      ])
    try expectAnswered(seen.lines.dropFirst(5).first, atLeast: 1000)
    print("Names, meanwhile: \(seen.lines.dropFirst(6).joined(separator: " "))")
  }
}
