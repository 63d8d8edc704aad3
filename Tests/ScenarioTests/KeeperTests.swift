import Glibc
import SeededRandom
import Testing

/// Every program that keeps resolv.conf, with two tunnels at once, through all that happens to an agent: each name is answered where it
/// belongs, and at the end the file is as its keeper would have it, to the byte.
@Suite("Keepers of resolv.conf", .needsLab)
struct KeeperTests {
  enum Keeper: String, CaseIterable, Sendable {
    case file, resolvconf, openresolv, local
    case dhclient = "isc-dhcp-client"

    /// The program that its package brings.
    private var program: String { self == .dhclient ? "dhclient" : "resolvconf" }

    var isPossible: Bool {
      self == .file || self == .local || access("\(Lab.unpacked)/\(rawValue)/sbin/\(program)", X_OK) == 0
    }
  }

  static let possible = Keeper.allCases.filter(\.isPossible)

  /// The events while the agent runs, and those that end it. After each the agent runs again.
  private static let events = [
    "roam": "place=$(next_place); go_with_keeper $place",
    "lease": "[[ $keeper == isc-dhcp-client ]] && renew || go_with_keeper $place",
    "restart": "stop_agent >/dev/null; is_theirs; start_agent",
    "crash": "kill -ABRT $(agent_pid); within 5 test -s $scene/agent.exit; within 5 eval '[[ -z $(server_pid) ]]'; start_agent",
    "kill": "kill_agent; within 5 eval '[[ -z $(server_pid) ]]'; start_agent",
    "killed and cleaned up": "kill_agent; cleanup_agent; is_theirs; start_agent",
    "killed elsewhere": "kill_agent; place=$(next_place); go_with_keeper $place; start_agent",
    "name server killed": "kill -KILL $(server_pid)",
  ]

  private static let words = """
    unpacked='\(Lab.unpacked)'
    # A debug build would write down its stack for minutes.
    export SWIFT_BACKTRACE=enable=no
    next_place() { case $place in cafe) echo mobile ;; *) echo cafe ;; esac; }
    # Of two domains the longer one decides, in either direction; one that both claim has the first tunnel; others have the network.
    names_are_right() {
      answers_are $moment.corp.example=10.77.0.77 $moment.lab.example=10.88.0.77 $moment.deep.lab.example=10.77.0.77 \\
        $moment.deep.corp.example=10.88.0.77 $moment.public.example=${answers[$place]}
    }
    is_theirs() { within 5 eval 'nothing_of_ours && diff was.$place <(look_at_file)'; }

    """

  @Test("keep their file, and each name has its answer, whatever happens to the agent", arguments: possible, [2026 as UInt64])
  func life(_ keeper: Keeper, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let events = Self.events.sorted { $0.key < $1.key }.shuffled(using: &random)
    let scene = try splitNamesScene(corp: "deep.lab.example", lab: "deep.corp.example", words: ["names.bash", "keepers.bash"])
    let begin = """
      keep_by \(keeper.rawValue)
      for place in mobile cafe; do go_with_keeper $place; look_at_file >was.$place; done
      start_agent
      both_up
      moment=start
      within 5 names_are_right && say start

      """
    let life = events.map {
      "\($0.value)\nboth_up\nmoment=\($0.key.replacing(" ", with: "-"))\nwithin 5 names_are_right && say '\($0.key)'\n"
    }
    let end = """
      grep -c '^nameserver' $file
      say "backend: $(roamward status --json | jq -r .dns.backend)"
      roamward down corp --wait 20 >/dev/null
      within 5 answers_are wiki.corp.example=SERVFAIL box.lab.example=10.88.0.77 www.public.example=${answers[$place]} && say refused
      [[ $keeper != local ]] || within 5 answers_are a.printer.example=192.0.2.200
      say "outside: $(asked_outside)"
      stop_agent >/dev/null
      is_theirs && say theirs
      """
    let seen = try scene.run("source '\(Lab.folder)/both-gateways.bash'\n" + Self.words + begin + life.joined() + end, limit: 230)
    let backend = keeper == .resolvconf || keeper == .openresolv ? keeper.rawValue : "file"
    #expect(
      seen.lines == ["[start]"] + events.map { "[\($0.key)]" } + [
        "1", "[backend: \(backend)]", "[refused]", "[outside: ]", "[theirs]",
      ])
  }

  @Test("whose port is taken are told by whom, in status, journal and doctor; names are answered by one list until it is free")
  func taken() throws {
    let scene = try splitNamesScene(words: ["names.bash", "keepers.bash"])
    let seen = try scene.run(
      "source '\(Lab.folder)/both-gateways.bash'\n" + Self.words + """
        keep_by file
        place=cafe; go_with_keeper cafe; look_at_file >was.cafe
        # As dnsmasq is without settings: at every address.
        dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --pid-file=$scene/taker --address=/#/192.0.2.99
        taker=$(<$scene/taker)
        start_agent
        tunnel_is corp connected
        within 10 grep -qE 'nameserver 10.(77|88).0.1' "$file"
        within 5 eval "roamward status | found 'dnsmasq (process $taker.*) has taken port 53, at 0.0.0.0'"
        roamward status | grep -o "(dnsmasq (process.*), so its" | sed -e "s/process $taker/process N/g" | head -n 1
        say "journal $(($(count_in_log "dnsmasq (process $taker.*) has taken port 53") > 0))"
        dry plan | found "dnsmasq (process $taker.*) has taken port 53" && say plan
        { dry doctor || true; } | grep -A 1 "dnsmasq (process $taker.*) has taken port 53" | grep -o 'cure: configure it.*' |
          sed -e "s/process $taker/process N/" | head -n 1
        say "$(answer wiki.corp.example) $(answer box.lab.example)"
        kill $taker
        within 90 grep -q 'nameserver 127.82.0.53' "$file"
        within 10 answers_are wiki.corp.example=10.77.0.77 box.lab.example=10.88.0.77 www.public.example=198.51.100.77 && say free
        stop_agent >/dev/null
        is_theirs && say theirs
        """, limit: 200)
    #expect(
      seen.lines == [
        "(dnsmasq (process N) has taken port 53, at 0.0.0.0), so its", "[journal 1]", "[plan]",
        "cure: configure it for addresses of its own instead of 0.0.0.0 (`bind-interfaces` of dnsmasq, `interface:` of unbound), or end process N;"
          + " or apt install systemd-resolved", "[10.77.0.77 10.77.0.77]", "[free]", "[theirs]",
      ])
  }
}
