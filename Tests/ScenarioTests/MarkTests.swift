import Glibc
import Testing

@Suite(
  "The mark of a command's control group", .needsLab,
  .enabled(if: access("/usr/sbin/openvpn", X_OK) == 0, "openvpn is not installed (scripts/setup --vm)"),
  .marksSockets)
struct MarkTests {
  /// An OpenVPN tunnel for everything.
  private func scene(killSwitch: String) throws -> Scene {
    let scene = try Scene([:])
    try scene.run(openVPN)
    try scene.run(
      """
      umask 077
      sed -i 's/^        status:/        interface: tun0\\n&/' "$policies/office.yaml"
      printf '    routes: { include: [default] }\\n    kill-switch: "%s"\\n' '\(killSwitch)' >>"$policies/office.yaml"
      roamward check "$policies"
      """)
    return scene
  }

  @Test("lets a full tunnel by OpenVPN carry traffic, tells what it uses, and leaves nothing")
  func fullTunnel() throws {
    let seen = try scene(killSwitch: "off").run(
      """
      reached() { busybox ping -c 1 -W 1 10.99.0.1 >/dev/null; }
      go cafe
      remember
      start_agent
      roamward up office >/dev/null
      within 20 field_is office state connected
      within 10 reached
      lost=$(ping -c 20 -i 0.05 -W 20 10.99.0.1 | grep -o '[0-9]*% packet loss')
      say "$lost $(way_to 203.0.113.80 | cut -c 1-7)"
      [[ $(ss -Huane 2>/dev/null) == *fwmark:0x52000000* ]] && say marked
      # The command that asks for its state may just run too.
      is_counted() { [[ $(field office usage.processes) == 1 && $(field office 'usage."memory-bytes"') -gt 1000000 ]]; }
      is_told() { roamward status | found 'uses: .* of memory, .* of processor time, 1 process$'; }
      within 5 is_counted && say counted
      within 5 is_told && say told
      "$bin/roamward" state --state-dir "$scene/state" --json | jq -r '[.objects[] | select(.kind == "control-group") | .tunnel] | @csv'
      roamward down office >/dev/null
      within 10 field_is office state disconnected
      # What has ended is listed until the first process of the lab has taken note of it.
      server=$(on gateway pgrep -f server.log)
      within 5 eval '[[ $(pgrep openvpn) == "$server" ]]' || say left
      stop_agent
      as_before
      """)
    #expect(seen.lines == ["[0% packet loss dev tun]", "[marked]", "[counted]", "[told]", ",\"office\"", "0"])
  }

  @Test("lets a kill switch hold for OpenVPN: nothing else leaves, at the start, on another network, after a crash of both")
  func killSwitch() throws {
    let seen = try scene(killSwitch: "always").run(
      """
      reached() { busybox ping -c 1 -W 1 10.99.0.1 >/dev/null; }
      go cafe
      watch_cafe
      within 5 watch_sees && say detected
      start_agent
      babble & babbler=$!
      trap 'kill $babbler' EXIT
      within 5 eval 'nft list table inet roamward >/dev/null'
      # What was sent before may still be on its way.
      sleep 0.2; before=$(clear)
      sleep 0.5
      roamward up office >/dev/null
      within 20 field_is office state connected
      within 10 reached
      say "$(($(clear) - before)) outside, up"
      [[ $(nft list table inet roamward) == *'socket cgroupv2'* ]] && say "by group"
      setpriv --reuid 65534 --clear-groups --inh-caps +net_raw --ambient-caps +net_raw /usr/bin/python3 -c '
      import socket
      s = socket.socket(socket.AF_INET, socket.SOCK_STREAM); s.setsockopt(socket.SOL_SOCKET, 36, 0x52000000); s.settimeout(1)
      try: s.connect(("203.0.113.80", 80)); print("[it passes]")
      except OSError: print("[a mark alone does not pass]")'
      kill_agent
      within 5 reached && say "reached without an agent"
      pkill -KILL --pidfile /run/roamward-openvpn-office.pid
      sleep 1
      start_agent
      within 20 field_is office state connected
      within 10 reached
      say "$(($(clear) - before)) outside, again"
      go mobile
      within 20 field_is office state connected
      within 20 reached && say roamed
      kill $babbler
      trap - EXIT
      stop_agent
      say "$(($(clear) - before)) outside, at the end"
      """)
    #expect(
      seen.lines == [
        "[detected]", "[0 outside, up]", "[by group]", "[a mark alone does not pass]", "[reached without an agent]", "[0 outside, again]",
        "[roamed]", "0", "[0 outside, at the end]",
      ])
  }
}

@Suite("The programs of a command", .needsLab, .marksSockets)
struct ProgramGroupTests {
  /// `up` leaves programs in sessions of their own, which no `down` ends.
  private func scene() throws -> Scene {
    let scene = try Scene([:])
    var tunnel = CommandTunnel()
    tunnel.up = CommandTunnel.makesLink + "; setsid sleep 600 & setsid sh -c 'trap \"\" TERM; sleep 601; sleep 602' & sleep 0.2"
    try tunnel.write(in: scene)
    return scene
  }

  /// They run a moment after `up` has ended, and what has ended is listed until the first process of the lab has taken note of it.
  private static let words = """
    both_run() { [[ $(pgrep -c 'sleep') == 2 ]]; }
    gone() { ! pgrep sleep >/dev/null; }

    """

  @Test("are ended as a group, though they have left their process group and ignore SIGTERM")
  func ended() throws {
    let seen = try scene().run(
      Self.words + """
        go home
        remember
        start_agent
        go cafe
        tunnel_is vpn connected
        within 5 both_run
        say "$(pgrep -c 'sleep')"
        go home
        within 10 field_is vpn state disconnected
        within 5 gone
        say "$(pgrep -c 'sleep')"
        stop_agent
        as_before
        [[ ! -e state/provider-groups ]] && say clean
        """)
    #expect(seen.lines == ["[2]", "[0]", "0", "[clean]"])
  }

  @Test("that a killed agent has left are found by the next one, and by cleanup")
  func leftOver() throws {
    let seen = try scene().run(
      Self.words + """
        go cafe
        remember
        start_agent
        tunnel_is vpn connected
        within 5 both_run
        kill_agent
        say "$(pgrep -c 'sleep')"
        "$bin/roamward" cleanup --dry-run --state-dir "$scene/state" | grep -o -e 'kill the processes of vpn' -e 'rmdir .*roamward-' | sed 's| /.*||'
        cleanup_agent
        within 5 gone
        say "$(pgrep -c 'sleep')"
        as_before
        [[ ! -e state/provider-groups ]] && say clean
        start_agent
        tunnel_is vpn connected
        kill_agent
        rm "$policies/vpn.yaml"
        start_agent
        within 5 as_before
        within 5 gone
        say "$(pgrep -c 'sleep')"
        stop_agent
        """)
    #expect(seen.lines == ["[2]", "kill the processes of vpn", "rmdir", "[0]", "[clean]", "[0]", "0"])
  }
}
