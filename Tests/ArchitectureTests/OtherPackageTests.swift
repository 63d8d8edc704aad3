import Glibc
import LinuxIO
import TestSupport
import Testing

/// What other packages get: the examples of Packages/WireGuard and Packages/Provider depend on a clone of this repository by its URL, as
/// theirs would, and are built and run.
@Suite struct OtherPackageTests {
  /// What the manifest depends on, from where this build has it: no network is needed.
  private static let dependencies: [(name: String, repository: String)] = ["swift-argument-parser", "swift-log"].compactMap { name in
    guard let scratch else { return nil }
    return Folder.names(in: "\(scratch)/repositories", withPrefix: "\(name)-").first.map { (name, "\(scratch)/repositories/\($0)") }
  }

  /// The build's own folder, usually `.build`: the first above the programs that has the repositories of dependencies.
  private static let scratch: String? = {
    var folder = LinkedProgramsTests.folder
    while folder != "/" {
      if access("\(folder)/repositories", R_OK) == 0 { return folder }
      folder = Folder.parent(of: folder)
    }
    return nil
  }()

  private static let canRun =
    dependencies.count == 2 && access("\(PureRingsTests.root)/.git", F_OK) == 0 && (try? shell("command -v git swift")) != nil

  static let examples: [(package: String, output: String)] = [
    (
      "WireGuard",
      """
      → a datagram of 148 bytes, type 1
      ← a datagram of 92 bytes, type 2
      → a datagram of 64 bytes, type 4
      delivered 28 bytes, unchanged: true, from the right peer: true
      handshakes: 1 and 1

      """
    ),
    (
      "Provider",
      """
      state: connected, address: 10.9.0.2/24
      returned 28 bytes, unchanged: true
      reply: {"text":"hello"}
      ended: true

      """
    ),
  ]

  @Test(
    "a package that depends on a clone makes two engines shake hands and carry a packet; another is a provider",
    .enabled(if: canRun, "needs git, swift, a git repository, and the dependencies of the manifest beside the build"), .serialized,
    arguments: examples)
  func example(package: String, output: String) throws {
    let folder = try TemporaryFolder()
    let here = folder.path
    // The working tree as it is, as one commit on the clone's main.
    try shell(
      """
      set -e
      git clone --quiet --no-checkout --depth 1 'file://\(PureRingsTests.root)' \(here)/roamward
      cd \(here)/roamward
      git --work-tree='\(PureRingsTests.root)' read-tree --empty
      git --work-tree='\(PureRingsTests.root)' add --all
      commit=$(git -c user.name=test -c user.email=test@example.org commit-tree -m 'The working tree' "$(git write-tree)")
      git update-ref refs/heads/main "$commit"
      cp -R '\(PureRingsTests.root)/Packages/\(package)/Example' \(here)/example
      mkdir \(here)/tmp \(here)/mirrors
      """)
    for (name, repository) in Self.dependencies {
      try shell(
        """
        ln -s '\(repository)' \(here)/mirrors/\(name)
        swift package --package-path \(here)/example config set-mirror --original https://github.com/apple/\(name) --mirror \
        file://\(here)/mirrors/\(name)
        """)
    }
    // In folders of its own: SwiftPM's caches are shared with the build that runs this test.
    let outcome = try TestSupport.run(
      [
        "swift", "run", "--package-path", "\(here)/example", "--scratch-path", "\(here)/build", "--cache-path", "\(here)/cache",
        "--security-path", "\(here)/security", "--quiet",
      ],
      environment: ["HOME": here, "TMPDIR": "\(here)/tmp", "ROAMWARD_REPOSITORY": "file://\(here)/roamward"], limit: .seconds(540))
    #expect(outcome.code == 0, "\(outcome.output)")
    #expect(outcome.output.hasSuffix(output), "\(outcome.output)")
  }

  @Test("the engine's README shows the example as it is") func readme() throws {
    func text(_ path: String) throws -> String {
      String(decoding: try TextFile.read("\(PureRingsTests.root)/Packages/WireGuard/\(path)"), as: UTF8.self)
    }
    #expect(try text("README.md").contains("```swift\n\(try text("Example/Sources/handshake/main.swift"))```"))
  }
}
