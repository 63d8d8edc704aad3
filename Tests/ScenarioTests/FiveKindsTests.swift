import Glibc
import Testing

/// A provider that worked in one network alone was found on the first roam of a person with several tunnels.
@Suite(
  "Five tunnels of five kinds", .needsLab,
  .enabled(if: access("/usr/bin/nebula", X_OK) == 0, "nebula is not installed (scripts/setup --vm)"))
struct FiveKindsTests {
  /// The promise for each move: every tunnel answers within so many seconds.
  private static let seconds = 5

  @Test(
    "all answer soon after each move, while a person's packets are sent and while nothing is", arguments: [true, false])
  func roam(isBusy: Bool) throws {
    let scene = try Scene(words: ["providers.bash", "nebula.bash", "kinds.bash"])
    let seen = try scene.play("FiveKinds/roam", with: ["BUSY": isBusy ? "yes" : "", "EACH_WITHIN": Self.seconds])
    print(scene.read("kinds.log"))
    #expect(seen.lines.suffix(2) == ["[all five]", "0"], "\(seen)\n\(scene.read("kinds.log"))")
  }
}
