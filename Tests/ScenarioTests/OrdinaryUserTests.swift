import Testing

@Suite("An ordinary user beside secrets of root", .needsLab)
struct OrdinaryUserTests {
  @Test("every shipped policy, with keys and credentials for root alone, is checked, evaluated, explained and planned without an error")
  func shipped() throws {
    let scene = try Scene([:])
    let seen = try scene.play("OrdinaryUser/shipped")
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
    let seen = try scene.play("OrdinaryUser/doctor")
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
