import Testing

/// The company's tunnel, which takes everything and so cannot be armed: look-ups of its names start it. Names of `lab.example` start it if
/// the network's servers do not know them.
let watchedCorp = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      on-demand:
        timing: { release-delay: 0s, idle: 20s }
        rules:
          - { match: { interface-name: "eth*" }, action: disconnect }
          - name: names
            action: evaluate-connection
            connections:
              - { domains: [public.corp.example], action: never-connect }
              - { domains: [corp.example], action: connect-always }
              - { domains: [lab.example], action: connect-if-needed }
      routes: { include: [default] }
      dns: { servers: [10.77.0.1], match-domains: [corp.example, lab.example] }

  """

@Suite("Look-ups that start a tunnel, on real links", .needsLab)
struct LookupScenes {
  @Test("the first look-up of its name waits and is answered inside, no server outside sees it, and idleness ends what it started")
  func life() throws {
    let scene = try Scene(["corp.yaml": watchedCorp], words: ["names.bash"])
    let seen = try scene.play("Lookup/life")
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[disconnected, packets 0]", "[198.51.100.77 198.51.100.77 198.51.100.77 disconnected]", "[10.77.0.77]",
        "[sent by roamward-names (127.82.0.53) to 10.77.0.1 of corp; answered by roamward-names (127.82.0.53), which asks 10.77.0.1 (corp): 10.77.0.77]",
        "[10.77.0.77]", "[mobile 203.0.113.207]", "[ready again]", "[10.77.0.77]", "[the same link]", "[outside: 0 0 0, exception: 0]",
        "[gone]",
      ], "\(seen.lines)")
    #expect(seen.lines.contains("corp wiki.corp.example user 0"), "\(seen.lines)")
    #expect(seen.lines.contains { $0 == "a look-up of wiki.corp.example by user 0" }, "\(seen.lines)")
  }

  @Test("where the network gives every name the same address, a name that is asked there first starts the tunnel all the same")
  func redirected() throws {
    let scene = try Scene(["corp.yaml": watchedCorp], words: ["names.bash"])
    let seen = try scene.play("Lookup/redirected")
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[198.51.100.77 disconnected]", "[10.77.0.77]", "[asked there, with a random name]",
      ], "\(seen.lines)")
  }

  @Test("with a gateway that is dead the question fails within five seconds, and the next look-up after it is back is answered")
  func dead() throws {
    let scene = try Scene(["corp.yaml": watchedCorp], words: ["names.bash"])
    let seen = try scene.play("Lookup/dead")
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[SERVFAIL 1]", "[SERVFAIL]", "[answered]", "[outside: 0]"], "\(seen.lines)")
  }

  @Test("`roamward dns --ask` waits for a tunnel as programs do, is answered from the cache, and says what is captured") func asked() throws
  {
    let policy = watchedCorp.with("lab.example] }\n", "lab.example], names: capture }\n")
    let seen = try Scene(["corp.yaml": policy], words: ["names.bash", "clients.bash", "capture.bash"]).play("Lookup/asked")
    let by = "answered by roamward-names (127.82.0.53), which asks"
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[\(by) 10.77.0.1 (corp): 10.77.0.1, waited 1, connected]",
        "[programs that ask other servers: the same, by roamward-names (`names: capture`)]",
        "[\(by) 10.77.0.1 (corp): 10.77.0.1, from the cache 1]", "[\(by) 198.51.100.1: 198.51.100.77]",
        "[programs that ask other servers: sent by roamward-names to the server that they ask]", "[outside 0]",
      ], "\(seen.lines)")
  }
}
