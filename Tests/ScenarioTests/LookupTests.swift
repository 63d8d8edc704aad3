import Testing

/// The company's tunnel, which takes everything and so cannot be armed: look-ups of its names start it. Names of `lab.example` start it if
/// the network's servers do not know them.
let watchedCorp = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      on-demand:
        timing: { release-delay: 0s, idle: 20s }
        rules:
          - { match: { interface-name: "eth*" }, action: disconnect }
          - name: names
            action: evaluate-connection
            connections:
              - { domains: [public.corp.example], action: never-connect }
              - { domains: [corp.example], action: connect-always }
              - { domains: [lab.example], action: connect-if-needed }
      routes: { include: [default] }
      dns: { servers: [10.77.0.1], match-domains: [corp.example, lab.example] }

  """

let lookupWords = """
  witness_names
  file=$laptop/resolv.conf
  # As programs ask: an address, or the code of the failure.
  answer() {
    local server said
    server=$(sed -n 's/^nameserver //p' "$file" | head -n 1)
    said=$(busybox nslookup -type=a "$1" "$server" 2>&1) || true
    grep -oP '^Address: \\K[0-9.]+$|SERVFAIL|NXDOMAIN|REFUSED|timed out' <<<"$said" | tail -n 1
  }
  asked_at() { local place=$1; shift; cat "$scene/names-$place" | grep -c "query.*$1" || true; }
  led() { grep -q 'nameserver 127.82.0.53' "$file"; }
  # The link of a tunnel that is down: up, without addresses but the kernel's own, and without a route.
  ready() { ip -oneline link show "$1" | grep -q '[<,]UP[,>]' && no_way_into "$1"; }
  no_way_into() {
    ! ip -oneline address show "$1" | grep -v ' fe80:' | grep -q . || return
    ! { ip -4 route show table all; ip -6 route show table all; } | grep -w "dev $1" | grep -vE '^(multicast |local |anycast )?(fe80:|ff00:)' | grep -q .
  }

  """

@Suite("Look-ups that start a tunnel, on real links", .needsLab)
struct LookupScenes {
  @Test("the first look-up of its name waits and is answered inside, no server outside sees it, and idleness ends what it started")
  func life() throws {
    let scene = try Scene(["corp.yaml": watchedCorp], words: ["names.bash"])
    let seen = try scene.run(
      lookupWords + """
        go cafe
        on gateway nft 'table inet seen { counter ours { }; chain in { type filter hook input priority -300; udp dport 51820 counter name ours; }; }'
        cp -a "$file" was
        start_agent
        within 5 led
        within 5 ready corp
        go mobile
        go cafe
        # Until the agent has written the file anew, programs ask the network itself.
        within 5 led
        within 5 eval '[[ $(answer www.example) == 198.51.100.77 ]]'
        within 5 ready corp
        say "$(field corp state), $(on gateway nft list counter inet seen ours | grep -o 'packets [0-9]*')"
        roamward monitor --json >events &
        # A policy that is read again is an event.
        listens() { echo "#" >>$policies/corp.yaml; sleep 0.1; test -s events; }
        within 5 listens
        say "$(answer www.example) $(answer www.public.corp.example) $(answer box.lab.example) $(field corp state)"
        say "$(answer wiki.corp.example)"
        tunnel_is corp connected
        within 5 grep -q '"event":"lookup"' events
        jq -r 'select(.event == "lookup") | "\\(.tunnel) \\(.name) user \\(.user)"' events
        roamward status | grep -o 'a look-up of wiki.corp.example by user 0.*' | sed 's/ in [^ ]*$//'
        way=$(roamward dns wiki.corp.example --policies $policies "${inputs[@]}" --state-dir $scene/state --ask)
        say "$(grep -oP 'sent by .*(?=, because)' <<<"$way"); $(grep -oP 'answered by .*' <<<"$way" | sed 's/, in [^:]*//')"
        say "$(answer git.corp.example)"
        go mobile
        within 5 led
        tunnel_is corp connected
        within 5 eval '[[ $(answer wiki.corp.example) == 10.77.0.77 ]]'
        within 5 eval '[[ $(answer www.public.corp.example) == 203.0.113.207 ]]'
        say "mobile $(answer www.public.corp.example)"
        tunnel_is corp disconnected 60s
        within 5 ready corp && say "ready again"
        index=$(ip -oneline link show corp | cut -d : -f 1)
        say "$(answer wiki.corp.example)"
        [[ $(ip -oneline link show corp | cut -d : -f 1) == "$index" ]] && say "the same link"
        tunnel_is corp connected
        say "outside: $(asked_at cafe wiki.corp) $(asked_at mobile wiki.corp) $(asked_at cafe git.corp), exception: $(asked_at gateway public.corp)"
        stop_agent >/dev/null
        ip link show corp >/dev/null 2>&1 || say "gone"
        cmp was "$file" || diff was "$file" || true
        """, limit: 180)
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[disconnected, packets 0]", "[198.51.100.77 198.51.100.77 198.51.100.77 disconnected]", "[10.77.0.77]",
        "[sent by roamward-names (127.82.0.53) to 10.77.0.1 of corp; answered by roamward-names (127.82.0.53), which asks 10.77.0.1 (corp): 10.77.0.77]",
        "[10.77.0.77]", "[mobile 203.0.113.207]", "[ready again]", "[10.77.0.77]", "[the same link]", "[outside: 0 0 0, exception: 0]",
        "[gone]",
      ], "\(seen.lines)")
    #expect(seen.lines.contains("corp wiki.corp.example user 0"), "\(seen.lines)")
    #expect(seen.lines.contains { $0 == "a look-up of wiki.corp.example by user 0" }, "\(seen.lines)")
  }

  @Test("where the network gives every name the same address, a name that is asked there first starts the tunnel all the same")
  func redirected() throws {
    let scene = try Scene(["corp.yaml": watchedCorp], words: ["names.bash"])
    let seen = try scene.run(
      lookupWords.with("witness_names\n", "witness_names cafe\n") + """
        go cafe
        start_agent
        within 5 led
        say "$(answer www.example) $(field corp state)"
        say "$(answer box.lab.example)"
        tunnel_is corp connected
        (($(asked_at cafe box.lab.example) > 0 && $(asked_at cafe '\\.com ') > 0)) && say "asked there, with a random name"
        """, limit: 120)
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[198.51.100.77 disconnected]", "[10.77.0.77]", "[asked there, with a random name]",
      ], "\(seen.lines)")
  }

  @Test("with a gateway that is dead the question fails within five seconds, and the next look-up after it is back is answered")
  func dead() throws {
    let scene = try Scene(["corp.yaml": watchedCorp], words: ["names.bash"])
    let seen = try scene.run(
      lookupWords + """
        go cafe
        on gateway nft 'table inet dead { chain in { type filter hook input priority 0; udp dport 51820 drop; }; }'
        start_agent
        within 5 led
        # Waits longer than programs do, and measures from the question to the answer, without its own start.
        ask() { PATIENCE=30 "$tests/question" "$(sed -n 's/^nameserver //p' "$file" | head -n 1)" "$1"; }
        read -r took said < <(TIMED=yes ask wiki.corp.example)
        say "$said $((took > 4000 && took < 5000))"
        say "$(ask git.corp.example)"
        on gateway nft delete table inet dead
        within 40 eval '[[ $(answer wiki.corp.example) == 10.77.0.77 ]]' && say "answered"
        say "outside: $(asked_at cafe corp.example)"
        """, limit: 120)
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[SERVFAIL 1]", "[SERVFAIL]", "[answered]", "[outside: 0]"], "\(seen.lines)")
  }

  @Test("`roamward dns --ask` waits for a tunnel as programs do, is answered from the cache, and says what is captured") func asked() throws
  {
    let policy = watchedCorp.with("lab.example] }\n", "lab.example], names: capture }\n")
    let seen = try Scene(["corp.yaml": policy], words: ["names.bash", "clients.bash", "capture.bash"]).run(
      lookupWords + """
        gateway_answers_late
        passes held 1
        go cafe
        start_agent
        within 5 led
        within 5 captures
        ask_way() { dry dns "$1" --ask; }
        answered() { grep -oP 'answered by .*|no address.*' <<<"$1" | sed 's/, in [^:]*//'; }
        began=${EPOCHREALTIME/./}
        way=$(ask_way wiki.corp.example)
        say "$(answered "$way"), waited $((${EPOCHREALTIME/./} - began >= 1000000)), $(field corp state)"
        say "$(grep -oP 'programs that ask other servers: .*' <<<"$way")"
        # That there is no address of the other family is not kept.
        inside() { grep -c 'query\\[A\\] wiki.corp.example ' "$scene/names-gateway"; }
        before=$(inside)
        way=$(ask_way wiki.corp.example)
        say "$(answered "$way"), from the cache $((before > 0 && $(inside) == before))"
        way=$(ask_way www.public.example)
        say "$(answered "$way")"
        say "$(grep -oP 'programs that ask other servers: .*' <<<"$way")"
        say "outside $(asked_at cafe wiki.corp.example)"
        """, limit: 120)
    let by = "answered by roamward-names (127.82.0.53), which asks"
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[\(by) 10.77.0.1 (corp): 10.77.0.1, waited 1, connected]",
        "[programs that ask other servers: the same, by roamward-names (`names: capture`)]",
        "[\(by) 10.77.0.1 (corp): 10.77.0.1, from the cache 1]", "[\(by) 198.51.100.1: 198.51.100.77]",
        "[programs that ask other servers: sent by roamward-names to the server that they ask]", "[outside 0]",
      ], "\(seen.lines)")
  }
}
