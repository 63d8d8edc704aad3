import Glibc
import Testing

/// `names: capture`: programs with name servers of their own get the tunnel's answers for its names, and others those of the server that
/// they asked. Each detector is proven first.
@Suite("Captured DNS questions", .needsLab)
struct NameCaptureTests {
  private func scene(_ policy: String = capturing) throws -> Scene {
    try Scene(["50-corp.yaml": policy], words: ["names.bash", "capture.bash"])
  }

  @Test(
    "a hard-coded server: without capture the question leaves, with it the tunnel's servers answer, and the rest goes where it was sent")
  func hardCoded() throws {
    let seen = try scene(capturing.with(", names: capture", "")).play("NameCapture/hard-coded")
    #expect(
      seen.lines == [
        "[without: 203.0.113.199 203.0.113.199 203.0.113.199 203.0.113.199; outside 1]", "corp: programs that ask",
        "[no drift]", "[names of corp: 10.77.0.77 10.77.0.77 10.77.0.77 10.77.0.77 10.77.0.77]",
        "[others: 203.0.113.199 203.0.113.199 203.0.113.199 203.0.113.199 198.51.100.77 198.51.100.77]", "[a local resolver: 10.77.0.77]",
        "[canary: NXDOMAIN]",
        "[bound: no answer; of no tunnel: no answer]", "[outside: 0]", "[doctor: 0]",
        "[down: SERVFAIL SERVFAIL SERVFAIL SERVFAIL 203.0.113.199; outside: 0]", "[as before]",
      ])
  }

  @Test("containers behind a bridge, also under a kill switch, and name servers in containers")
  func containers() throws {
    let seen = try scene(capturing.with(", names: capture", "")).play("NameCapture/containers")
    #expect(
      seen.lines == [
        "[without: 203.0.113.199; outside 1]", "[guest: 10.77.0.77 203.0.113.199 198.51.100.77]",
        "[another bridge of that name]", "[a container's server answers by itself]", "[from outside: 1 no answer]", "[a guest: 10.77.0.77]",
        "[under a kill switch]",
        "[outside: 0]",
      ])
  }

  private static let nspawn = "\(Lab.unpacked)/systemd-container/usr/bin/systemd-nspawn"

  @Test(
    "a container that systemd-nspawn starts on a bridge",
    .enabled(if: geteuid() == 0 && access(nspawn, X_OK) == 0, "no root, or systemd-nspawn is not unpacked (scripts/setup --vm)"))
  func nspawnContainer() throws {
    let seen = try scene(capturing.with(", names: capture", "")).play(
      "NameCapture/nspawn-container", with: ["UNPACKED": Lab.unpacked])
    #expect(
      seen.lines == [
        "[without: 203.0.113.199; outside 1]", "[container: 10.77.0.77 203.0.113.199]", "[down: SERVFAIL 203.0.113.199]", "[outside: 0]",
      ])
  }

  @Test("the table is repaired, follows the name server and the agent that are killed, and leaves nothing")
  func repairs() throws {
    let seen = try scene().play("NameCapture/repairs")
    #expect(
      seen.lines == [
        "[repaired]", "[with another process]", "[outside: 0]", "[killed: no answer no answer no answer no answer; outside: 0]", "[again]",
        "1", "[as before]",
      ])
  }
}

private let capturing = corp.with(
  "search-domains: [corp.example] }",
  "search-domains: [corp.example], match-domains: [corp.example], when-down: refuse, names: capture }")
