import Glibc
import LinuxIO
import TestSupport
import Testing

/// The packages for others: the engine and the provider kit build alone (`scripts/standalone`). The examples depend on them by their URL,
/// as other people's packages would; they are built and run.
@Suite struct OtherPackageTests {
  private static let canRun = (try? shell("command -v git swift python3")) != nil

  static let examples: [(package: String, example: String, output: String)] = [
    (
      "engine", "handshake",
      """
      → a datagram of 148 bytes, type 1
      ← a datagram of 92 bytes, type 2
      → a datagram of 64 bytes, type 4
      delivered 28 bytes, unchanged: true, from the right peer: true
      handshakes: 1 and 1

      """
    ),
    (
      "provider-kit", "echo",
      """
      state: connected, address: 10.9.0.2/24
      returned 28 bytes, unchanged: true
      reply: {"text":"hello"}
      ended: true

      """
    ),
  ]

  @Test(
    "a package that depends on one makes two engines shake hands and carry a packet; another is a provider",
    .enabled(if: canRun, "needs git, swift and python3"), .serialized, arguments: examples)
  func example(package: String, example: String, output: String) throws {
    let folder = try TemporaryFolder()
    let here = folder.path
    try shell(
      """
      set -e
      export HOME='\(here)'
      '\(PureRingsTests.root)/scripts/standalone' \(package) '\(here)/roamward'
      cd '\(here)/roamward'
      git init --quiet --initial-branch main
      git add --all
      git -c user.name=test -c user.email=test@example.org commit --quiet --message 'The package'
      cp -R '\(PureRingsTests.root)/examples/packages/\(example)' '\(here)/example'
      mkdir '\(here)/tmp'
      """)
    // In folders of its own: SwiftPM's caches are shared with the build that runs this test.
    let outcome = try TestSupport.run(
      [
        "swift", "run", "--package-path", "\(here)/example", "--scratch-path", "\(here)/build", "--cache-path", "\(here)/cache",
        "--security-path", "\(here)/security", "--quiet",
      ],
      environment: ["HOME": here, "TMPDIR": "\(here)/tmp", "ROAMWARD_REPOSITORY": "file://\(here)/roamward"])
    #expect(outcome.code == 0, "\(outcome.output)")
    #expect(outcome.output.hasSuffix(output), "\(outcome.output)")
  }

  @Test("the engine's document shows the example as it is") func document() throws {
    func text(_ path: String) throws -> String { String(decoding: try TextFile.read("\(PureRingsTests.root)/\(path)"), as: UTF8.self) }
    #expect(try text("docs/engine.md").contains("```swift\n\(try text("examples/packages/handshake/Sources/handshake/main.swift"))```"))
  }
}
