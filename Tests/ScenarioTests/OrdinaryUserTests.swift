import Testing

/// Runs a command of `roamward` as an ordinary user, with the installed folders.
private let asUser = """
  user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  as_user() { "${user[@]}" "$bin/roamward" "$@" </dev/null; }
  # The lines of a command on standard error, and its status where that is not 0.
  try() { as_user "$@" 2>err >out || say "$1 $?"; sed 's/^/! /' err; }

  """

@Suite("An ordinary user beside secrets of root", .needsLab)
struct OrdinaryUserTests {
  @Test("every shipped policy, with keys and credentials for root alone, is checked, evaluated, explained and planned without an error")
  func shipped() throws {
    let scene = try Scene([:])
    let seen = try scene.run(
      asInstalled + asUser + """
        shipped=${lab%/examples/walk/lab}/policies
        cp "$shipped"/*.yaml "$shipped"/*.conf "$shipped"/*.ssids local/
        chmod 644 local/* && chmod 600 local/*.conf
        mkdir -m 700 local/keys && echo secret >local/keys/password && chmod 600 local/keys/password
        printf 'name: sample\\nabout: x\\nprogram: /bin/true\\nuser: nobody\\noptions: { type: object }\\n' >local/sample.manifest
        cat >local/90-office.yaml <<'END'
        version: 1
        tunnels:
          office-by-program:
            provider:
              installed: { name: ./sample.manifest, credentials: { password: keys/password } }
            on-demand: { rules: [ { action: ignore } ] }
        END
        go cafe
        note='cannot be looked at as this user: run with sudo'
        try check | grep -v '^! .*warning: \\|^!   ' | sed "s|$PWD/||g"
        grep -c ' 0 errors, ' out
        for command in evaluate list 'explain office' plan; do
          try $command
          say "$command $(grep -c "$note" out) $(grep -c 'error\\|denied\\|permitted' out)"
        done
        try dns www.corp.example
        # A policy of root's alone may hold what others name.
        chmod 600 /etc/roamward/policies/10-trusted-home.yaml
        try evaluate
        try check | grep -v '^! .*warning: \\|^!   '
        try list
        grep -c '10-trusted-home.yaml *cannot be looked at' out
        """)
    let folder = "/etc/roamward/policies"
    let cannot = "cannot be looked at as this user: run with sudo"
    let files = "\(folder)/corp.conf, \(folder)/private.conf"
    let unread = "\(files) and \(folder)/keys/password \(cannot)"
    let refused = "! roamward: \(folder)/10-trusted-home.yaml, \(unread)"
    #expect(
      seen.lines == [
        "! note: \(unread)", "1", "! note: \(unread)", "[evaluate 0 0]", "[list 1 0]", "! note: \(unread)", "[explain office 0 0]",
        "[plan 1 0]", "[dns 1]", "! roamward: \(folder)/corp.conf \(cannot)", "[evaluate 1]", refused,
        "[check 2]", "! note: \(folder)/10-trusted-home.yaml, \(unread)", "1",
      ], "\(seen)")
  }

  @Test("doctor and plan say what is true, without lines of libraries, and name once what needs root; beside an agent and without one")
  func doctor() throws {
    let scene = try Scene([:])
    let seen = try scene.run(
      asInstalled + asUser + """
        "$lab" config >local/corp.conf && chmod 600 local/corp.conf
        cat >local/corp.yaml <<'END'
        version: 1
        tunnels:
          corp:
            provider: { wireguard: { config: corp.conf } }
            kill-switch: "on"
            on-demand: { rules: [ { action: connect } ] }
          tool:
            enabled: true
            provider: { command: { up: [sysctl, --version], down: [/bin/true] } }
            on-demand: { rules: [ { action: ignore } ] }
        END
        go cafe
        export PATH=/usr/bin:/bin
        visit() { try doctor --verbose "${inputs[@]}"; grep -v '^passed\\|^not run\\|^ ' out | sed 's/: no agent answers.*//'; }
        visit
        try plan "${inputs[@]}"
        grep -v '^note: DNS' out
        start_agent
        tunnel_is corp connected
        visit
        grep -c '^not run' out
        try plan "${inputs[@]}"
        grep -v '^note: DNS' out
        # Root, who may look at everything, has nothing to add, and knows every file of the agent.
        roamward state --state-dir state | grep 'unknown to this version' || true
        roamward plan "${inputs[@]}" --state-dir state
        stop_agent
        """)
    let unread = "/etc/roamward/policies/corp.conf cannot be looked at as this user: run with sudo"
    let checks = "probe-helper, nftables, mark, ipv6, rp-filter, same-tunnel, resolv-conf, containers, other-firewall, own-servers"
    let hint = "hint     \(unread); 12 checks need root: \(checks), browsers and not-acted-on  [root]"
    let parts = "the steps of corp, DNS and the firewall are not in this plan"
    let plan = "note: \(unread.replacing(" cannot", with: " and the firewall cannot")); \(parts)"
    // The lab's machine may lack the engine's own user.
    #expect(
      seen.lines.filter { !$0.contains("[engine-user]") && !$0.contains(" checks passed, ") } == [
        "[doctor 1]", "problem  the agent is not running, so no policy is applied", hint, plan,
        "risk     the agent is not started at boot  [unit]", hint, "12", plan, "nothing to do: the system is in the desired state", "0",
      ], "\(seen)")
  }
}
