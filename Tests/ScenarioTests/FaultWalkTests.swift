import Glibc
import Testing

/// The real agent, killed before and after everything that it does (`ROAMWARD_DIE_AT`), in a real network. Every place of every walk is
/// gone through in `AgentTests/FaultInjectionTests`, in a machine in memory; here are a few, spread over the whole walk: 30, or `KILLS`.
@Suite("Killed in the middle of anything", .needsLab, .enabled(if: isDebugBuild, "a release has no places to die at"))
struct FaultWalkTests {
  /// A walk: a policy, and what `fault-walk.bash` has for its name: the preparation of the scene, and a change on the way.
  struct Walk: CustomStringConvertible {
    let name: String
    let policy: String
    /// The commands that bring up the tunnel; `nil`: it is WireGuard.
    var commands: CommandTunnel?
    /// At how many places the agent dies, of 30 in all walks.
    var samples = 10

    var deaths: Int { getenv("KILLS").flatMap { Int(String(cString: $0)) }.map { max(1, $0 * samples / 30) } ?? samples }

    var description: String { name }
  }

  static let walks = [
    Walk(name: "split", policy: corp),
    Walk(name: "kill-switch", policy: corpForEverything(killSwitch: "on")),
    Walk(name: "command", policy: corp, commands: CommandTunnel(), samples: 5),
    Walk(name: "policy change", policy: corp, samples: 5),
    Walk(
      name: "proxies",
      policy: corp.with("    routes:", "    proxy: { http: \"10.77.0.1:3128\", publish: [chromium, dconf] }\n    routes:")),
  ]

  /// The number of places that a walk without a death comes to: home, café, another network, home, the end.
  private func count(_ scene: Scene, _ walk: Walk) throws -> Int {
    try scene.play("FaultWalk/count", with: ["WALK": walk.name])
    return scene.read("places").lines.count
  }

  @Test("the next start makes what is wanted, and cleaning up leaves nothing", arguments: walks)
  func killed(_ walk: Walk) throws {
    let scene = try Scene(["corp.yaml": walk.policy], words: ["proxies.bash"])
    if let commands = walk.commands {
      try commands.writeProgram(in: scene)
      try scene.write("policies/corp.yaml", walk.policy.with("{ wireguard: { config: corp.conf } }", commands.provider(in: scene)))
    }
    let count = try count(scene, walk)
    #expect(count > 20)
    let step = max(1, count / walk.deaths)
    let places = Array(stride(from: 1, through: count, by: step))
    for (number, place) in places.enumerated() {
      try scene.play(
        "FaultWalk/killed", with: ["WALK": walk.name, "PLACE": place, "RECOVERY": number % 2 == 0 ? "cleanup" : "restart"])
    }
  }

  @Test("a command's program that is under way when the agent dies is ended before its `down`", arguments: ["cleanup", "restart"])
  func commandUnderWay(_ recovery: String) throws {
    let scene = try Scene([:])
    // Three seconds from when it is not to be slow any more: so it is under way when the agent is killed, however late that is.
    let slow = "[[ ! -e slow ]] || { while [[ -e slow ]]; do sleep 0.05; done; sleep 3; }"
    try CommandTunnel(up: "echo $$ >up.pid; \(slow); \(CommandTunnel.makesLink)").write(in: scene)
    let seen = try scene.play("FaultWalk/command-under-way", with: ["RECOVERY": recovery])
    #expect(seen.lines.first == "[still under way]" && seen.lines.last == "[clean]", "\(seen)")
    if recovery == "restart" { #expect(seen.contains("connected\n[routed]\n0"), "\(seen)") }
  }

  @Test("ten deaths in a row open nothing; an agent that is replaced leaves no gap; a second one is refused and harms nobody")
  func lockedThroughout() throws {
    let scene = try Scene(["corp.yaml": corpForEverything(killSwitch: "always")])
    let seen = try scene.play("FaultWalk/locked-throughout")
    #expect(
      seen.lines == [
        "[watched]", "[1 1]", "connected", "0", "[nothing in clear]", "connected", "[still locked]", "[nothing in clear]",
      ], "\(seen)")
  }

  @Test("what runs a tunnel is killed: told within a second, made anew") func backend() throws {
    let scene = try Scene()
    let seen = try scene.play("FaultWalk/backend")
    #expect(["[told]\n[back]", "[kernel]"].contains(seen), "\(seen)")
  }
}

/// The programs that the scenes start are a debug build's: they have places to die at, and write them down.
let isDebugBuild: Bool = {
  #if DEBUG
    !Lab.programs.split(separator: "/").contains("release")
  #else
    false
  #endif
}()
