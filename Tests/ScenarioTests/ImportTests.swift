import Testing

@Suite("An import by an ordinary user", .needsLab)
struct ImportTests {
  @Test("makes keys of what PostUp does, and turns off what would be another tunnel") func hooks() throws {
    let seen = try Scene([:]).play("Import/hooks")
    #expect(
      seen.lines == [
        "changed [interface].PostUp: dns: { servers: [10.77.0.1], match-domains: [lan.example] }",
        "changed [interface].PostUp: kill-switch: on, which blocks from when the tunnel is wanted; the local network is blocked as well (routes: lan: block)",
        "dropped [interface].PreDown: the agent undoes what it set", "1 tunnel: 6 taken, 1 changed, 0 dropped",
        "1 tunnel: 7 taken, 1 changed, 1 dropped", "1 tunnel, 1 of them disabled: 6 taken, 0 changed, 2 dropped", "2",
        "home.yaml:dns:{servers:[10.77.0.1],search-domains:[],match-domains:[lan.example]}", "--", "vpn.yaml:routes:{lan:block}",
        "vpn.yaml:kill-switch:on", "--", "part.yaml:enabled:false", "0 errors",
        // The files as they were; their copies have no programs.
        "[home.conf part.conf vpn.conf]",
      ])
  }

  @Test("at a terminal shows its report, and writes to the current folder only after a yes") func asked() throws {
    let seen = try Scene([:]).play("Import/asked")
    let question = ["taken [interface].PrivateKey", "Write it to .? [Y/n"]
    func shown(_ question: [String]) -> [String] { question.map { $0.replacing("[Y/n", with: "[Y/n]") } }
    #expect(
      seen.lines == ["[status 1]", "[]"] + shown(question) + ["nothing was written", "[status 1]", "[]"] + shown(question)
        + ["nothing was written", "[./hub.yaml]"] + shown(question) + [
          "wrote ./hub.yaml", "[./out/hub.yaml]", "taken [interface].PrivateKey",
        ]
        + ["wrote ./out/hub.conf (0600)", "wrote ./out/hub.yaml", "0"], "\(seen)")
  }

  @Test("says that a split tunnel's file has all names asked of its servers, with the lines for either meaning") func allNames() throws {
    let seen = try Scene([:]).play("Import/all-names")
    #expect(
      seen.lines == [
        "note: warning: all names are asked of 10.77.0.1 while `hub` is up, though it takes a part of the addresses only; for names of"
          + " corp.example alone, add `dns: { servers: [10.77.0.1], match-domains: [corp.example] }`; for all names, add `dns: { servers:"
          + " [10.77.0.1], search-domains: [corp.example] }`", "0",
      ], "\(seen)")
  }

  @Test("reports what `check` finds, and a next command that can be pasted") func findings() throws {
    let seen = try Scene([:]).play("Import/findings")
    let unrouted =
      "the name server 198.51.100.53 of `hub` is not reached through it: no included prefix holds it; add 198.51.100.53/32 to `routes:"
      + " include:`, or correct the server"
    #expect(
      seen.lines == [
        "docker0.conf: note: warning: the link of `docker0` would be called `docker0`, as a bridge of containers or virtual machines is;"
          + " call the tunnel something else; its link is named after it",
        "relay.conf: note: warning: `relay`: its endpoint 127.0.0.1:51899 is a relay on this machine, whose own packets go into the tunnel"
          + " that they carry; add the address of the relay's server to `routes: exclude:`, or start the relay in `up` of the provider"
          + " `command`", "hub.conf: note: warning: \(unrouted)",
        "1", unrouted,
        "rule 1 of `hub` disconnects on weak evidence alone: `ssid` (network `trusted`), which anyone's network can show; add"
          + " `gateway-mac:`, or a `probe:` with a `pin:`, to what has to hold", "<apply><./Meine Firma – Zürich (2)/hub.yaml>",
        "<apply><./it's/hub.yaml>",
      ])
  }
}
