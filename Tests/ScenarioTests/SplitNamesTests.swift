import Testing

/// A host without systemd-resolved: resolv.conf leads to our own name server, which gives each name to the servers that it belongs to.
@Suite("Split DNS by the plain file", .needsLab)
struct SplitNamesTests {
  /// Runs a script in the café, with both tunnels up and their names answered.
  private func connected(_ script: String, limit: Int = 120) throws -> [String] {
    let servers = "source '\(Lab.folder)/both-gateways.bash'\n"
    return try splitNamesScene(words: ["names.bash", "keepers.bash"]).run(servers + Self.words + script, limit: limit).lines
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

  @Test(
    "who asks two thousand names a second of a server that is silent keeps no other program from its answers",
    arguments: ["one program, one domain", "a port and a domain for each question"])
  func flood(_ kind: String) throws {
    let seen = try connected(
      """
      for process in $(on cafe ss -Hlunp 'sport = :53' | grep -o 'pid=[0-9]*' | sort -u); do kill "${process#pid=}"; done
      within 5 eval "! on cafe ss -Hltun 'sport = :53' | grep . >/dev/null"
      # Names of public.example have an address; to all others it is silent.
      cat >"$scene/silent" <<'END'
      use IO::Socket::INET;
      my $socket = IO::Socket::INET->new(Proto => "udp", LocalAddr => "198.51.100.1", LocalPort => 53) or die;
      setsockopt $socket, SOL_SOCKET, SO_RCVBUF, 8 << 20;
      while (defined(my $from = $socket->recv(my $question, 4096))) {
        my $end = index $question, "\\x06public\\x07example\\0";
        next if $end < 0;
        my ($id, $asked) = (substr($question, 0, 2), substr($question, 12, $end + 16 - 12 + 4));
        my $isAddress = substr($asked, -4, 2) eq "\\0\\x01";
        my $answer = $isAddress ? pack("nnnNnC4", 0xc00c, 1, 1, 0, 4, 198, 51, 100, 77) : "";
        $socket->send($id . pack("nnnnn", 0x8580, 1, $isAddress ? 1 : 0, 0, 0) . $asked . $answer, 0, $from);
      }
      END
      on cafe perl "$scene/silent" &
      within 5 all_answered_at 198.51.100.77
      cat >"$scene/flood" <<'END'
      use IO::Socket::INET; use Time::HiRes qw(time sleep);
      my ($kind, $ready) = @ARGV; my ($sent, $begun, $one) = (0, time);
      sub out { IO::Socket::INET->new(Proto => "udp", PeerAddr => "127.82.0.53", PeerPort => 53) }
      while (1) {
        for (1 .. 20) {
          my $domain = $kind =~ /^one/ ? "flood" : "flood$sent";
          my $socket = $kind =~ /^one/ ? ($one //= out()) : out();
          my $name = join "", map { pack "C/a", $_ } "n$sent", $domain, "example";
          $socket->send(pack("nnnnnn", $sent % 65536, 0x100, 1, 0, 0, 0) . $name . pack("Cnn", 0, 1, 1)) if $socket;
          $sent++;
        }
        if ($sent == 8000) { open my $file, ">", $ready; }
        my $ahead = $sent / 2000 - (time - $begun); sleep $ahead if $ahead > 0;
      }
      END
      install -o nobody -d "$scene/flooding"
      runuser -u nobody -- perl "$scene/flood" "\(kind)" "$scene/flooding/begun" 2>"$scene/flooding/said" &
      flooder=$!
      within 20 test -e "$scene/flooding/begun"
      answered=0
      for i in $(seq 20); do [[ $(answer "www$i.public.example") != 198.51.100.77 ]] || answered=$((answered + 1)); done
      for i in $(seq 10); do [[ $(answer "wiki$i.corp.example") != 10.77.0.77 ]] || answered=$((answered + 1)); done
      say "$answered of 30"
      kill $flooder
      """)
    #expect(seen == ["[30 of 30]"], "\(kind)")
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
        roamward status | grep '^DNS withheld' | sed -E "s/, ([^,]* ago|just now)//; $number"
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
