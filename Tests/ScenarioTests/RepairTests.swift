import Testing

@Suite("What others break", .needsLab)
struct RepairTests {
  @Test(
    "is repaired within a second",
    arguments: [
      "ip rule del priority 21000",
      "ip route flush table 21000",
      "ip -4 address flush dev corp",
      "ip link set corp down",
      "ip link set corp mtu 1300",
      "ip route add 10.77.3.0/24 dev lo table 21000 proto 82",
    ])
  func repaired(_ breakage: String) throws {
    let scene = try Scene()
    let seen = try scene.play("Repair/repaired", with: ["BREAKAGE": breakage])
    #expect(seen == "[connected]")
  }

  @Test(
    "is built anew when the link, or the program that runs it, is gone", arguments: ["ip link del corp", "kill -KILL $(engine_pid corp)"])
  func rebuilt(_ breakage: String) throws {
    let scene = try Scene()
    let seen = try scene.play("Repair/rebuilt", with: ["BREAKAGE": breakage])
    #expect(seen.lines.first == "[built]")
  }

  @Test("resolv.conf written by somebody while the tunnel is up is the underlay's: ours comes back over it, and theirs at the end")
  func resolvConf() throws {
    let scene = try Scene()
    let seen = try scene.play("Repair/resolv-conf")
    #expect(seen.lines == ["search corp.example new.example", #"[["198.51.100.99"],["new.example"]]"#, "0", "[theirs]"])
  }

  @Test(
    "under a kill switch it is the firewall that comes back first, and what others have made stays as it is to the byte",
    arguments: [
      "nft flush ruleset; nft -f theirs.nft", "nft delete table inet roamward", "nft flush table inet roamward",
      "nft delete table arp roamward",
      "ip rule del priority 21750", "ip -6 rule flush protocol 82", "ip route flush table 21750", "ip address flush dev corp",
      "ip link set corp down",
      "ip route replace unreachable default table 21750 proto 82", "ip link del corp",
    ])
  func guardedRepair(_ breakage: String) throws {
    let scene = try leakScene(guarded.with("include: [default]", "include: [default], enforce: true"))
    let seen = try scene.play("Repair/guarded", with: ["BREAKAGE": breakage])
    #expect(seen.lines.suffix(2) == ["[theirs]", "[10.77.0.2]"])
  }

  @Test(
    "when everything is gone at once, the firewall is put back before any way is", .enabled(if: isDebugBuild, "a release tells no order"))
  func order() throws {
    let scene = try leakScene(guarded)
    let seen = try scene.play("Repair/order")
    #expect(seen.lines == ["nft table", "1", "ip -6", "connected"])
  }

  @Test("also where somebody keeps taking the firewall away: that never waits longer than a second, and is told of")
  func firewallFights() throws {
    let scene = try leakScene(guarded)
    let seen = try scene.play("Repair/firewall-fights")
    #expect(seen.lines == ["[told]", "[again and again]", "connected"])
  }

  @Test("is left to itself for ever longer when somebody keeps breaking it, and status and journal say so; then it is put right again")
  func fights() throws {
    let scene = try Scene()
    let seen = try scene.play("Repair/fights")
    #expect(seen.lines == ["[slowly]", "connected", "[in the journal]"])
  }
}
