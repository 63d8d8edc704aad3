import Testing

@Suite("A doctor's visit", .needsLab)
struct DoctorTests {
  @Test("finds nothing wrong in the lab, and then what is done to it: strict return paths, a program that is gone, a bad policy, no agent")
  func visits() throws {
    let scene = try Scene()
    try scene.write(
      "vpn.yaml",
      "version: 1\ntunnels:\n  vpn:\n    provider: { command: { up: [/nonexistent/vpn, up], down: [/nonexistent/vpn, down] } }\n    on-demand: { rules: [{ action: ignore }] }\n"
    )
    let seen = try scene.play("Doctor/visits")
    // The lab's machine may lack the engine's own user.
    let lines = seen.lines.map {
      $0.replacing(" engine-user", with: "").replacing("engine-user ", with: "").replacing("engine-user", with: "")
    }
    #expect(
      lines.filter { $0.hasPrefix("[") } == [
        "[]", "[rp-filter]", "[other-firewall]", "[programs]", "[status 1]", "[agent]", "[policies agent]",
      ], "\(lines)")
    #expect(lines.contains { $0.contains("net.ipv4.conf.wlan0.rp_filter=2") })
    #expect(lines.contains("Mullvad's kill switch is on"))
    #expect(
      lines.contains { $0.hasPrefix("1 problem") && $0.hasSuffix("checks passed") && $0.contains("; ") && $0.contains(" of ") }, "\(lines)")
    #expect(lines.contains("problem  vpn cannot be brought up: /nonexistent/vpn not found  [programs]"))
  }
}
