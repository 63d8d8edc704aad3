import Testing

/// Words for imports by an ordinary user: `imports ARGUMENT …`, in a folder of that user's.
private let words = """
  cp "$bin/roamward" .
  mkdir files && cd files
  user=()
  [[ $EUID != 0 ]] || { user=(setpriv --reuid 65534 --regid 65534 --clear-groups); chown 65534:65534 .; }
  imports() { "${user[@]}" ../roamward import "$@"; }
  # A file of wg-quick with these lines in [Interface].
  file() {
    "$lab" config | sed '/^DNS/d; /^AllowedIPs/d; s|^\\[Peer\\]|&\\nAllowedIPs = '"$2"'|' >"$1"
    { echo '[Interface]'; cat; sed '/^\\[Interface\\]/d' "$1"; } >new && mv new "$1" && chmod 644 "$1"
  }

  """

@Suite("An import by an ordinary user", .needsLab)
struct ImportTests {
  @Test("makes keys of what PostUp does, and turns off what would be another tunnel") func hooks() throws {
    let seen = try Scene([:]).run(
      words + """
        file home.conf 10.77.0.0/16 <<'END'
        PostUp = resolvectl dns %i 10.77.0.1; resolvectl domain %i ~lan.example; resolvectl default-route %i false
        END
        file vpn.conf '0.0.0.0/0, ::/0' <<'END'
        DNS = 10.64.0.1
        PostUp  =  iptables -I OUTPUT ! -o %i -m mark ! --mark $(wg show  %i fwmark) -m addrtype ! --dst-type LOCAL -j REJECT && ip6tables -I OUTPUT ! -o %i -m mark ! --mark $(wg show  %i fwmark) -m addrtype ! --dst-type LOCAL -j REJECT
        PreDown = iptables -D OUTPUT ! -o %i -m mark ! --mark $(wg show  %i fwmark) -m addrtype ! --dst-type LOCAL -j REJECT && ip6tables -D OUTPUT ! -o %i -m mark ! --mark $(wg show  %i fwmark) -m addrtype ! --dst-type LOCAL -j REJECT
        END
        file part.conf '0.0.0.0/0, ::/0' <<'END'
        Table = 1234
        PostUp = ip rule add from 10.8.0.2 table 1234
        END
        # The folder in which a policy uses the file itself.
        imports home.conf vpn.conf part.conf --manual >report || say "failed: $?"
        grep -o 'changed .*PostUp.*' report
        grep -o 'dropped .*PreDown.*' report
        grep -E '^[0-9] tunnel' report
        grep -c 'part is off' report
        grep -A4 -E '^    (dns|routes|kill-switch|enabled):' home.yaml vpn.yaml part.yaml | grep -vE 'provider|wireguard|config:|on-demand' | tr -d ' '
        ../roamward check . 2>/dev/null | grep -o '0 errors'
        say "$(grep -lE '^(Post|Pre)' *.conf | xargs)"
        """)
    #expect(
      seen.lines == [
        "changed [interface].PostUp: dns: { servers: [10.77.0.1], match-domains: [lan.example] }",
        "changed [interface].PostUp: kill-switch: on, which blocks from when the tunnel is wanted; the local network is blocked as well (routes: lan: block)",
        "dropped [interface].PreDown: the agent undoes what it set", "1 tunnel: 6 taken, 1 changed, 0 dropped",
        "1 tunnel: 7 taken, 1 changed, 1 dropped", "1 tunnel, 1 of them disabled: 6 taken, 0 changed, 2 dropped", "2",
        "home.yaml:dns:{servers:[10.77.0.1],search-domains:[],match-domains:[lan.example]}", "--", "vpn.yaml:routes:{lan:block}",
        "vpn.yaml:kill-switch:on", "--", "part.yaml:enabled:false", "0 errors",
        // The files as they were; their copies have no programs.
        "[home.conf part.conf vpn.conf]",
      ])
  }

  @Test("at a terminal shows its report, and writes to the current folder only after a yes") func asked() throws {
    let seen = try Scene([:]).run(
      words + """
        file hub.conf 10.79.0.0/24 </dev/null
        # Typed at a terminal: what is written, and what was said.
        typed() {
          local command="../roamward import hub.conf --manual $2"
          printf "$1" | "${user[@]}" script --quiet --return --command "$command" /dev/null >../said || say "status $?"
          say "$(find . -name '*.yaml' | sort | xargs)"
          tr -d '\\r' <../said | grep -oE '(taken .*PrivateKey|Write it to .*\\? .Y/n.|nothing was written|wrote .*)' | sed "s|$PWD|.|" || true
          find . -name '*.yaml' -delete
        }
        typed 'n\\n' ''
        typed '' ''
        typed '\\n' ''
        mkdir out && { [[ $EUID != 0 ]] || chown 65534:65534 out; }
        typed '' '--output out'
        typed '' --dry-run | grep -c 'Write it' || true
        """)
    let question = ["taken [interface].PrivateKey", "Write it to .? [Y/n"]
    func shown(_ question: [String]) -> [String] { question.map { $0.replacing("[Y/n", with: "[Y/n]") } }
    #expect(
      seen.lines == ["[status 1]", "[]"] + shown(question) + ["nothing was written", "[status 1]", "[]"] + shown(question)
        + ["nothing was written", "[./hub.yaml]"] + shown(question) + [
          "wrote ./hub.yaml", "[./out/hub.yaml]", "taken [interface].PrivateKey",
        ]
        + ["wrote ./out/hub.conf (0600)", "wrote ./out/hub.yaml", "0"], "\(seen)")
  }

  @Test("says that a split tunnel's file has all names asked of its servers, with the lines for either meaning") func allNames() throws {
    let seen = try Scene([:]).run(
      words + """
        file hub.conf 10.77.0.0/16 <<<'DNS = 10.77.0.1, corp.example'
        imports hub.conf --manual | grep -o 'note: warning: all names.*'
        sed -i 's/^  hub:/&\\n    dns: { servers: [10.77.0.1], match-domains: [corp.example] }/' hub.yaml
        ../roamward check . 2>&1 | grep -c 'all names' || true
        """)
    #expect(
      seen.lines == [
        "note: warning: all names are asked of 10.77.0.1 while `hub` is up, though it takes a part of the addresses only; for names of"
          + " corp.example alone, add `dns: { servers: [10.77.0.1], match-domains: [corp.example] }`; for all names, add `dns: { servers:"
          + " [10.77.0.1], search-domains: [corp.example] }`", "0",
      ], "\(seen)")
  }

  @Test("reports what `check` finds, and a next command that can be pasted") func findings() throws {
    let seen = try Scene([:]).run(
      words + """
        file docker0.conf 10.77.0.0/16 </dev/null
        file relay.conf '0.0.0.0/0, ::/0' </dev/null
        sed -i 's/^Endpoint.*/Endpoint = 127.0.0.1:51899/' relay.conf
        file hub.conf 10.79.0.0/24 <<<'DNS = 198.51.100.53'
        mkdir out "Meine Firma – Zürich (2)" "it's" && [[ $EUID != 0 ]] || chown 65534:65534 out M* it*
        for name in docker0 relay hub; do imports $name.conf --output "Meine Firma – Zürich (2)" --manual --dry-run | grep 'note: warning' | sed "s|$PWD|.|"; done
        imports hub.conf --output out --except-ssid Home 2>/dev/null | grep -c 'note: warning: .*ssid'
        imports hub.conf --output out --dry-run --json | jq -r '.imports[0].report.keys[] | select(.weight == "warning") | .text'
        # The command is typed as it is printed, with a program in the place of sudo that shows its arguments.
        for folder in "Meine Firma – Zürich (2)" "it's"; do
          imports hub.conf --output "$folder" --manual >report
          command=$(sed -n 's/^next: sudo //p' report | sed 's/ *#.*//')
          roamward() { printf '<%s>' "$@"; echo; }
          eval "$command" | sed "s|$PWD|.|"
        done
        """)
    let unrouted =
      "the name server 198.51.100.53 of `hub` is not reached through it: no included prefix holds it; add 198.51.100.53/32 to `routes:"
      + " include:`, or correct the server"
    #expect(
      seen.lines == [
        "docker0.conf: note: warning: the link of `docker0` would be called `docker0`, as a bridge of containers or virtual machines is;"
          + " call the tunnel something else; its link is named after it",
        "relay.conf: note: warning: `relay`: its endpoint 127.0.0.1:51899 is a relay on this machine, whose own packets go into the tunnel"
          + " that they carry; add the address of the relay's server to `routes: exclude:`, or start the relay in `up` of the provider"
          + " `command`", "hub.conf: note: warning: \(unrouted)",
        "1", unrouted,
        "rule 1 of `hub` disconnects on weak evidence alone: `ssid` (network `trusted`), which anyone's network can show; add"
          + " `gateway-mac:`, or a `probe:` with a `pin:`, to what has to hold", "<apply><./Meine Firma – Zürich (2)/hub.yaml>",
        "<apply><./it's/hub.yaml>",
      ])
  }
}
