import Testing

/// A host without systemd-resolved: resolv.conf leads to our own name server, which gives each name to the servers that it belongs to.
@Suite("Split DNS by the plain file", .needsLab)
struct SplitNamesTests {
  /// Runs a script in the café, with both tunnels up and their names answered.
  private func connected(_ script: String, limit: Int = 120) throws -> [String] {
    try splitNamesScene(words: ["names.bash", "keepers.bash"]).run(witnessesOfBoth + Self.words + script, limit: limit).lines
  }

  private static let words = """
    answers() { local name; for name in wiki.corp.example box.lab.example www.public.example; do echo "$name=$(answer $name)"; done | xargs; }
    all_answered_at() { answers_are wiki.corp.example=10.77.0.77 box.lab.example=10.88.0.77 www.public.example=$1; }
    led() { grep -q 'nameserver 127.82.0.53' "$file"; }
    keep_by file
    go cafe
    cp -a "$file" was
    start_agent
    both_up
    within 5 all_answered_at 198.51.100.77

    """

  @Test("each of two tunnels answers its own names, the network all others; one that is down has its names refused")
  func shares() throws {
    let seen = try connected(
      """
      grep -c . "$file"; grep nameserver "$file"
      for name in wiki.corp.example box.lab.example www.public.example; do dry dns $name | sed -n 1,2p | xargs; done
      dry diff >/dev/null && say "no drift"
      # Until the agent has written the file anew, programs ask the network itself.
      go mobile; within 5 led; both_up
      within 5 all_answered_at 203.0.113.207 && say mobile
      roamward down corp --wait 20 >/dev/null
      within 5 answers_are wiki.corp.example=SERVFAIL
      say "$(answers)"
      roamward resume corp >/dev/null; tunnel_is corp connected
      within 5 all_answered_at 203.0.113.207 && say again
      say "outside: $(asked_at mobile corp.example) $(asked_at cafe corp.example) $(asked_at mobile lab.example) $(asked_at lab public)"
      go cafe
      tunnel_is corp connected
      stop_agent >/dev/null
      cmp was "$file" && within 5 nothing_of_ours && say "as before"
      """)
    #expect(
      seen.suffix(6) == [
        "[no drift]", "[mobile]", "[wiki.corp.example=SERVFAIL box.lab.example=10.88.0.77 www.public.example=203.0.113.207]", "[again]",
        "[outside: 0 0 0 0]", "[as before]",
      ], "\(seen)")
    #expect(seen.contains("nameserver 127.82.0.53"), "\(seen)")
  }

  @Test("a name server that is killed again and again is there again each time, and names are answered")
  func killed() throws {
    let seen = try connected(
      """
      for i in 1 2 3; do
        before=$(server_pid)
        kill -KILL $before
        within 10 eval '[[ -n $(server_pid) && $(server_pid) != $before ]] && all_answered_at 198.51.100.77'
      done
      say "answers again"
      """)
    #expect(seen == ["[answers again]"])
  }

  private static let publicServer = """
    for process in $(on cafe ss -Hlunp 'sport = :53' | grep -o 'pid=[0-9]*' | sort -u); do kill "${process#pid=}"; done
    within 5 eval "! on cafe ss -Hltun 'sport = :53' | grep -q ."
    on cafe dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address=198.51.100.1 --pid-file= \\
      --address=/evil.example/10.77.0.9 --address=/good.example/203.0.113.9
    within 5 answers_are www.good.example=203.0.113.9

    """

  @Test("an address inside a tunnel that the network's server gives is no answer, which is told, and can be allowed")
  func rebinding() throws {
    let seen = try connected(
      Self.publicServer + """
        say "$(answer www.evil.example)"
        within 5 eval 'roamward status | grep "^DNS withheld"' >/dev/null
        number='s/[0-9]* answers*/N answers/'
        roamward status | grep '^DNS withheld' | sed "s/, [^,]* ago//; $number"
        roamward status --json | jq -c '.dns.withheld[] | [.tunnel, .count > 0, .last.query, .last.address, .last.domain]'
        doctor() { roamward doctor --policies $policies "${inputs[@]}" --state-dir $scene/state "$@"; }
        doctor --json | jq -r '.findings[] | select(.check == "withheld") | .message' | sed "$number"
        dry dns www.evil.example | grep rebind | xargs
        grep -c 'reason=answer-withheld' $scene/agent.log
        before=$(server_pid)
        sed -i 's/match-domains:/rebind-allowed: [evil.example], &/' $policies/50-corp.yaml
        within 5 answers_are www.evil.example=10.77.0.9
        say "$(roamward status --json | jq -c .dns.withheld) $(($(server_pid) == before)) $(doctor --json | jq '[.findings[] | select(.check == "withheld")] | length')"
        dry dns www.evil.example | grep rebind | xargs
        sed -i 's/rebind-allowed: [^,]*, //' $policies/50-corp.yaml
        within 5 answers_are www.evil.example=SERVFAIL
        stop_agent >/dev/null
        """)
    let cure = "if the name is to have such addresses, `rebind-allowed: [evil.example]` in `dns:` of corp"
    let what = "N answers of the network with addresses inside corp, last of www.evil.example (10.77.0.9) (DNS rebinding)"
    #expect(
      seen == [
        "[SERVFAIL]", "DNS withheld: \(what); cure: \(cure)", #"["corp",true,"www.evil.example","10.77.0.9","evil.example"]"#,
        "the agent's name server withheld \(what)",
        "answers with addresses in 10.77.0.0/16, 10.88.0.0/16, inside tunnels, are withheld (DNS rebinding); "
          + "`rebind-allowed` in `dns:` permits them for a domain",
        "1", "[[] 1 0]", "answers may have addresses inside tunnels (`rebind-allowed: evil.example`)",
      ])
  }
}
