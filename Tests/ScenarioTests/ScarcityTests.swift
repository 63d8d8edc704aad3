import Testing

/// F42 and F43: what the agent does without. Each is told, held back where a kill switch says so, and mended as soon as there is enough again.
@Suite("Too little of everything", .needsLab)
struct ScarcityTests {
  private let guarded = corp.with("[10.77.0.0/16]", "[default]").with("class: enterprise", "kill-switch: \"on\"")
  private let words = """
    sed -i 's|^AllowedIPs.*|AllowedIPs = 0.0.0.0/0, ::/0|' $policies/corp.conf
    locked() { nft list table inet roamward >/dev/null; }

    """

  @Test("of a TUN device: said with its cure, held back, and the tunnel comes up when there is one") func tun() throws {
    let scene = try Scene(["corp.yaml": guarded])
    let seen = try scene.run(
      words + """
        go cafe
        remember
        ip link add probe type wireguard 2>/dev/null && { say kernel; exit 0; }
        # A folder's device is another's: the agent sees an empty one in its own mount namespace.
        mount --bind /dev/null /dev/net/tun
        start_agent
        within 10 eval '[[ $(field corp failure) == *"/dev/net/tun"* ]]'
        locked && say locked
        umount /dev/net/tun
        within 30 field_is corp state connected
        say back
        stop_agent
        as_before
        """, limit: 120)
    #expect(["[locked]\n[back]\n0", "[kernel]"].contains(seen), "\(seen)")
  }

  @Test("of a place to write in: a read-only /run costs the sockets there, is told, and nothing is open") func readOnlyRun() throws {
    let scene = try Scene(["corp.yaml": guarded.with("\"on\"", "always")])
    let seen = try scene.run(
      words + """
        go cafe
        start_agent
        tunnel_is corp connected
        kill_agent
        mkdir -p run
        mount -t tmpfs -o ro tmpfs run
        status=0
        "$bin/roamwardd" --policies "$policies" --state-dir "$scene/state" --socket "$scene/run/control.sock" "${inputs[@]}" 2>poor.log || status=$?
        say "$status $(grep -c 'Read-only file system' poor.log)"
        locked && say locked
        umount run
        start_agent
        tunnel_is corp connected
        say back
        """, limit: 120)
    #expect(seen.lines == ["[1 1]", "[locked]", "[back]"], "\(seen)")
  }

  @Test("of patience: a command under way that ignores SIGTERM does not keep the agent from stopping, and leaves nothing")
  func deafCommand() throws {
    let scene = try Scene([:])
    try scene.write(
      "vpn",
      """
      #!/usr/bin/env bash
      cd '\(scene.folder)'
      echo $1 >>calls
      case $1 in
        up)
          trap '' TERM
          ip tuntap add vpn0 mode tun; ip link set vpn0 up; ip address add 10.99.0.2/32 dev vpn0
          sleep 300 & sleep 300; sleep 300 ;;
        down) ip link del vpn0 2>/dev/null || true ;;
      esac

      """)
    try scene.write(
      "policies/vpn.yaml",
      """
      version: 1
      tunnels:
        vpn:
          provider:
            command: { up: ["\(scene.folder)/vpn", up], down: ["\(scene.folder)/vpn", down], interface: vpn0, timeout: 5m }
          on-demand: { rules: [{ action: connect }] }
          routes: { include: [10.99.0.0/16] }

      """)
    let seen = try scene.run(
      """
      chmod 755 vpn; touch calls
      go cafe
      remember
      start_agent
      within 5 eval 'ip -br address show vpn0 | grep -q 10.99'
      SECONDS=0
      stop_agent
      # It has two seconds to end by itself; without that it would be five minutes, or the twenty seconds that a stop may take at most.
      ((SECONDS < 18)) && say soon
      cat calls
      as_before
      """, limit: 90)
    #expect(seen.lines == ["0", "[soon]", "up", "down"], "\(seen)")
  }
}
