import Testing

/// The addresses of some names go through the tunnel, and nothing else.
private let byName = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      on-demand: { rules: [{ action: connect }] }
      routes: { include-domains: ["*.shop.example"] }

  """

/// Everything goes through the tunnel but the addresses of some names, with a kill switch.
private let allButNames = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      on-demand: { rules: [{ action: connect }] }
      routes: { include: [default], exclude-domains: [video.example] }
      dns: { servers: [10.77.0.1] }
      kill-switch: "on"

  """

@Suite("Routes by name, on real links", .needsLab)
struct ByNameScenes {
  @Test("the first packet to each address of an included name goes through the tunnel, and nothing is left after it") func firstPackets()
    throws
  {
    let seen = try Scene(["corp.yaml": byName], words: ["by-name.bash"]).play("ByName/first-packets")
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == [
        "[answered=10 empty=0 shop outside=10 inside=0 video outside=0 inside=0]",
        "[answered=400 empty=0 shop outside=0 inside=400 video outside=0 inside=0]",
        "[again answered=400 empty=0 shop outside=0 inside=400 video outside=0 inside=0]",
        "[aliases answered=40 empty=0 shop outside=0 inside=40 video outside=0 inside=0]",
        "[others answered=10 empty=0 shop outside=0 inside=0 video outside=10 inside=0]",
        "[routes 440]", "[no drift]", "[left 0 0]", "[down answered=4 empty=0 shop outside=4 inside=0 video outside=0 inside=0]",
        "[back 440]", "[as before 0]",
      ], "\(seen.lines)")
  }

  @Test("the first packet to each address of an excluded name stays outside a full tunnel with a kill switch") func excluded() throws {
    let seen = try Scene(["corp.yaml": allButNames], words: ["by-name.bash"]).play("ByName/excluded")
    #expect(
      seen.lines == [
        "[answered=40 empty=0 shop outside=0 inside=40 video outside=0 inside=0]",
        "[answered=40 empty=0 shop outside=0 inside=0 video outside=40 inside=0]",
        "  by name: not video.example (40 addresses in use)",
        "  pass  routes: outside of every tunnel, by a route from an answer for a name",
        "[left 0]",
      ], "\(seen.lines)")
  }

  @Test("while the tunnel is down, its kill switch blocks known addresses of included names and refuses the names") func blocked() throws {
    let policy = byName.with("include-domains: [\"*.shop.example\"] }", "include-domains: [\"*.shop.example\"] }\n    kill-switch: always")
    let seen = try Scene(["corp.yaml": policy], words: ["by-name.bash"]).play("ByName/blocked")
    #expect(
      seen.lines == [
        "[answered=10 empty=0 shop outside=0 inside=10 video outside=0 inside=0]", "[answered=0 empty=10 SERVFAIL]",
        "[shop outside=0 inside=0 video outside=0 inside=0]", "[answered=10 empty=0 shop outside=0 inside=10 video outside=0 inside=0]",
      ], "\(seen.lines)")
  }

  @Test("no packet to an included name leaves outside while the name server is killed again and again") func killed() throws {
    let seen = try Scene(["corp.yaml": byName], words: ["by-name.bash"]).play("ByName/killed")
    #expect(
      seen.lines == [
        "[answered=10 empty=0 shop outside=0 inside=10 video outside=0 inside=0]", "[shop outside=0 inside=some video outside=0 inside=0]",
        "[killed 0]", "[shop outside=0 inside=some video outside=0 inside=0]", "[routes stay 1]", "[cleaned 0]",
      ], "\(seen.lines)")
  }

  @Test("a restart of the agent keeps the routes: no packet to an included name leaves outside meanwhile") func restarted() throws {
    let seen = try Scene(["corp.yaml": byName], words: ["unit.bash", "by-name.bash"]).play("ByName/restarted")
    #expect(
      seen.lines == [
        "[answered=20 empty=0 shop outside=0 inside=20 video outside=0 inside=0]", "[shop outside=0 inside=some video outside=0 inside=0]",
        "[answered=10 empty=0 shop outside=0 inside=10 video outside=0 inside=0]", "[routes 30]", "0", "[left 0]",
      ], "\(seen.lines)")
  }

  @Test("an address that another name has too is told, and loopback, gateways and neighbours are never routed") func shown() throws {
    let seen = try Scene(["corp.yaml": byName], words: ["by-name.bash"]).play("ByName/shown")
    #expect(
      seen.lines == [
        "[198.18.0.1 198.18.0.1]", "by name: shop.example (1 address in use)",
        "shared:  198.18.0.1 of n1.shop.example: both.other.example has it and goes through the tunnel too",
        "[127.0.0.9 203.0.113.10 198.51.100.77]",
        "1\t198.51.100.77 of lan.shop.example gets no route, because this machine is attached to 198.51.100.0/24", "1",
        "packets to its addresses go through corp (include-domains: shop.example): the routes are made before a program has the answer",
        "198.18.0.1 tcp port 443",
        "pass  names: n1.shop.example has the address 198.18.0.1, and packets to it go through corp (include-domains: shop.example)",
        "pass  routes: into the tunnel corp, by 198.18.0.1/32, from an answer for a name", "pass  corp: connected",
      ], "\(seen.lines)")
  }
}
