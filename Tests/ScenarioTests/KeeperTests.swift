import Glibc
import SeededRandom
import Testing

/// Every program that keeps resolv.conf, with two tunnels at once, through all that happens to an agent: each name is answered where it
/// belongs, and at the end the file is as its keeper would have it, to the byte.
@Suite("Keepers of resolv.conf", .needsLab)
struct KeeperTests {
  enum Keeper: String, CaseIterable, Sendable {
    case file, resolvconf, openresolv, local
    case dhclient = "isc-dhcp-client"

    /// The program that its package brings.
    private var program: String { self == .dhclient ? "dhclient" : "resolvconf" }

    var isPossible: Bool {
      self == .file || self == .local || access("\(Lab.unpacked)/\(rawValue)/sbin/\(program)", X_OK) == 0
    }
  }

  static let possible = Keeper.allCases.filter(\.isPossible)

  /// An event of the agent (`keeper-events.bash`).
  private static let events = [
    "crash", "kill", "killed and cleaned up", "killed elsewhere", "lease", "name server killed", "restart", "roam",
  ]

  @Test("keep their file, and each name has its answer, whatever happens to the agent", arguments: possible, [2026 as UInt64])
  func life(_ keeper: Keeper, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let events = Self.events.shuffled(using: &random)
    let scene = try splitNamesScene(corp: "deep.lab.example", lab: "deep.corp.example", words: ["names.bash", "keepers.bash"])
    let seen = try scene.play(
      "Keeper/life", with: ["KEEPER": keeper.rawValue, "UNPACKED": Lab.unpacked, "EVENTS": events.joined(separator: "\n")])
    let backend = keeper == .resolvconf || keeper == .openresolv ? keeper.rawValue : "file"
    #expect(
      seen.lines == ["[start]"] + events.map { "[\($0)]" } + [
        "1", "[backend: \(backend)]", "[refused]", "[outside: ]", "[theirs]",
      ])
  }

  @Test("whose port is taken are told by whom, in status, journal and doctor; names are answered by one list until it is free")
  func taken() throws {
    let scene = try splitNamesScene(words: ["names.bash", "keepers.bash"])
    let seen = try scene.play("Keeper/taken")
    #expect(
      seen.lines == [
        "(dnsmasq (process N) has taken port 53, at 0.0.0.0), so its", "[journal 1]", "[plan]",
        "cure: configure it for addresses of its own instead of 0.0.0.0 (`bind-interfaces` of dnsmasq, `interface:` of unbound), or end process N;"
          + " or apt install systemd-resolved", "[10.77.0.77 10.77.0.77]", "[free]", "[theirs]",
      ])
  }
}
