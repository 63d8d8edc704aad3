import Glibc
import Testing

/// `names: capture`: programs with name servers of their own get the tunnel's answers for its names, and others those of the server that
/// they asked. Each detector is proven first.
@Suite("Captured DNS questions", .needsLab)
struct NameCaptureTests {
  private func scene(_ policy: String = capturing) throws -> Scene {
    try Scene(["50-corp.yaml": policy], words: ["names.bash", "capture.bash"])
  }

  private static let begin = """
    witness_names
    start_stranger
    start_sniffing
    go cafe

    """

  @Test(
    "a hard-coded server: without capture the question leaves, with it the tunnel's servers answer, and the rest goes where it was sent")
  func hardCoded() throws {
    let seen = try scene(capturing.with(", names: capture", "")).run(
      Self.begin + """
        cp -a $laptop/resolv.conf was
        start_agent
        tunnel_is corp connected
        without=$(ask_all wiki.corp.example)
        within 5 something_outside
        say "without: $without; outside $(($(outside) > 0))"
        roamward doctor --policies $policies "${inputs[@]}" --state-dir $scene/state --json | jq -r '.findings[] | select(.check == "own-servers") | .message' | cut -d ' ' -f 1-4
        write_policy 's/when-down: refuse/when-down: refuse, names: capture/'
        within 5 captures
        within 5 eval '[[ $(ask $stranger wiki.corp.example) == 10.77.0.77 ]]'
        roamward diff --policies $policies "${inputs[@]}" --state-dir $scene/state >/dev/null && say "no drift"
        before=$(outside)
        say "names of corp: $(ask_all wiki.corp.example) $(ask ${server[cafe]} wiki.corp.example)"
        say "others: $(ask_all www.public.example) $(ask ${server[cafe]} www.public.example) $(ask 127.82.0.53 www.public.example)"
        # As systemd-resolved does on the loopback: it asks further by itself.
        dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address=127.0.0.53 --server=${server[cafe]} --pid-file=
        within 5 eval '[[ $(ask 127.0.0.53 www.public.example) == 198.51.100.77 ]]'
        say "a local resolver: $(ask 127.0.0.53 local.corp.example)"
        say "canary: $(ask $stranger use-application-dns.net)"
        say "bound: $(ask_all_bound bound.corp.example wlan0); of no tunnel: $(ask_all_bound bound.public.example wlan0)"
        say "outside: $(($(outside) - before))"
        say "doctor: $(roamward doctor --policies $policies "${inputs[@]}" --state-dir $scene/state --json | jq -r '[.findings[] | select(.check == "own-servers")] | length')"
        roamward down corp --wait 20 >/dev/null
        within 5 eval '[[ $(ask $stranger wiki.corp.example) == SERVFAIL ]]'
        say "down: $(ask_all wiki.corp.example) $(ask $stranger www.public.example); outside: $(($(outside) - before))"
        stop_agent >/dev/null
        not captures && cmp was $laptop/resolv.conf && within 5 eval '[[ $(ask $stranger wiki.corp.example) == 203.0.113.199 ]]' && say "as before"
        """, limit: 120)
    #expect(
      seen.lines == [
        "[without: 203.0.113.199 203.0.113.199 203.0.113.199 203.0.113.199; outside 1]", "corp: programs that ask",
        "[no drift]", "[names of corp: 10.77.0.77 10.77.0.77 10.77.0.77 10.77.0.77 10.77.0.77]",
        "[others: 203.0.113.199 203.0.113.199 203.0.113.199 203.0.113.199 198.51.100.77 198.51.100.77]", "[a local resolver: 10.77.0.77]",
        "[canary: NXDOMAIN]",
        "[bound: no answer; of no tunnel: no answer]", "[outside: 0]", "[doctor: 0]",
        "[down: SERVFAIL SERVFAIL SERVFAIL SERVFAIL 203.0.113.199; outside: 0]", "[as before]",
      ])
  }

  @Test("containers behind a bridge, also under a kill switch, and name servers in containers")
  func containers() throws {
    let seen = try scene(capturing.with(", names: capture", "")).run(
      Self.begin + """
        start_guest
        start_agent
        tunnel_is corp connected
        without=$(guest_asks wiki.corp.example)
        within 5 something_outside
        say "without: $without; outside $(($(outside) > 0))"
        write_policy 's/when-down: refuse/when-down: refuse, names: capture/'
        within 5 eval '[[ $(guest_asks wiki.corp.example) == 10.77.0.77 ]]'
        before=$(outside)
        say "guest: $(guest_asks wiki.corp.example) $(guest_asks www.public.example) $(guest perl $tests/question ${server[cafe]} www.public.example)"
        ip link del guests; make_bridge; ip link set port0 master guests
        within 5 eval '[[ $(guest_asks wiki.corp.example) == 10.77.0.77 ]]' && say "another bridge of that name"
        guest dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --listen-address=172.31.0.2 --bind-interfaces --address=/#/172.31.0.77 --pid-file=
        within 5 eval '[[ $(ask 172.31.0.2 wiki.corp.example) == 172.31.0.77 ]]' && say "a container's server answers by itself"
        # Weak host model: the café reaches the bridge's address, but not the name server there.
        on cafe ip route replace 172.31.0.0/24 via 198.51.100.23
        say "from outside: $(on cafe busybox ping -c 1 -W 5 172.31.0.1 | grep -c ' 0% packet loss') $(ON_PORT=20953 PATIENCE=2 on cafe perl "$tests/question" 172.31.0.1 wiki.corp.example)"
        say "a guest: $(ON_PORT=20953 guest perl "$tests/question" 172.31.0.1 wiki.corp.example)"
        before=$(outside)
        write_policy 's/10.77.0.0\\/16/default/; s/class: enterprise/kill-switch: "on"/; s/when-down: refuse, //; s/, match-domains: .corp.example.//'
        sed -i 's|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|' $policies/corp.conf
        within 10 eval 'nft list table inet roamward | found 20953'
        tunnel_is corp connected
        within 10 eval '[[ $(ask $stranger x.corp.example) == 10.77.0.77 && $(ask $stranger x.corp.example tcp) == 10.77.0.77 ]]'
        within 10 eval '[[ $(guest_asks y.corp.example) == 10.77.0.77 ]]' && say "under a kill switch"
        say "outside: $(($(outside) - before))"
        stop_agent >/dev/null
        """, limit: 120)
    #expect(
      seen.lines == [
        "[without: 203.0.113.199; outside 1]", "[guest: 10.77.0.77 203.0.113.199 198.51.100.77]",
        "[another bridge of that name]", "[a container's server answers by itself]", "[from outside: 1 no answer]", "[a guest: 10.77.0.77]",
        "[under a kill switch]",
        "[outside: 0]",
      ])
  }

  private static let nspawn = "\(Lab.unpacked)/systemd-container/usr/bin/systemd-nspawn"

  @Test(
    "a container that systemd-nspawn starts on a bridge",
    .enabled(if: geteuid() == 0 && access(nspawn, X_OK) == 0, "no root, or systemd-nspawn is not unpacked (scripts/setup --vm)"))
  func nspawnContainer() throws {
    let seen = try scene(capturing.with(", names: capture", "")).run(
      "unpacked='\(Lab.unpacked)'\n" + Self.begin + """
        start_guest
        start_agent
        tunnel_is corp connected
        without=$(container_asks wiki.corp.example)
        within 5 something_outside
        say "without: $without; outside $(($(outside) > 0))"
        write_policy 's/when-down: refuse/when-down: refuse, names: capture/'
        within 5 eval '[[ $(guest_asks wiki.corp.example) == 10.77.0.77 ]]'
        before=$(outside)
        say "container: $(container_asks wiki.corp.example) $(container_asks www.public.example)"
        roamward down corp --wait 20 >/dev/null
        within 5 eval '[[ $(ask $stranger wiki.corp.example) == SERVFAIL ]]'
        say "down: $(container_asks wiki.corp.example) $(container_asks www.public.example)"
        say "outside: $(($(outside) - before))"
        stop_agent >/dev/null
        """, limit: 120)
    #expect(
      seen.lines == [
        "[without: 203.0.113.199; outside 1]", "[container: 10.77.0.77 203.0.113.199]", "[down: SERVFAIL 203.0.113.199]", "[outside: 0]",
      ])
  }

  @Test("the table is repaired, follows the name server and the agent that are killed, and leaves nothing")
  func repairs() throws {
    let seen = try scene().run(
      Self.begin + """
        start_guest
        within 5 eval '[[ $(ip -j link show guests | jq -r ".[].operstate") == UP ]]'
        remember
        start_agent
        tunnel_is corp connected
        within 5 eval '[[ $(ask_all wiki.corp.example) == "10.77.0.77 10.77.0.77 10.77.0.77 10.77.0.77" ]]'
        before=$(outside)
        for change in 'delete table inet roamward-names' 'flush chain inet roamward-names output' \\
          'insert rule inet roamward-names output udp dport 53 return'; do
          nft "$change"
          within 2 eval '[[ $(ask $stranger wiki.corp.example) == 10.77.0.77 ]] && ! nft list table inet roamward-names | found "udp dport 53 return"'
        done
        say "repaired"
        # While the table was gone, a question could leave.
        before=$(outside)
        kill -KILL $(pgrep -f '[r]oamward-names --at-work')
        within 10 eval '[[ $(ask_all wiki.corp.example) == "10.77.0.77 10.77.0.77 10.77.0.77 10.77.0.77" ]]' && say "with another process"
        say "outside: $(($(outside) - before))"
        kill_agent
        # It ends with the agent, by itself.
        within 5 not pgrep -f '[r]oamward-names --at-work'
        captures && say "killed: $(PATIENCE=1 ask_all wiki.corp.example); outside: $(($(outside) - before))"
        start_agent
        tunnel_is corp connected
        within 5 eval '[[ $(ask_all wiki.corp.example) == "10.77.0.77 10.77.0.77 10.77.0.77 10.77.0.77" ]]' && say "again"
        roamward state --state-dir $scene/state | grep -c 'table inet roamward-names'
        kill_agent; cleanup_agent
        as_before && say "as before"
        """, limit: 150)
    #expect(
      seen.lines == [
        "[repaired]", "[with another process]", "[outside: 0]", "[killed: no answer no answer no answer no answer; outside: 0]", "[again]",
        "1", "[as before]",
      ])
  }
}

private let capturing = corp.with(
  "search-domains: [corp.example] }",
  "search-domains: [corp.example], match-domains: [corp.example], when-down: refuse, names: capture }")
