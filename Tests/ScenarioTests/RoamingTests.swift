import Glibc
import Testing

@Suite("Four tunnels and one agent", .needsLab)
struct RoamingTests {
  /// ROAMS in the environment takes more of them, SEED another way.
  private static let roams = number("ROAMS") ?? 12
  private static let seed = number("SEED") ?? Int.random(in: 1...30_000)

  @Test("roam without ever counting their own changes as another program's; each roam connects within 3 s")
  func roaming() throws {
    let program = CommandTunnel()
    let scene = try Scene(["corp.yaml": corpForEverything(killSwitch: "on")], words: ["roaming.bash"])
    try program.write(in: scene)
    try scene.write("policies/split.yaml", splits)
    let seen = try scene.play("Roaming/roaming", with: ["ROAMS": Self.roams, "SEED": Self.seed])
    let times = seen.lines.compactMap { line in line.split(separator: " ").last.flatMap { Int($0) } }.sorted()
    try #require(times.count == Self.roams, "\(seen)")
    let late = times.count { $0 > 3000 }
    print(
      "\(times.count) roams of four tunnels, seed \(Self.seed): median \(times[times.count / 2]) ms, longest \(times[times.count - 1]) ms, "
        + "\(late) over 3 s")
    #expect(seen.lines.last == "[0 0]", "seed \(Self.seed)")
  }

  private static func number(_ name: String) -> Int? { getenv(name).flatMap { Int(String(cString: $0)) } }

  private let splits = """
    version: 1
    tunnels:
      left:
        provider: { wireguard: { config: left.conf } }
        on-demand: { rules: [{ action: connect }] }
        routes: { include: [10.88.0.0/16] }
      right:
        provider: { wireguard: { config: right.conf } }
        on-demand:
          timing: { release-delay: 0s }
          rules: [{ match: { interface-name: "eth*" }, action: disconnect }, { action: connect }]
        routes: { include: [10.89.0.0/16] }

    """
}
