import Testing

@Suite("Beside other VPNs", .needsLab)
struct OtherVPNTests {
  private let full = enforced.with(", enforce: true", "")

  private func theirGateway(_ scene: Scene, allowed: String) throws {
    try scene.play("OtherVPN/their-gateway", with: ["ALLOWED": allowed])
  }

  @Test("what wg-quick routes stays wg-quick's under a full tunnel, which says so; an enforced one takes it")
  func wgQuickSplit() throws {
    let scene = try leakScene(full)
    try theirGateway(scene, allowed: "10.88.0.0/16")
    let seen = try scene.play("OtherVPN/wg-quick-split")
    #expect(
      seen.lines == [
        "[theirs works]", "dev theirs", "dev corp", "other: another VPN (theirs) routes 10.88.0.0/16 in the main table; not touched",
        "route: corp: 10.88.0.0/16 dev theirs (made by hand, or by a DHCP client's script): goes outside, because another VPN of this machine routes it",
        "other: another VPN (theirs) routes 10.88.0.0/16 in the main table; not touched", "[untouched]",
      ])
  }

  @Test("wg-quick's tunnel for everything: its own packets stay outside of ours; come later, it comes before ours, and that is said")
  func wgQuickFull() throws {
    let scene = try leakScene(full)
    try theirGateway(scene, allowed: "0.0.0.0/0")
    let seen = try scene.play("OtherVPN/wg-quick-full")
    #expect(
      seen.lines == [
        "dev corp", "dev wlan0", "20900:\tfrom all fwmark 0xca6c lookup main proto 82",
        "other: wg-quick (theirs) routes everything (IPv4) by rule 32765; not touched", "0", "[untouched]", "dev theirs",
      ])
  }

  @Test("Tailscale's rules, table and marks, made by hand: read, told of, kept clear of and not touched")
  func tailscale() throws {
    let scene = try leakScene(full)
    let seen = try scene.play("OtherVPN/tailscale")
    #expect(
      seen.lines == [
        "21751:\tnot from all fwmark 0x52000000/0xff000000 lookup 21751 proto 82",
        "note: the rule \"priority 21750 lookup 254 protocol 0\" is not Roamward's, and uses a number from 21000 to 23000; its place is left to it",
        "other: Tailscale (tailscale0) routes 100.64.0.0/10 by rule 5270; not touched", "dev tailscale0", "dev corp", "dev wlan0",
        "[untouched]",
      ])
  }
}
