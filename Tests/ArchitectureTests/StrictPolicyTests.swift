import Glibc
import LinuxIO
import TestSupport
import Testing

/// The policies in policies/ are what a user begins with: `roamward check --strict` finds nothing in any of them.
@Suite struct StrictPolicyTests {
  private static let programs = LinkedProgramsTests.folder

  @Test("each shipped policy passes `check --strict`, with its keys as policies/README.md has a user keep them") func strict() throws {
    let folder = try shell("mktemp --directory").split(separator: "\n").joined()
    defer { _ = try? shell("rm -r '\(folder)'") }
    try shell("cp '\(PureRingsTests.root)'/policies/* '\(folder)' && chmod 600 '\(folder)'/*.conf")
    let names = try shell("cd '\(folder)' && ls *.yaml").split(separator: "\n").map(String.init)
    #expect(names.count >= 12)
    for name in names {
      // Its program is that of a machine with systemd.
      if name == "75-command-provider.yaml", access("/usr/bin/systemctl", X_OK) != 0 { continue }
      let outcome = try run(["\(Self.programs)/roamward", "check", "--strict", "\(folder)/\(name)"])
      #expect(outcome.code == 0 && outcome.output.contains("0 errors, 0 warnings"), "\(name): \(outcome.output)")
    }
  }
}
