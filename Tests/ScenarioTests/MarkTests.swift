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
    try scene.play("openvpn-office")
    try scene.play("Mark/set-up", with: ["KILL_SWITCH": killSwitch])
    return scene
  }

  @Test("lets a full tunnel by OpenVPN carry traffic, tells what it uses, and leaves nothing")
  func fullTunnel() throws {
    let seen = try scene(killSwitch: "off").play("Mark/full-tunnel")
    #expect(seen.lines == ["[0% packet loss dev tun]", "[marked]", "[counted]", "[told]", ",\"office\"", "0"])
  }

  @Test("lets a kill switch hold for OpenVPN: nothing else leaves, at the start, on another network, after a crash of both")
  func killSwitch() throws {
    let seen = try scene(killSwitch: "always").play("Mark/kill-switch")
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

  @Test("are ended as a group, though they have left their process group and ignore SIGTERM")
  func ended() throws {
    let seen = try scene().play("Mark/ended")
    #expect(seen.lines == ["[2]", "[0]", "0", "[clean]"])
  }

  @Test("that a killed agent has left are found by the next one, and by cleanup")
  func leftOver() throws {
    let seen = try scene().play("Mark/left-over")
    #expect(seen.lines == ["[2]", "kill the processes of vpn", "rmdir", "[0]", "[clean]", "[0]", "0"])
  }
}
