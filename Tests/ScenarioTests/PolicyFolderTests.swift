import Testing

@Suite("The policy folder", .needsLab)
struct PolicyFolderTests {
  @Test("acts within a second on a file dropped in, replaced, masked, linked to nothing, and removed")
  func takesEffect() throws {
    let scene = try Scene([:])
    try scene.write("corp.yaml", corp)
    try scene.write("off.yaml", corp.with("action: connect", "action: disconnect"))
    let seen = try scene.play("PolicyFolder/takes-effect")
    #expect(
      seen.lines == ["[0]", "[dropped]", "[replaced]", "[rewritten]", "[masked]", "[overridden]", "[linked]", "[unmasked]", "[removed]"])
  }

  @Test("acts on a folder that is made later")
  func folderMadeLater() throws {
    let scene = try Scene()
    let seen = try scene.play("PolicyFolder/folder-made-later")
    #expect(seen.lines == ["[0]", "[moved in]", "[removed]", "[made anew]"])
  }

  @Test("does not act on a file that is still being written")
  func halfWritten() throws {
    // Its first half is a good policy of its own, which would take the tunnel down.
    let scene = try Scene()
    try scene.write(
      "half.yaml", "version: 1\ntunnels:\n  corp:\n    provider: { wireguard: { config: corp.conf } }\n    on-demand:\n      rules:\n")
    let seen = try scene.play("PolicyFolder/half-written")
    #expect(seen.lines == ["[connected connect]", "[loaded 0 times]", "[connected, rule 2]", "[the same link]"])
  }

  @Test("keeps the last good set when a file is wrong, and says first where, with line and column")
  func badFile() throws {
    let scene = try Scene()
    try scene.write(
      "bad.yaml",
      "version: 1\ntunnels:\n  lab:\n    provider: { command: { up: [a], down: [b] } }\n    on-demand: { rules: [{ action: conect }] }\n")
    let seen = try scene.play("PolicyFolder/bad-file")
    let lines = seen.lines
    #expect(lines.first == "policy: 1 error; the last known good stays active")
    #expect(lines.dropFirst().first?.contains("20-bad.yaml:5:36: error: ") == true)
    #expect(lines.suffix(2) == ["[connected, 1 tunnel]", "[the last good set still decides]"])
  }

  @Test("leaves a tunnel alone when another file changes, and when its own changes only in words")
  func unrelatedTunnel() throws {
    let scene = try Scene()
    let seen = try scene.play("PolicyFolder/unrelated-tunnel")
    #expect(seen.lines == ["[lab follows]", "[corp is as it was]"])
  }

  @Test("follows the files that policies name: WireGuard's configuration and a list of SSIDs")
  func dependencies() throws {
    let scene = try Scene(["corp.yaml": corp.with("ssid: Cafe", "not: { ssid-file: trusted.list }, interface: wifi")])
    try scene.write("policies/trusted.list", "# nobody's\nHome\n")
    let seen = try scene.play("PolicyFolder/dependencies")
    #expect(seen.lines == ["[another port]", "[trusted]", "[not any more]"])
  }

  @Test("follows a list of prefixes: a line more, a wrong line, a line less; one that `apply` cannot send is refused with the cure")
  func prefixFile() throws {
    let scene = try Scene(["corp.yaml": corp.with("include: [10.77.0.0/16]", "include-file: corp.prefixes")])
    try scene.write("policies/corp.prefixes", "10.77.0.0/16\n")
    let seen = try scene.play("PolicyFolder/prefix-file")
    #expect(
      seen.lines == [
        "[routed]", "[one more]", "[a wrong line changes nothing]", "[one less]", "[60000 are too long]", "[300000 are too long]",
        "[as before]",
      ])
  }
}
