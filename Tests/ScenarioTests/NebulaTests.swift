import Glibc
import Testing

@Suite(
  "The Nebula provider", .needsLab, .enabled(if: access("/usr/bin/nebula", X_OK) == 0, "nebula is not installed (scripts/setup --vm)"),
  .marksSockets)
struct NebulaProviderScenes {
  private func scene() throws -> Scene {
    let scene = try Scene([:], words: ["providers.bash", "nebula.bash"])
    try scene.play("Nebula/set-up")
    return scene
  }

  @Test("connects with one capability, survives roams and kills, and leaves nothing") func life() throws {
    let seen = try scene().play("Nebula/life")
    #expect(
      seen.lines == [
        "[dev office, dev wlan0, mtu 1300]",
        "[Uid:1909024657 CapPrm:0000000000001000 CapEff:0000000000001000 CapBnd:0000000000001000 NoNewPrivs:1]",
        "[no file is left once it runs]", #"[true,"laptop",["10.96.0.1"]]"#, "[left: 0]", "0",
      ])
  }

  @Test("certificates that are expired, end meanwhile, or are of another authority need a person") func refusals() throws {
    let seen = try scene().play("Nebula/refusals")
    #expect(seen.lines.count == 5 && seen.lines.suffix(2) == ["action-needed", "0"], "\(seen)")
    #expect(
      seen.lines.first?.contains("expired") == true && seen.lines.prefix(2).allSatisfy { $0.hasSuffix("(invalid-certificate)") }, "\(seen)"
    )
    #expect(
      seen.lines[2].hasPrefix("the certificate laptop has ended on") && seen.lines[2].hasSuffix("(certificate-expired)"), "\(seen)")
  }

  @Test("the end of a certificate is told before it comes, in the log, in status and by doctor, and when it has come")
  func ending() throws {
    let seen = try scene().play("Nebula/ending")
    #expect(
      seen.lines == [
        "the certificate laptop ends on", "risk     office: the certificate laptop ends on", "2", "0",
      ], "\(seen)")
  }

  @Test("a program with that capability can use it, and gains nothing else") func more() throws {
    let seen = try scene().play("Nebula/more")
    #expect(seen.lines == ["done", "rule", "0"])
  }

  @Test("a kill switch: nothing of others leaves, whatever its processes do") func killSwitch() throws {
    let seen = try scene().play("Nebula/kill-switch")
    #expect(seen.lines == ["[detected]", "[dev office]", "[0 outside]", "0"])
  }
}
