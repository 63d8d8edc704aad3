import Testing

/// The commands that show a running agent, in a terminal and for programs.
@Suite("Looking at a running agent", .needsLab)
struct LookingTests {
  @Test("status has the tunnel's network, one value for scripts and an exit status; it watches, and leaves the terminal as it was")
  func status() throws {
    let scene = try Scene(["corp.yaml": corp])
    let seen = try scene.run(
      """
      unset NO_COLOR
      export TERM=xterm
      code() { roamward status "$@" >/dev/null 2>&1 && say 0 || say $?; }
      terminal() { script --quiet --return --command "stty cols 80 rows 30; $1" /dev/null </dev/null; }
      code --exit-code
      go cafe
      start_agent
      tunnel_is corp connected
      code --exit-code
      roamward status corp --field state
      roamward status corp --field addresses
      roamward status corp --field nosuch 2>&1 | cut -d ';' -f 1 || true
      code corp --field nosuch
      roamward status >pipe.txt
      grep -E '^  (address|routes|names):' pipe.txt
      grep -c 'MTU 1420$' pipe.txt
      grep -q $'\\e' pipe.txt || say 'no colour in a pipe'
      terminal "$bin/roamward status" >terminal.txt
      grep -q $'\\e\\[32mconnected' terminal.txt && say colour
      sed 's/\\x1b\\[[0-9;]*m//g; s/\\r$//' terminal.txt | awk 'length > 80' | wc -l
      terminal "NO_COLOR=1 $bin/roamward status" | found $'\\e' || say 'no colour'
      # A watch is redrawn by events, and asks nothing at rest.
      terminal "$bin/roamward status --watch & echo \\$! >watch.pid; wait" >watch.txt &
      within 5 grep -q 'corp.*connected' watch.txt
      go home
      within 5 grep -q 'corp.*disconnected' watch.txt
      roamward status corp --watch --field state >fields.txt 2>fields.err &
      within 5 grep -q disconnected fields.txt
      # It waits for an agent that is restarted.
      stop_agent
      within 5 grep -q 'waiting for it to return' watch.txt
      within 5 grep -q 'waiting for it to return' fields.err
      : >watch.txt
      start_agent
      within 5 grep -q 'corp.*disconnected' watch.txt
      go cafe
      within 5 grep -q 'corp.*connected' watch.txt
      within 5 grep -qx connected fields.txt
      cat fields.err
      kill -INT $(cat watch.pid)
      within 5 eval '! kill -0 $(cat watch.pid)'
      within 5 grep -q $'\\e\\[?25h\\e\\[?1049l' watch.txt && say restored
      """)
    #expect(
      seen.lines == [
        "[8]", "[0]", "connected", "10.77.0.2/32", "roamward: --field: no field \"nosuch\"", "[2]", "  address: 10.77.0.2/32",
        "  routes:  10.77.0.0/16", "  names:   10.77.0.1 for all names", "1", "[no colour in a pipe]", "[colour]", "0", "[no colour]",
        "0", "roamward: the agent has stopped; waiting for it to return", "roamward: the agent has returned", "[restored]",
      ], "\(seen)")
  }

  @Test("metrics count what happened; a bug report has no key, no password and no place; nobody else can read it") func reports() throws {
    let scene = try Scene(["corp.yaml": corp, "lab.yaml": lab])
    let seen = try scene.run(
      """
      go cafe
      start_agent
      tunnel_is corp connected
      roamward metrics --output metrics.prom
      grep -E '^roamward_(up|tunnel_state.*corp.*"connected"|tunnel_changes_total.*corp.*"connected")' metrics.prom
      ls metrics.prom*
      roamward metrics | tail -n 1
      roamward metrics --socket nosuch.socket 2>/dev/null | sed -n 1,3p | tail -n 1 || true
      report() { roamward bugreport --policies $policies "${inputs[@]}" --state-dir $scene/state "$@"; }
      report --list | grep -c 'policies-corp.conf: .* 2 values left out'
      ls *.tar.gz 2>/dev/null || say 'nothing written'
      report --hide-places --output report.tar.gz | tail -n 1 | cut -d ' ' -f 2-3
      report --output report.tar.gz >/dev/null 2>&1 || say 'not twice'
      stat --format %a report.tar.gz
      mkdir out
      tar --extract --file report.tar.gz --directory out
      ls out/*/ | grep -cE '^(status.json|doctor.txt|ip-rule-4.txt|journal.txt)$'
      key=$(sed -n 's/^PrivateKey = //p' $policies/corp.conf)
      for secret in "$key" hunter2-Correct Cafe 203.0.113.10 198.51.100; do grep -rF -- "$secret" out || say absent; done
      """)
    #expect(
      seen.lines == [
        "roamward_up 1", "roamward_tunnel_state{tunnel=\"corp\",state=\"connected\"} 1",
        "roamward_tunnel_changes_total{tunnel=\"corp\",state=\"connected\"} 1", "metrics.prom", "# EOF", "roamward_up 0", "1",
        "[nothing written]", "26 files,", "[not twice]", "600", "4", "[absent]", "[absent]", "[absent]", "[absent]", "[absent]",
      ], "\(seen)")
  }

  private let lab = """
    version: 1
    tunnels:
      lab:
        enabled: false
        provider: { command: { up: [/bin/true, --password, hunter2-Correct], down: [/bin/true], interface: lab0 } }
        on-demand: { rules: [{ action: connect }] }

    """
}
