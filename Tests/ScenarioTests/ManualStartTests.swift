import Glibc
import Testing

/// `roamward up` with options and a password for one start.
@Suite("A start by hand", .needsLab)
struct ManualStartScenes {
  private func scene() throws -> Scene {
    let scene = try Scene([:], words: ["providers.bash"])
    try scene.play("InstalledProvider/set-up")
    return scene
  }

  @Test("reaches the provider with its options and its password, and with no later start; the password is nowhere else")
  func options() throws {
    let seen = try scene().play("ManualStart/options")
    #expect(
      seen.lines == [
        "roamward: the provider of plain has no option \"colour\"; its options are server, address, routes, username", "[1]",
        "roamward: option `address` of plain: expected an address with its prefix length, such as 192.0.2.23/24, found \"x\"", "[1]",
        "roamward: corp takes no options for a start, because its provider (wireguard) has none; installed providers do", "[1]",
        "plain: manual override (up) until it is resumed; `roamward resume plain` ends it", "[alice 10.98.0.3/24 s3cr3t-of-a-start]",
        "manual override (up) until it is resumed, with options of its own (address, username); `roamward resume` ends it",
        "[after a kill: connected, alice 10.98.0.3/24 ]", "[searched: events history report]",
        "[password nowhere: cmdline environ state log]", "[and none later: - 10.98.0.2/24 ]",
      ], "\(seen)")
  }

  @Test("gives an ordinary user what the policy names, and nothing else", .enabled(if: geteuid() == 0, "other users are root's to become"))
  func rights() throws {
    let seen = try scene().play("ManualStart/rights")
    let words = "does not name it (it names username, password); run it with sudo"
    #expect(
      seen.lines == [
        "roamward: users may not set `server` of plain: `start-options` of its policy \(words)", "[1]",
        "roamward: users may not set `routes` of plain: `start-options` of its policy \(words)", "[1]",
        "[alice 10.98.0.2/24 users-secret]", "[no right: 1]",
        "roamward: users may not set `password` of plain: `start-options` of its policy does not name it (it names none); run it with sudo",
        "[1]",
      ], "\(seen)")
  }
}
