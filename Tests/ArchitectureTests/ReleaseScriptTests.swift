import LinuxIO
import TestSupport
import Testing

/// `scripts/release` and `scripts/lint commits`, in a small repository with a `make` that only says what it was asked for.
@Suite struct ReleaseScriptTests {
  /// A repository with one commit: the two scripts, version 1.2.3, and this text under `## Unreleased`.
  private func repository(_ unreleased: String = "\n### Added\n- A word.\n") throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    let changelog = "# Changelog\n\n## Unreleased\n\(unreleased)\n## 1.2.2 - 2026-01-02\n\nOlder.\n"
    try TextFile.replace("\(folder.path)/CHANGELOG.md", with: Array(changelog.utf8), mode: 0o644)
    try shell(
      """
      cd '\(folder.path)' && mkdir scripts bin Tests && echo 1.2.3 >VERSION && echo '# None.' >Tests/unsteady.txt
      cp '\(PureRingsTests.root)/scripts/release' '\(PureRingsTests.root)/scripts/lint' scripts/
      printf '#!/bin/sh\\necho make "$@"\\n' >bin/make && chmod 755 bin/make
      """)
    _ = try typed("git init --quiet . && git add . && git commit --quiet -m 'all: add files'", in: folder)
    return folder
  }

  /// Runs commands there; gives what they wrote, and a last line with their status.
  private func typed(_ commands: String, in folder: TemporaryFolder) throws -> String {
    try shell(
      """
      cd '\(folder.path)' && unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
      export PATH="$PWD/bin:$PATH" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
      export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
      { \(commands); } 2>&1
      echo "status $?"
      """)
  }

  @Test("a release dates the changelog, commits it, and tags it with the section") func release() throws {
    let folder = try repository()
    let output = try typed("scripts/release --tag-only 1.2.3", in: folder)
    #expect(output.hasPrefix("make lint test\n") && output.hasSuffix("\nstatus 0\n"), "\(output)")
    let changelog = try typed("git log -1 --format=%s && git status --porcelain && cat CHANGELOG.md", in: folder)
    let date = try #require(changelog.split(separator: "## 1.2.3 - ").last).prefix { $0 != "\n" }
    #expect(date.count == 10)
    #expect(
      changelog == """
        release: 1.2.3
        # Changelog

        ## Unreleased

        ## 1.2.3 - \(date)

        ### Added
        - A word.

        ## 1.2.2 - 2026-01-02

        Older.
        status 0

        """)
    let tag = try typed("git for-each-ref --format='%(objecttype) %(contents)' refs/tags/v1.2.3", in: folder)
    #expect(tag.hasPrefix("tag Roamward 1.2.3\n\n### Added\n- A word.\n"), "\(tag)")
    #expect(try typed("scripts/release --tag-only 1.2.3", in: folder) == "release: there is a tag v1.2.3 already\nstatus 1\n")
  }

  @Test("a dry run changes nothing; a version, a clone or a changelog that does not fit is refused") func refusals() throws {
    let folder = try repository()
    let dry = try typed("scripts/release --dry-run --tag-only 1.2.3 && git status --porcelain && git tag", in: folder)
    #expect(dry.contains("\nRoamward 1.2.3\n\n### Added\n- A word.\n") && dry.hasSuffix("- A word.\n\nstatus 0\n"), "\(dry)")
    let published = try typed("scripts/release --dry-run --to /srv/roamward 1.2.3", in: folder)
    #expect(published.hasSuffix("\nscripts/reproduce, scripts/package rpm, scripts/publish /srv/roamward\nstatus 0\n"), "\(published)")
    let unsigned = try typed("scripts/release 1.2.3", in: folder)
    #expect(unsigned.hasPrefix("release: a release is signed: name both keys") && unsigned.hasSuffix("\nstatus 1\n"), "\(unsigned)")
    #expect(try typed("scripts/release 1.2.4", in: folder) == "release: the file VERSION has 1.2.3, not 1.2.4\nstatus 1\n")
    #expect(try typed("touch new && scripts/release 1.2.3", in: folder).hasPrefix("release: the clone has changes"))
    let unsteady = "rm new && echo 'A.B/c, since May, a race' >Tests/unsteady.txt && git commit --quiet --all -m 'tests: name one'"
    let refused = try typed("\(unsteady) && scripts/release --tag-only 1.2.3", in: folder)
    #expect(refused.hasPrefix("release: Tests/unsteady.txt has tests that may fail") && refused.contains("A.B/c"), "\(refused)")
    let empty = try typed("scripts/release 1.2.3", in: try repository(""))
    #expect(empty == "release: CHANGELOG.md has no text for 1.2.3\nstatus 1\n")
  }

  @Test("nothing in the sources depends on the folder in which they are compiled, not even by the length of its path") func sameBytes() {
    for file in allSources() {
      for word in ["withoutActuallyEscaping(", "#filePath"] { #expect(!file.text.contains(word), "\(file.name): \(word)") }
    }
  }

  @Test(
    "the lint sees subjects of another form, after the commit that has added the check",
    arguments: [
      ("docs: wrap a line", true), ("release: 1.2.3", true), ("names-bench: say é", true), ("Docs: wrap a line", false),
      ("docs: wrap a line.", false), ("docs: typo", false), ("wip", false), ("docs: \(String(repeating: "long ", count: 12))", false),
    ] as [(String, Bool)])
  func subjects(subject: String, isAllowed: Bool) throws {
    let folder = try repository()
    let output = try typed("git commit --quiet --allow-empty -m '\(subject)' && scripts/lint commits", in: folder)
    #expect(output.hasSuffix(isAllowed ? "status 0\n" : "status 1\n"), "\(output)")
  }

  @Test("the lint takes no subject before a tag, and passes without git and without commits") func history() throws {
    let folder = try repository()
    let tagged = "git commit --quiet --allow-empty -m Bad && git tag v1.2.3 && git commit --quiet --allow-empty -m 'docs: add a word'"
    #expect(try typed("\(tagged) && scripts/lint commits", in: folder) == "status 0\n")
    #expect(try typed("rm -rf .git && scripts/lint commits", in: folder) == "status 0\n")
    #expect(try typed("git init --quiet . && scripts/lint commits", in: folder) == "status 0\n")
  }
}
