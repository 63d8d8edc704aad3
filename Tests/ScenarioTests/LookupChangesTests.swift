import Glibc
import Testing

/// These promises hold while networks, tunnels and processes come and go under two hundred questions a second:
///
/// * A name of a watched tunnel (`connect-always`) is never asked outside. Every other name is asked at the server that `plan` shows.
/// * Each name is answered within five seconds. A program may repeat its question, and does so after a failure.
///
/// There are three physical limits, which no name server can remove (docs/security-kill-switch.md):
///
/// * Without a network no server answers, and a tunnel that a person keeps down answers no name: the five seconds begin at the end of that.
/// * With the agent, `roamward-names` ends. From `kill -9` until the next agent runs no name is answered: the five seconds begin there.
///   No question leaves meanwhile: resolv.conf names no other server, and the redirect of `names: capture` stays.
/// * Other programs write resolv.conf too. A program that reads it before the agent has replaced it asks the network itself. Such a
///   question does not count if the program says that it asked that server. With `names: capture` there are none.
extension LookupScenes {
  enum Way: String, CaseIterable, CustomTestStringConvertible {
    case file, capture
    var testDescription: String { rawValue }
  }

  /// Sixteen changes, or as many as CHANGES says.
  @Test(
    "while everything changes and dies under two hundred questions a second, no name of a watched tunnel is asked outside, each other one where the plan says, and each is answered in five seconds",
    arguments: Way.allCases)
  func changes(_ way: Way) throws {
    let count = getenv("CHANGES").flatMap { Int(String(cString: $0)) } ?? 16
    let keys = way == .capture ? ", when-down: refuse, names: capture }" : " }"
    let scene = try Scene(
      [
        "50-corp.yaml": watchedCorp.with("idle: 20s", "idle: 10m").with("lab.example] }\n", "lab.example]\(keys)\n"),
        "10-site.yaml": site, "90-vault.yaml": vault,
      ], words: ["names.bash", "capture.bash", "lookups.bash"])
    let seen = try scene.run(
      begin(way) + "unknown=lab.example\nsource '\(Lab.folder)/lookup-words.bash'\n" + changeWords + """
        go cafe
        # The detector: without an agent, names of each kind are asked in the café.
        start_asking loose ${kinds[@]/!/}
        within 10 eval '(($(grep -c loose- "$scene/names-cafe") > 100))'
        stop_asking
        for domain in $domains; do [[ -n $(seen_names loose $domain cafe) ]] || say "not seen: $domain"; done
        grep -q 'LOOSE-.*CORP.EXAMPLE' "$scene/names-cafe" && say "seen"
        start_agent
        tunnel_is site connected
        within 5 led
        for domain in $domains; do planned name.$domain; done
        start_asking changes "${kinds[@]}"
        place=cafe
        for ((i = 0; i < \(count); i++)); do
          change_\(way.rawValue) $i
          sleep 0.$((RANDOM % 10))
          within 20 settled $i
          stage settled
          sleep 0.3
          stage changes
          within 10 all_answered
        done
        stop_asking
        all='changes|home|settled' at_place='198.51.100.77|203.0.113.207'
        judge corp.example "$all" "10.77.0.77$at_home" cafe mobile site
        judge lab.example "$all" "10.77.0.77$unknown_at_home" site
        judge public.corp.example "$all" "$at_place$at_home" gateway site
        judge site.example 'changes|home' "10.88.0.77|$at_place$at_home" gateway
        judge site.example settled 10.88.0.77 home cafe mobile gateway
        judge vault.example "$all" SERVFAIL home cafe mobile gateway site
        judge other.example "$all" "$at_place$at_home" gateway site
        say "at home, of other stages: $(seen_names 'changes|settled' corp.example home | wc -l)"
        say "by programs themselves: $(comm -12 <(seen_names '.*' corp.example cafe mobile) <(asked_themselves) | wc -l)"
        """, limit: 30 + 5 * count)
    let lines = seen.lines.filter { !$0.contains("by programs themselves") }
    #expect(Array(lines.prefix(7)) == ["[seen]"] + planned, "\(seen.lines)")
    #expect(lines.last == "[at home, of other stages: 0]", "\(seen.lines)")
    let figures = lines.filter { $0.contains(" asked=") }
    #expect(figures.count == 7, "\(seen.lines)")
    for line in figures {
      let numbers = line.split(separator: " ").dropFirst().compactMap { $0.split(separator: "=").last.flatMap { Int($0) } }
      #expect(numbers.count == 5 && numbers[0] > 2 * count && numbers[1...3].allSatisfy { $0 == 0 }, "\(line) of \(seen.lines)")
    }
    print("Look-ups by \(way): \(count) changes: \(figures.joined(separator: "; ")); \(seen.lines.last ?? "")")
  }

  private func begin(_ way: Way) -> String {
    // At home a rule says `disconnect`, so its server is asked for the tunnel's names.
    way == .file ? "by_file=yes at_home='|192.0.2.77' unknown_at_home='|NXDOMAIN'\n" : "at_home= unknown_at_home=\n"
  }
}

/// The answers of `roamward dns` for each kind of name, as far as they say which server is asked.
private let planned = [
  "name.corp.example sent by roamward-names (127.82.0.53) to 10.77.0.1 of corp, because names in corp.example start corp, and wait until it is connected",
  "name.lab.example sent by roamward-names (127.82.0.53) to 198.51.100.1 of the network on wlan0, because names in lab.example start corp if these servers do not resolve them",
  "name.public.corp.example sent by roamward-names (127.82.0.53) to 198.51.100.1 of the network on wlan0, because names in public.corp.example start no tunnel",
  "name.site.example sent by roamward-names (127.82.0.53) to 10.88.0.1 of site, because the servers of site answer for site.example",
  "name.vault.example sent by roamward-names (127.82.0.53) to 10.99.0.1 of vault, because the servers of vault answer for vault.example",
  "name.other.example sent by roamward-names (127.82.0.53) to 198.51.100.1 of the network on wlan0, because no tunnel answers for it",
]

/// A tunnel that is up everywhere, with names of its own.
private let site = """
  version: 1
  tunnels:
    site:
      provider: { wireguard: { config: site.conf } }
      on-demand: { rules: [{ action: connect }] }
      routes: { include: [10.88.0.0/16] }
      dns: { servers: [10.88.0.1], match-domains: [site.example] }

  """

/// One whose gateway never answers: its names are refused.
private let vault = """
  version: 1
  tunnels:
    vault:
      provider: { wireguard: { config: vault.conf } }
      on-demand: { rules: [{ action: connect }] }
      routes: { include: [10.99.0.0/16] }
      dns: { servers: [10.99.0.1], match-domains: [vault.example], when-down: refuse }

  """

private let changeWords = """
  : >"$scene/outages"
  second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 >$policies/site.conf
  sed 's/:51821$/:51899/; s/^Address.*/Address = 10.99.0.2/' $policies/site.conf >$policies/vault.conf
  chmod 600 $policies/*.conf
  on gateway dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address=10.88.0.1 --pid-file= \\
    --log-queries --log-facility="$scene/names-site" --local-ttl=300 "--address=/#/10.88.0.77"
  within 5 test -e "$scene/names-site"
  kinds=(corp.example CORP.EXAMPLE tcp:corp.example lab.example public.corp.example site.example tcp:SITE.EXAMPLE vault.example! tcp:vault.example!
    other.example tcp:OTHER.EXAMPLE)
  domains="corp.example lab.example public.corp.example site.example vault.example other.example"
  planned() { dry dns "$1" | sed -n 1,2p | xargs; }
  server() { pgrep -f "[r]oamward-names --at-work" || true; }
  settled() {
    tunnel_is corp connected && tunnel_is site connected &&
      [[ $(answer wiki$1.corp.example) == 10.77.0.77 && $(answer wiki$1.site.example) == 10.88.0.77 ]]
  }
  move() { [[ $place == cafe ]] && place=mobile || place=cafe; go $place; }
  next_agent() { start_agent; within 10 eval '[[ -n $(server) ]]'; }
  kill_engine() { local engine; engine=$(engine_pid $1); [[ -z $engine ]] || kill -KILL $engine; }
  change() {
    case $(($1 % 8)) in
      0) move ;;
      1) kill -KILL $(server) ;;
      2) unanswerable; go nothing; sleep 0.5; go $place; answerable ;;
      3) unanswerable; kill_agent; next_agent; answerable ;;
      4) if (($1 / 8 % 2)); then kill_engine site; else kill_engine corp; fi ;;
      5) roamward up corp --wait 20 >/dev/null; roamward resume corp >/dev/null ;;
      6) unanswerable; kill_agent; move; next_agent; answerable ;;
    esac
  }
  # At home the rule ends it; in the café a look-up starts it.
  change_file() {
    (($1 % 8 == 7)) || { change $1; return; }
    stage home
    within 10 all_answered
    go home
    tunnel_is corp disconnected
    sleep 0.5
    go $place
    within 20 settled $1
    stage changes
    within 10 all_answered
  }
  # A person takes it down and lets it go; a look-up starts it.
  change_capture() {
    (($1 % 8 == 7)) || { change $1; return; }
    unanswerable
    roamward down corp --wait 20 >/dev/null
    sleep 0.5
    roamward resume corp >/dev/null
    answerable
  }

  """
