import Testing

/// On the routers of all places it is counted what comes from the laptop and is not the tunnel's own, while something on the laptop keeps
/// trying: a flow and look-ups of names, by UDP and TCP, IPv4 and IPv6. Every scene first sees such packets where nothing holds them back.
@Suite("Leaks", .needsLab)
struct LeakTests {
  private let none = "dns4=0 dns6=0 flow4=0 flow6=0 gateway=0"

  @Test("none under a kill switch while the tunnel goes up, down and roams, is reconfigured, and while agent and engine are killed")
  func lives() throws {
    let scene = try leakScene(guarded)
    let seen = try scene.play("Leak/lives")
    let stages = ["up", "down and up", "roamed", "agent killed", "engine killed", "reconfigured", "stopped"]
    #expect(seen.lines == ["[seen]"] + stages.map { "[\($0) \(none)]" })
  }

  @Test("none on arrival, though at home the tunnel is not wanted and nothing is held back") func arrival() throws {
    let rules = "[{ match: { interface-name: \"eth*\" }, action: disconnect }, { action: connect }]"
    let scene = try leakScene(guarded.with("always", "\"on\"").with("[{ action: connect }]", rules))
    let seen = try scene.play("Leak/arrival")
    #expect(seen.lines == ["[cafe \(none)]", "[mobile \(none)]"])
  }

  @Test("none on the first arrival after the agent's start, though there was no network to leave") func firstArrival() throws {
    let scene = try leakScene(guarded.with("always", "\"on\""))
    let seen = try scene.play("Leak/first-arrival")
    #expect(seen.lines == ["[\(none)]"])
  }

  @Test("none for the time in which a network that has taken another's place settles") func noGap() throws {
    let rules = "[{ match: { interface-name: \"eth*\" }, action: disconnect }, { action: connect }]"
    let scene = try leakScene(guarded.with("always", "\"on\"").with("[{ action: connect }]", rules))
    let seen = try scene.play("Leak/no-gap")
    #expect(seen.lines == ["[open at home]", "[closed while it settles]", "[\(none)]"])
    print("packets in clear at the café before the table: \(scene.read("at-the-cafe"))")
  }

  @Test(
    "none from programs that bind to the link, raw sockets and forwarded machines, and whatever rules and tables others put beside ours")
  func waysAround() throws {
    let scene = try leakScene(guarded)
    let seen = try scene.play("Leak/ways-around")
    #expect(
      seen.lines == [
        "dns4=0 dns6=0 flow4=5 flow6=5 gateway=0", "[bound seen]", "[forwarded seen]", "[up \(none)]", "[down \(none)]",
        "[rules and tables \(none)]", "1",
      ])
  }

  @Test("none that somebody inside the tunnel begins, and none by the port of DHCP; what is forwarded into the tunnel is answered")
  func smallPrint() throws {
    let scene = try leakScene(guarded)
    let seen = try scene.play("Leak/small-print")
    #expect(seen.lines == ["[a lease]", "0", "[answered]", "[seen without the firewall]"])
  }

  @Test(
    "none where somebody else's table sends packets another way after the kernel has routed them, and none by a mark that a user gives himself"
  )
  func rerouted() throws {
    let scene = try leakScene(guarded)
    let seen = try scene.play("Leak/rerouted")
    #expect(seen.lines.count { $0 == none } == 2 && seen.lines.last == none)
  }

  @Test(
    "none to the gateway's address by others than the tunnel itself, however return paths are checked (ServerIP)", arguments: [0, 1, 2])
  func serverIP(reversePath: Int) throws {
    let scene = try leakScene(enforced)
    let seen = try scene.play("Leak/server-ip", with: ["REVERSE_PATH": reversePath])
    #expect(seen.lines == [none, "[10.77.0.2]"])
  }

  @Test("none where the gateway's name leads elsewhere: nothing but the tunnel's own packets goes there, and it does not connect")
  func forgedEndpoint() throws {
    let scene = try leakScene(guarded)
    let seen = try scene.play("Leak/forged-endpoint")
    #expect(seen.lines.first == none && seen.lines.last != "connected")
  }
}

/// A lab with the gateway's tunnel for everything, and the words of leaks.bash and of these files.
func leakScene(_ policy: String, _ words: String...) throws -> Scene {
  let scene = try Scene(["corp.yaml": policy], words: ["leaks.bash"] + words)
  try scene.play("Leak/leak-scene")
  return scene
}

let guarded = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      kill-switch: always
      on-demand: { timing: { release-delay: 0s }, rules: [{ action: connect }] }
      routes: { include: [default] }

  """

let unguarded = guarded.with("kill-switch: always\n    ", "")

let enforced = unguarded.with("include: [default]", "include: [default], enforce: true")
