import Glibc
import LinuxIO
import TestSupport
import Testing

/// The policies in policies/ are what a user begins with: `roamward check --strict` finds nothing in any of them.
@Suite struct StrictPolicyTests {
  private static let programs = LinkedProgramsTests.folder

  @Test("a file that is elsewhere is checked as if it were in its place, with the files there") func elsewhere() throws {
    let folder = try TemporaryFolder()
    let example = "\(PureRingsTests.root)/examples/first"
    try shell("cd '\(folder.path)' && cp -r '\(example)' first && chmod 600 first/corp.conf && mv first/10-corp.yaml new")
    func check(_ name: String) throws -> (code: Int32, output: String) {
      let outcome = try run(["\(Self.programs)/roamward", "check", "--as", "\(folder.path)/first/10-corp.yaml", "\(folder.path)/\(name)"])
      return (outcome.code, outcome.output)
    }
    let right = try check("new")
    #expect(right.code == 0 && right.output.hasSuffix("1 file, 1 tunnel, 0 errors, 0 warnings\n"), "\(right)")
    try shell("cd '\(folder.path)' && sed 's/action: connect$/action: conect/' new >wrong")
    let wrong = try check("wrong")
    #expect(wrong.code == 1 && wrong.output.contains("\(folder.path)/first/10-corp.yaml:18:19: error: "), "\(wrong)")
    let missing = try check("nosuch")
    #expect(missing.code == 2 && missing.output.contains("nosuch: No such file or directory"), "\(missing)")
  }

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
