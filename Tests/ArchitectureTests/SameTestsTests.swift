import LinuxIO
import TestSupport
import Testing

/// `make test` runs the same in every shell. What a shell exports neither adds nor removes a test; counts of random cases are for
/// `scripts/soak`, which sets them itself.
@Suite struct SameTestsTests {
  private static var root: String { PureRingsTests.root }

  private static func text(_ path: String) throws -> String { String(decoding: try TextFile.read("\(root)/\(path)"), as: UTF8.self) }

  /// Names that shells and continuous integration export, and those by which our own files were once, or are, told something.
  private static let exported = [
    "CI": "true", "GITHUB_ACTIONS": "true", "BRIEF": "yes", "PROBES": "1", "UPGRADES": "2", "CHAPTERS": "live", "ROAMWARD_BIN": "/nowhere",
    "ROAMWARD_PACKAGES": "/nowhere", "ROAMWARD_STRICT": "yes", "DESTDIR": "/nowhere", "PREFIX": "/nowhere", "release": "/nowhere",
    "programs": "none", "virtual": "none", "unit": "none", "IMPORT_FUZZ": "1", "LIVES": "1", "SEED": "7", "DEBUG": "1",
  ]

  private func make(_ goal: String, _ arguments: [String] = [], with variables: [String: String]) throws -> String {
    let outcome = try run(
      ["/usr/bin/make", "--no-print-directory", "--directory", Self.root, "--dry-run", goal] + arguments, environment: variables)
    #expect(outcome.code == 0, "\(outcome.output)")
    return outcome.output
  }

  @Test("whatever is exported, or set for make, the same commands run", arguments: ["test", "machines", "long"])
  func commands(goal: String) throws {
    let plain = try make(goal, with: [:])
    #expect(plain.contains(goal == "test" ? "scripts/test" : "scripts/vm") && plain.contains("swift build --build-tests"))
    #expect(try make(goal, with: Self.exported) == plain)
    #expect(try make(goal, ["CI=true", "BRIEF=yes", "IMPORT_FUZZ=1"], with: [:]) == plain)
  }

  @Test("the commands of make test see nothing of the shell but where things are")
  func bare() throws {
    let variables = Self.exported.merging(["HOME": "/home/alice", "MAKEFLAGS": " -j2 -- CI=true", "LANG": "de_DE.UTF-8"]) { $1 }
    let outcome = try run(["\(Self.root)/scripts/bare", "/usr/bin/env"], environment: variables)
    let seen = Set(outcome.output.split(separator: "\n").map(String.init))
    // Bash sets these where they are not set.
    let own = ["PATH=", "SHELL=", "TERM=dumb"]
    let others = seen.filter { line in !own.contains { line.hasPrefix($0) } }
    #expect(others == ["HOME=/home/alice", "LANG=C.UTF-8", "MAKEFLAGS= -j2 "])
  }

  @Test("the manifest asks for no variable")
  func manifest() throws {
    #expect(!(try Self.text("Package.swift").contains("Context.environment")))
  }

  /// The words in capitals that follow one of these, up to what cannot belong to a name.
  private func names(in text: String, after marks: [String]) -> Set<String> {
    var found = Set<String>()
    for mark in marks {
      for part in text.split(separator: mark, omittingEmptySubsequences: false).dropFirst() {
        let name = part.prefix { $0.isASCII && ($0.isUppercase || $0.isNumber || $0 == "_") }
        if name.count > 1 && name.first?.isUppercase == true { found.insert(String(name)) }
      }
    }
    return found
  }

  @Test("each variable that a test reads is one that CONTRIBUTING.md tells of")
  func documented() throws {
    let guide = try Self.text("CONTRIBUTING.md")
    // Paths of this machine, which scripts/bare keeps.
    let places: Set = ["PATH", "HOME", "XDG_CACHE_HOME"]
    var count = 0
    for path in swiftFiles(in: "\(Self.root)/Tests") where !path.hasSuffix("/SameTestsTests.swift") {
      let text = String(decoding: try TextFile.read(path), as: UTF8.self)
      for name in names(in: text, after: ["getenv(\"", "variable(\"", "number(\""]).subtracting(places) {
        count += 1
        #expect(guide.contains("`\(name)`") || guide.contains("`\(name)="), "\(path) reads \(name)")
      }
    }
    #expect(count > 15)
  }

  @Test("the scripts of make test read no variable that chooses what they do")
  func scripts() throws {
    // Of the shell itself; where things are; which programs; whether this is the virtual machine, where the environment is new; a time.
    let harmless: Set = [
      "BASH_SOURCE", "SECONDS", "PWD", "EPOCHREALTIME", "RANDOM", "EUID", "COMPREPLY", "COMP_WORDS", "SIG", "ARGV", "ENV", "XDG_CACHE_HOME",
      "ROAMWARD_BIN", "ROAMWARD_PACKAGES", "ROAMWARD_VM", "SOURCE_DATE_EPOCH", "DEB_BUILD_OPTIONS",
    ]
    let machines = ["boot", "engine", "gateway.bash", "ipsec.bash", "managers", "resolvers", "roam", "unit", "waiting.bash"].map {
      "Tests/VM/\($0)"
    }
    for path in machines + ["scripts/test", "scripts/vm", "scripts/package", "scripts/setup", "Tests/Packages/run", "Tests/Desktop/run"] {
      let text = try Self.text(path)
      let read = names(in: text, after: ["$", "${"]).filter { !text.contains("\($0)=") }
      #expect(read.subtracting(harmless) == [], "\(path)")
    }
    #expect(names(in: "if [[ -n ${BRIEF:-} && $CI ]]", after: ["$", "${"]) == ["BRIEF", "CI"])
  }
}
