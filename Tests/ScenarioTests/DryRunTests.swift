import Glibc
import Testing

@Suite("A dry run", .needsLab)
struct DryRunTests {
  private static let hasStrace = access("/usr/bin/strace", X_OK) == 0

  @Test(
    "changes nothing: it sends the kernel questions alone and opens no file for writing", .enabled(if: hasStrace, "strace is not installed")
  )
  func writesNothing() throws {
    let scene = try Scene()
    try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      trace() { strace -f -qq -s 64 -e trace='!read,mmap,munmap,mprotect,futex,clock_gettime' -o "$@"; }
      remember
      touch stamp
      for command in evaluate plan dns network check; do
        case $command in
          check) trace check.trace $bin/roamward check $policies >/dev/null ;;
          dns) trace dns.trace $bin/roamward dns intranet.corp.example --policies $policies "${inputs[@]}" --state-dir state >/dev/null ;;
          network) trace network.trace $bin/roamward network "${inputs[@]}" --state-dir state >/dev/null ;;
          *) trace $command.trace $bin/roamward $command --policies $policies "${inputs[@]}" --state-dir state >/dev/null ;;
        esac
      done
      trace plan-up.trace $bin/roamward plan --policies $policies --policies local --set interface=wifi --set ssid=Cafe --up corp "${inputs[@]}" >/dev/null
      as_before
      # The agent that runs meanwhile goes on with its log.
      find . $laptop -newer stamp -type f ! -name agent.log ! -name '*.trace' ! -name after ! -name touched ! -name 'output-*' >touched
      """)
    #expect(scene.read("touched") == "")
    for command in ["evaluate", "plan", "dns", "network", "check", "plan-up"] {
      let calls = scene.read("\(command).trace").lines
      #expect(calls.contains { $0.contains("openat(") }, "\(command) is traced")
      let written = calls.filter { call in
        ["O_WRONLY", "O_RDWR", "O_CREAT", "rename", "unlink", "mkdir", "truncate", "chmod", "chown"].contains { call.contains($0) }
      }
      #expect(written == [], "\(command)")
      let sent = calls.filter { $0.contains("sendmsg(") || $0.contains("sendto(") }
      #expect(sent.filter { $0.contains("RTM_NEW") || $0.contains("RTM_DEL") || $0.contains("RTM_SET") } == [], "\(command)")
      // `check` too, where a policy names its gateway by an address: it must not be one of this machine's.
      #expect(sent.contains { $0.contains("RTM_GET") }, "\(command)")
      #expect(calls.filter { $0.contains("set=1") } == [], "\(command)")
    }
    // A change does appear in such a trace.
    try scene.run(
      """
      stop_agent
      strace -f -qq -e trace=sendmsg,sendto -o agent.trace $bin/roamwardd --policies $policies --state-dir state --socket $ROAMWARD_SOCKET \
        "${inputs[@]}" </dev/null >/dev/null 2>&1 &
      within 5 roamward status
      tunnel_is corp connected
      kill $(pgrep -P $!)
      wait
      """)
    #expect(scene.read("agent.trace").contains("RTM_NEWROUTE"))
  }

  @Test("tells the outcome by its status and in JSON, without an agent and as an unprivileged user")
  func evaluates() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      cp $bin/roamward .
      mkdir shared && cp $policies/* shared/ && chmod 644 shared/*
      sed -i '/PrivateKey/d; s/wireguard:.*/command: { up: [a], down: [b] } }/' shared/corp.yaml && rm shared/corp.conf
      run=(./roamward evaluate --policies shared)
      [[ $EUID != 0 ]] || run=(setpriv --reuid 65534 --regid 65534 --clear-groups "${run[@]}")
      go cafe
      for facts in '--set ssid=Cafe' '--set interface-name=eth0' '--set ssid=Other' "--live --ssid-file $laptop/ssid"; do
        "${run[@]}" --exit-code $facts >/dev/null 2>&1 || say "$?"
      done
      "${run[@]}" --nonsense >/dev/null 2>&1 || say "$?"
      "${run[@]}" --set ssid >/dev/null 2>&1 || say "$?"
      "${run[@]}" --tunnel nope >/dev/null 2>&1 || say "$?"
      echo 'version: 9' >shared/bad.yaml
      "${run[@]}" --set ssid=Cafe >/dev/null 2>&1 || say "$?"
      rm shared/bad.yaml
      "${run[@]}" --json --set ssid=Cafe >decision.json
      jq -c '[.version, (.decisions[0] | .tunnel, .action, (.rule | .index, .line), .pending, (.trace | length))]' decision.json
      jq -c '.decisions[0].trace[] | [.rule.index, .holds, (.reason | type)]' decision.json
      jq -c '.decisions[0] | keys' decision.json
      """)
    #expect(
      seen.lines == [
        "[10]", "[11]", "[12]", "[10]", "[2]", "[2]", "[2]", "[1]", #"[1,"corp","connect",2,10,null,2]"#, #"[1,"no","array"]"#,
        #"[2,"yes","array"]"#, #"["action","carries","code","inert","pending","reason","rule","trace","tunnel"]"#,
      ])
  }

  @Test("decides on a saved network as on the network itself, and as the agent does", arguments: ["home", "cafe", "mobile"])
  func savedNetwork(_ place: String) throws {
    let scene = try Scene()
    let action = place == "home" ? "disconnect" : "connect"
    let seen = try scene.run(
      """
      go \(place)
      start_agent
      within 2 field_is corp decision \(action)
      dry network --json >saved.json
      dry evaluate --live --json | jq -c '.decisions[0] | [.action, .rule.index, .reason]'
      roamward evaluate --policies $policies --network saved.json --json | jq -c '.decisions[0] | [.action, .rule.index, .reason]'
      roamward status --json | jq -c '.tunnels[0] | [.decision, .rule.index]'
      """)
    let lines = seen.lines
    let expected = ["home": #"["disconnect",1"#, "cafe": #"["connect",2"#, "mobile": #"["connect",3"#]
    let decision = try #require(expected[place])
    #expect(lines[0].hasPrefix(decision + ","))
    #expect(lines[1] == lines[0])
    #expect(lines[2] == decision + "]")
  }

  @Test("plans what a run then does: with the plan carried out, nothing is left to do")
  func planIsDone() throws {
    let scene = try Scene()
    let seen = try scene.run(
      """
      go cafe
      dry plan | grep -c 'ip route add'
      start_agent
      tunnel_is corp connected
      dry plan
      go home
      tunnel_is corp disconnected
      dry plan
      """)
    let nothing = "nothing to do: the system is in the desired state"
    #expect(seen.lines == ["1", nothing, nothing])
  }
}
