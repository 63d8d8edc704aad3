import Testing

/// A host without systemd-resolved: resolv.conf leads to our own name server, which gives each name to the servers that it belongs to.
@Suite("Split DNS by the plain file", .needsLab)
struct SplitNamesTests {
  /// Plays a scene in the café, with both tunnels up and their names answered.
  private func connected(
    _ scene: String, with values: KeyValuePairs<String, any CustomStringConvertible> = [:]
  ) throws -> [String] {
    try splitNamesScene(words: ["names.bash", "keepers.bash"]).play(scene, with: values).lines
  }

  @Test("each of two tunnels answers its own names, the network all others; one that is down has its names refused")
  func shares() throws {
    let seen = try connected("SplitNames/shares")
    #expect(
      seen.suffix(6) == [
        "[no drift]", "[mobile]", "[wiki.corp.example=SERVFAIL box.lab.example=10.88.0.77 www.public.example=203.0.113.207]", "[again]",
        "[outside: 0 0 0 0]", "[as before]",
      ], "\(seen)")
    #expect(seen.contains("nameserver 127.82.0.53"), "\(seen)")
  }

  @Test("a name server that is killed again and again is there again each time, and names are answered")
  func killed() throws {
    let seen = try connected("SplitNames/killed")
    #expect(seen == ["[answers again]"])
  }

  @Test(
    "who asks two thousand names a second of a server that is silent keeps no other program from its answers",
    arguments: ["one program, one domain", "a port and a domain for each question"])
  func flood(_ kind: String) throws {
    let seen = try connected("SplitNames/flood", with: ["KIND": kind])
    #expect(seen == ["[30 of 30]"], "\(kind)")
  }

  @Test("an address inside a tunnel that the network's server gives is no answer, which is told, and can be allowed")
  func rebinding() throws {
    let seen = try connected("SplitNames/rebinding")
    let cure = "if the name is to have such addresses, `rebind-allowed: [evil.example]` in `dns:` of corp"
    let what = "N answers of the network with addresses inside corp, last of www.evil.example (10.77.0.9) (DNS rebinding)"
    #expect(
      seen == [
        "[SERVFAIL]", "DNS withheld: \(what); cure: \(cure)", #"["corp",true,"www.evil.example","10.77.0.9","evil.example"]"#,
        "the agent's name server withheld \(what)",
        "answers with addresses in 10.77.0.0/16, 10.88.0.0/16, inside tunnels, are withheld (DNS rebinding); "
          + "`rebind-allowed` in `dns:` permits them for a domain",
        "1", "[[] 1 0]", "answers may have addresses inside tunnels (`rebind-allowed: evil.example`)",
      ])
  }
}
